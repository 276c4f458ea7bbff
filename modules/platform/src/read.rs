//! Reads a platform in any format.

use crate::hosts_format::HostsFormat;
use crate::model::Platform;
use crate::report::Report;
use crate::{codes, hwloc, intel, mpich, nodelist, openmpi, synthetic};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::Source;

/// Returns one error ([`codes::NO_HOST`]) for a file of another kind, because each of its lines
/// would cause several. The kinds are a mapping, other JSON, a graph, options of `mpiexec`, and an
/// Open MPI rankfile. Returns `None` for any other text.
fn misplaced(source: &Source) -> Option<Diagnostic> {
    let mut text = source.text().trim_start();
    // Launch files begin with a comment that describes them.
    while let Some((_, after)) = text.split_once('\n').filter(|_| text.starts_with('#')) {
        text = after.trim_start();
    }
    let first = text.lines().next().unwrap_or("");
    let word = first.split_whitespace().next().unwrap_or("");
    let (is, help) = if text.starts_with('{') && text.contains("\"graphmap-mapping\"") {
        let help =
            "use `--mapping` to apply this mapping, or `--previous` to keep a new one close to it";
        ("a mapping, not a description of hosts", help)
    } else if text.starts_with('{') {
        let help = "write one host per line, such as `node1:4`";
        ("JSON, not a description of hosts", help)
    } else if ["strict", "graph", "digraph"].contains(&word) && first.contains('{') {
        let help = "describe the hosts in another file, or in words: `hosts=4:cores=8`";
        ("a graph, not a description of hosts", help)
    } else if ["-n", "-np", "-host"].contains(&word) {
        let help = "give `--hosts` a hostfile, with one host per line";
        (
            "a list of `mpiexec` options, not a description of hosts",
            help,
        )
    } else if let Some(rest) = text.strip_prefix("rank ")
        && rest.trim_start().split_once('=').is_some_and(|(rank, _)| {
            let rank = rank.trim();
            !rank.is_empty() && rank.bytes().all(|b| b.is_ascii_digit())
        })
    {
        let help = "give `--hosts` the hostfile that belongs to it";
        ("an Open MPI rankfile, not a description of hosts", help)
    } else {
        return None;
    };
    let what = format!("`{}` is {is}", source.name());
    Some(Diagnostic::error(codes::NO_HOST, what).help(help))
}

/// Reads a platform from a text. If `format` is `None`, the format is detected.
///
/// Returns `None` if there was at least one error. Adds the diagnostics to `out`: the first 50, and
/// a note with the number of the others. A result can come with warnings.
pub fn read(
    source: &Source,
    format: Option<HostsFormat>,
    out: &mut Diagnostics,
) -> Option<Platform> {
    if source.text().contains('\0') {
        let mut report = Report::default();
        let what = format!("`{}` is not a text file", source.name());
        report.push(
            Diagnostic::error(codes::NO_HOST, what).with_note("it contains bytes with the value 0"),
        );
        return report.finish(None, out);
    }
    if let Some(error) = misplaced(source) {
        let mut report = Report::default();
        report.push(error);
        return report.finish(None, out);
    }
    match format.unwrap_or_else(|| HostsFormat::detect(source)) {
        HostsFormat::Mpich => mpich::read(source, out),
        HostsFormat::OpenMpi => openmpi::read(source, out),
        HostsFormat::Intel => intel::read(source, out),
        HostsFormat::Slurm => nodelist::read(source, out),
        HostsFormat::Synthetic => synthetic::read(source, out),
        HostsFormat::Hwloc => hwloc::read(source, out),
    }
}
