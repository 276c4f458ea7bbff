//! Open MPI: hostfile, rankfile and appfile.
//!
//! The tests show how Open MPI 4.1 and 5.0 behave:
//!
//! * A hostfile contains only the slots of each host, in no order.
//! * A rankfile places each rank and **always binds** it (`slot=*` means core 0). Version 4 uses
//!   the operating system's numbers of cores if a parameter says so. Version 5 never does.
//! * An appfile places without binding, so its sections bind by `taskset`.
//! * None of these files has quotes.
//! * Each section names its host with **all** the slots that the launch uses there (`-host h:8`).
//!   Open MPI 4.1 applies the number of one section to all of them. With a smaller number, it would
//!   refuse the next section of the host because no slot is left.

use crate::codes;
use crate::launch::{Launch, not_set, on_cores, plain_variables, ranges, section, single};
use crate::start;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Warns (`G0439`) of names of hosts that Open MPI 4.1 refuses because of a `_`, or that it
/// confuses because they are equal up to the first dot. Addresses of digits and dots are not
/// confused. There is at most one warning of each kind.
pub fn check_names(launch: &Launch, out: &mut Diagnostics) {
    let hosts = launch.os_processes.iter().filter_map(|p| p.host.as_deref());
    let mut refused: Option<&str> = None;
    let mut short: FxHashMap<&str, &str> = FxHashMap::default();
    let mut same: Option<(&str, &str)> = None;
    let address = |host: &str| host.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    for host in hosts {
        refused = refused.or_else(|| host.contains('_').then_some(host));
        let first = host.split('.').next().unwrap_or(host);
        let known = *short.entry(first).or_insert(host);
        if known != host && !address(host) {
            same = same.or(Some((known, host)));
        }
    }
    if let Some(host) = refused {
        let what = format!("Open MPI 4.1 refuses the name `{host}` because of its `_`");
        let warning = Diagnostic::warning(codes::OPEN_MPI_NAMES, what);
        out.push(warning.help("give the host a name of letters, digits, `-` and `.`"));
    }
    if let Some((one, other)) = same {
        let what = format!("Open MPI 4.1 treats `{one}` and `{other}` as one host");
        let warning = Diagnostic::warning(codes::OPEN_MPI_NAMES, what)
            .with_note("it compares only the part before the first dot");
        out.push(warning.help("give the hosts names that differ before the first dot"));
    }
}

/// Facts about the access to hosts that a hostfile contains. An appfile and a rankfile contain
/// none, and with them Open MPI 4 and 5 ignore the facts of the hostfile.
pub(crate) const ACCESS_FACTS: &[&str] = &["user", "port"];

/// Returns the hostfile: each host once, in the order of its first OS process. A host has one slot
/// for each of its OS processes. The known user, port and maximum number of slots of the host are
/// included, except a maximum below the slots.
///
/// # Errors
/// `G0430` if an OS process has no host.
pub fn hostfile(launch: &Launch) -> Result<String, Diagnostics> {
    let hosts = launch.needed_hosts("a hostfile")?;
    let mut slots = slots(launch);
    let mut text = format!("# {}\n", launch.title());
    for host in hosts {
        let Some(slots) = slots.remove(host) else {
            continue;
        };
        write!(text, "{} slots={slots}", launch.login(host)).expect("a String takes all");
        let facts = launch.facts.get(host);
        // Open MPI refuses a limit below the slots. In that case, a warning reports that the limit
        // is exceeded.
        let most = facts.and_then(|facts| facts.max_slots);
        if let Some(most) = most.filter(|most| *most >= slots) {
            write!(text, " max_slots={most}").expect("a String takes all");
        }
        if let Some(port) = facts.and_then(|facts| facts.access.port) {
            write!(text, " port={port}").expect("a String takes all");
        }
        text.push('\n');
    }
    Ok(text)
}

/// Returns the number of OS processes on each host, by the name of the host. OS processes without a
/// host do not count.
fn slots(launch: &Launch) -> FxHashMap<&str, u32> {
    let mut slots = FxHashMap::default();
    for host in launch.os_processes.iter().filter_map(|p| p.host.as_deref()) {
        *slots.entry(host).or_insert(0) += 1;
    }
    slots
}

/// Returns the option that places a section on a host, with all slots of the host. Without a host,
/// the option is empty. Panics if `slots` does not contain the host.
fn on_host(host: Option<&str>, slots: &FxHashMap<&str, u32>) -> String {
    host.map_or(String::new(), |h| format!(" -host {h}:{}", slots[h]))
}

/// Returns true if a variable is a parameter of the launcher, which reads it from its own
/// environment. Such names begin with `OMPI_MCA_` or `PRTE_MCA_`.
fn is_parameter(name: &str) -> bool {
    name.starts_with("OMPI_MCA_") || name.starts_with("PRTE_MCA_")
}

/// Largest length of a command in bytes. Linux limits words and variables together to 2 MiB.
const MOST: usize = 1_500_000;

/// Returns the sections of a command, one for each run of consecutive OS processes on one host.
/// Each has `words` as its program and arguments. Each passes on the variables of the launch and
/// [`start::VARIABLE`], but not the launcher's parameters. Without hosts, no section has a `-host`.
///
/// # Errors
/// `G0430` if only some OS processes have a host, `G0441` if the sections have more than [`MOST`]
/// bytes, which is too long for a command.
pub(crate) fn sections(launch: &Launch, words: &str) -> Result<String, Diagnostics> {
    launch.hosts()?;
    let slots = slots(launch);
    // OS processes get only the variables that the section names.
    let names = launch.environment.iter().map(|(name, _)| &**name);
    let names = names.chain([start::VARIABLE]);
    let handed: String = names
        .filter(|name| !is_parameter(name))
        .map(|name| format!(" -x {name}"))
        .collect();
    let sections = launch.runs(|p| p.host.as_deref()).into_iter().map(|run| {
        let host = on_host(run.value, &slots);
        format!("-np {}{host}{handed} {words}", run.members.len())
    });
    let text = sections.collect::<Vec<_>>().join(" : ");
    if text.len() <= MOST {
        return Ok(text);
    }
    let what = format!(
        "the command has {} bytes, but the system accepts {MOST}",
        text.len()
    );
    let help = "map consecutive OS processes to the same host, as `stack` does; each change of the host adds a section";
    Err(single(Diagnostic::error(codes::TOO_LONG, what).help(help)))
}

/// Returns the rankfile: host and cores of each rank.
///
/// Cores have the operating system's numbers, which Open MPI 4 reads with
/// `--mca rmaps_rank_file_physical 1`. Open MPI 5 (`--map-by rankfile:FILE=`) counts cores itself,
/// socket by socket. There the file is correct only if Linux counts in the same way.
///
/// If the mapping does not bind an OS process, its core is the number of OS processes before it on
/// its host. One warning (`G0431`) in `out` reports their number. If the mapping binds several OS
/// processes to one core of a host, one warning (`G0440`) names the first such pair, because Open
/// MPI 5 refuses them unless an option allows it.
///
/// # Errors
/// `G0430` if an OS process has no host.
pub fn rankfile(launch: &Launch, out: &mut Diagnostics) -> Result<String, Diagnostics> {
    let hosts = launch.needed_hosts("a rankfile")?;
    let mut next: FxHashMap<&str, u32> = FxHashMap::default();
    let mut assumed = 0;
    // The first rank on each core of a host, and the first two ranks that share a core.
    let mut taken: FxHashMap<(&str, u32), usize> = FxHashMap::default();
    let mut shared: Option<(usize, usize, u32, &str)> = None;
    let mut text = format!("# {}\n", launch.title());
    for (rank, (host, p)) in hosts.into_iter().zip(&launch.os_processes).enumerate() {
        let next = next.entry(host).or_insert(0);
        let cores = match p.cores.is_empty() {
            true => {
                assumed += 1;
                next.to_string()
            }
            false => ranges(&p.cores),
        };
        *next += 1;
        for core in &p.cores {
            let before = *taken.entry((host, *core)).or_insert(rank);
            if before != rank {
                shared = shared.or(Some((before, rank, *core, host)));
            }
        }
        writeln!(text, "rank {rank}={host} slot={cores}").expect("a String takes all");
    }
    if let Some((one, other, core, host)) = shared {
        let what =
            format!("OS processes {one} and {other} are both bound to core {core} of `{host}`");
        out.push(
            Diagnostic::warning(codes::BEYOND_SLOTS, what)
                .with_note("Open MPI 5 refuses a rankfile with several ranks on one core")
                .help("give its `mpiexec` the option `--bind-to core:overload-allowed`"),
        );
    }
    if assumed > 0 {
        let are = match assumed {
            1 => "OS process is",
            _ => "OS processes are",
        };
        let what = format!("{assumed} {are} not bound to a core, but a rankfile binds all");
        out.push(
            Diagnostic::warning(codes::ASSUMED_CORES, what)
                .with_note("the cores of each host are used in turn, from 0")
                .help("use an `appfile`, which places without binding, or describe the cores of the hosts"),
        );
    }
    Ok(text)
}

/// Returns the appfile, which has a section for each run of consecutive OS processes with the same
/// program, host, cores and number of processes. The variable `GRAPHMAP_PROCESSES`
/// contains that number. Sections with cores bind by `taskset`.
///
/// The launcher needs the option `--bind-to none`, because it would otherwise bind to cores in
/// turn. The file has no comments, because Open MPI 5.0.11 exits without a message at a line that
/// starts no program.
///
/// Adds one warning to `out` if a line is too long for Open MPI 5 (`G0441`), and a warning for each
/// variable whose value is not written (`G0433`). The latter are values that are empty, long or
/// need quotes, and the parameters of the launcher (`OMPI_MCA_`, `PRTE_MCA_`).
///
/// # Errors
/// `G0430` if only some OS processes have a host, `G0433` if the program or an argument cannot be
/// written.
pub fn appfile(launch: &Launch, out: &mut Diagnostics) -> Result<String, Diagnostics> {
    launch.hosts()?;
    // OS processes get only the variables that the section names, and the launcher's parameters.
    let (parameters, others): (Vec<_>, Vec<_>) = launch
        .environment
        .iter()
        .partition(|(name, _)| is_parameter(name));
    for (name, _) in parameters {
        let note = "the launcher reads its parameters from its own environment";
        out.push(not_set(name, "an appfile").with_note(note));
    }
    let hand = |name: &str, value: Option<&str>| match value {
        // With the value in the file, the launcher's environment is not needed.
        Some(value) => format!(" -x {name}={value}"),
        None => format!(" -x {name}"),
    };
    let handed = plain_variables(others, "an appfile", LONGEST_VALUE, hand, out);
    let slots = slots(launch);
    let mut text = String::new();
    for run in launch.runs(|p| section(launch, p)) {
        let (n, (program, host, processes, cores)) = (run.members.len(), run.value);
        let host = on_host(host, &slots);
        let words = on_cores(cores, &launch.plain_words(program, "an appfile")?);
        writeln!(
            text,
            "-np {n}{host} -x GRAPHMAP_PROCESSES={processes}{handed} {words}"
        )
        .expect("a String takes all");
    }
    let longest = text.lines().map(str::len).max().unwrap_or(0);
    if longest > LINE_OF_5 {
        let what =
            format!("a line of the appfile has {longest} bytes, which is too long for Open MPI 5");
        out.push(
            Diagnostic::warning(codes::TOO_LONG, what)
                .with_note(format!(
                    "Open MPI 5 reads {LINE_OF_5} bytes per line, and Open MPI 4 reads {LINE_OF_4}"
                ))
                .help("write a script, which has no such limit: `--set launcher=openmpi --emit mpiexec=launch.sh`"),
        );
    }
    Ok(text)
}

/// Longest value of a variable in an appfile, in bytes. A line has space for several variables.
const LONGEST_VALUE: usize = 32;
/// Largest length of a line of an appfile in Open MPI 5.0 and 4.1, in bytes.
const LINE_OF_5: usize = 1_000;
const LINE_OF_4: usize = 8_190;
