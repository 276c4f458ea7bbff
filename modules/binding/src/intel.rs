//! Intel MPI: machinefile and configfile.
//!
//! What its launcher (2021.18) does, as the tests show: the machinefile is MPICH's
//! hostfile, but for `user=`, which it ignores (`bob@node1` it takes, in both files), and `binding=`
//! and `ifhn=`, which it refuses; in a configfile `-host` of each section **is** obeyed, so one file says all, and quotes
//! are understood. Its own lists of cores hold for all OS processes of a host, whichever section they
//! stand in; so its binding is turned off (`I_MPI_PIN`) where sections bind by `taskset`.

use crate::launch::{Launch, on_cores};
use crate::mpich::configfile_variables;
use graphmap_kpn::diagnostic::Diagnostics;
use std::fmt::Write;

/// What of the access to hosts a machinefile and a configfile say.
pub(crate) const SAYS: &[&str] = &["user"];

/// The machinefile: runs of OS processes on one host as `host:n`, in rank order.
///
/// # Errors
/// `G0430` when hosts are missing.
pub fn machinefile(launch: &Launch) -> Result<String, Diagnostics> {
    launch.needed_hosts("a machinefile")?;
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| p.host.as_deref().unwrap_or("")) {
        let (host, n) = (launch.login(run.value), run.members.len());
        writeln!(text, "{host}:{n}").expect("a String takes all");
    }
    Ok(text)
}

/// The sections of a command: one for each run of OS processes of one host, all of the same words. Where
/// OS processes are bound to cores they bind themselves.
pub(crate) fn sections(launch: &Launch, words: &str) -> String {
    let off = match launch.unbound() {
        true => "",
        false => " -env I_MPI_PIN off",
    };
    let sections = launch.runs(|p| p.host.as_deref()).into_iter().map(|run| {
        let host = run
            .value
            .map_or(String::new(), |h| format!(" -host {}", launch.login(h)));
        format!("-n {}{host}{off} {words}", run.members.len())
    });
    sections.collect::<Vec<_>>().join(" : ")
}

/// The configfile: a section for each run of OS processes of one host with the same cores and equally
/// many processes, a number they find in the variable `GRAPHMAP_PROCESSES`.
///
/// A variable whose value it cannot say is a warning (`G0433`) in `out`.
///
/// # Errors
/// `G0430` when some hosts are missing, `G0433` when the program or an argument cannot be written.
pub fn configfile(launch: &Launch, out: &mut Diagnostics) -> Result<String, Diagnostics> {
    launch.hosts()?;
    let words = launch.plain_words("a configfile")?;
    let set = configfile_variables(launch, out);
    let off = match launch.unbound() {
        true => "",
        false => " -env I_MPI_PIN off",
    };
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| (p.host.as_deref(), p.processes, p.cores.as_slice())) {
        let (n, (host, processes, cores)) = (run.members.len(), run.value);
        let host = host.map_or(String::new(), |h| format!(" -host {}", launch.login(h)));
        let words = on_cores(cores, &words);
        writeln!(
            text,
            "-n {n}{host} -env GRAPHMAP_PROCESSES {processes}{off}{set} {words}"
        )
        .expect("a String takes all");
    }
    Ok(text)
}
