//! Open MPI: hostfile, rankfile and appfile.
//!
//! What Open MPI 4.1 and 5.0 do, as the tests show: a hostfile only says how much room there is, in no
//! order. A rankfile says where each rank goes and **always binds** it (`slot=*` means core 0); the
//! number of a core is the operating system's in 4 when told so, and in 5 never. An appfile places
//! without binding, so its sections bind by `taskset`. None of them knows quotes. Sections name each host
//! with **all** the slots that the launch has there (`-host h:8`): Open MPI 4.1 takes the number of one section
//! for all of them, and refuses the next section of the host as there is no slot left.

use crate::codes;
use crate::launch::{Launch, alone, not_set, on_cores, plain_variables, ranges};
use crate::start;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Warns of names of hosts that Open MPI 4 refuses, or cuts at the first dot and takes for one
/// (`G0439`): 4.1 does both.
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

/// What of the access to hosts a hostfile says. An appfile and a rankfile say nothing of it, and with
/// them Open MPI 4 and 5 do not heed what the hostfile says.
pub(crate) const SAYS: &[&str] = &["user", "port"];

/// The hostfile: each host once, in the order of its first OS process, with a slot for each.
///
/// # Errors
/// `G0430` when hosts are missing.
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
        // Open MPI refuses a limit below the slots, and a warning says that the limit is passed.
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

/// How many OS processes each host has.
fn slots(launch: &Launch) -> FxHashMap<&str, u32> {
    let mut slots = FxHashMap::default();
    for host in launch.os_processes.iter().filter_map(|p| p.host.as_deref()) {
        *slots.entry(host).or_insert(0) += 1;
    }
    slots
}

/// The host of a section, with all the slots that it has.
fn on_host(host: Option<&str>, slots: &FxHashMap<&str, u32>) -> String {
    host.map_or(String::new(), |h| format!(" -host {h}:{}", slots[h]))
}

/// Whether a variable is a parameter of the launcher, which has those from its own environment.
fn is_parameter(name: &str) -> bool {
    name.starts_with("OMPI_MCA_") || name.starts_with("PRTE_MCA_")
}

/// Most bytes of a command. Linux takes 2 MiB for the words and the variables together.
const MOST: usize = 1_500_000;

/// The sections of a command: one for each run of OS processes of one host, all of the same words.
///
/// # Errors
/// `G0430` when some hosts are missing, `G0441` when there are too many sections for a command.
pub(crate) fn sections(launch: &Launch, words: &str) -> Result<String, Diagnostics> {
    launch.hosts()?;
    let slots = slots(launch);
    // OS processes have the variables that are named, and no others.
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
    Err(alone(Diagnostic::error(codes::TOO_LONG, what).help(help)))
}

/// The rankfile: host and cores of each rank. Cores are the operating system's numbers, which Open
/// MPI 4 reads with `--mca rmaps_rank_file_physical 1`. Open MPI 5 (`--map-by rankfile:FILE=`) counts
/// cores in its own way, socket by socket, so that it is right there only where Linux counts so too.
///
/// Where the mapping binds an OS process to no core, the cores of its host are taken in turn, and a
/// warning (`G0431`) in `out` says so. Several OS processes on one core are a warning (`G0440`), because
/// Open MPI 5 refuses them unless told otherwise.
///
/// # Errors
/// `G0430` when hosts are missing.
pub fn rankfile(launch: &Launch, out: &mut Diagnostics) -> Result<String, Diagnostics> {
    let hosts = launch.needed_hosts("a rankfile")?;
    let mut next: FxHashMap<&str, u32> = FxHashMap::default();
    let mut assumed = 0;
    // The rank that has a core of a host, and the first two ranks that share one.
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

/// The appfile: a section for each run of OS processes of one host with the same cores and equally
/// many processes, a number they find in the variable `GRAPHMAP_PROCESSES`. To be read with `--bind-to
/// none`: the launcher would bind on its own account, to cores in turn.
///
/// No comment says what it is: Open MPI 5.0.11 ends without a word at a line that starts none.
///
/// A line that is longer than Open MPI reads is a warning (`G0441`) in `out`, and so is a variable whose
/// value it cannot say (`G0433`).
///
/// # Errors
/// `G0430` when some hosts are missing, `G0433` when the program or an argument cannot be written.
pub fn appfile(launch: &Launch, out: &mut Diagnostics) -> Result<String, Diagnostics> {
    launch.hosts()?;
    let words = launch.plain_words("an appfile")?;
    // Its OS processes have the variables that are named, and no others of the launcher but its own parameters.
    let (parameters, others): (Vec<_>, Vec<_>) = launch
        .environment
        .iter()
        .partition(|(name, _)| is_parameter(name));
    for (name, _) in parameters {
        let note = "the launcher reads its parameters from its own environment";
        out.push(not_set(name, "an appfile").with_note(note));
    }
    let hand = |name: &str, value: Option<&str>| match value {
        // So that the file says all by itself.
        Some(value) => format!(" -x {name}={value}"),
        None => format!(" -x {name}"),
    };
    let handed = plain_variables(others, "an appfile", LONGEST_VALUE, hand, out);
    let slots = slots(launch);
    let mut text = String::new();
    for run in launch.runs(|p| (p.host.as_deref(), p.processes, p.cores.as_slice())) {
        let (n, (host, processes, cores)) = (run.members.len(), run.value);
        let host = on_host(host, &slots);
        let words = on_cores(cores, &words);
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

/// Longest value of a variable that an appfile has itself: a line has room for some.
const LONGEST_VALUE: usize = 32;
/// Most bytes of a line of an appfile in Open MPI 5.0 and 4.1.
const LINE_OF_5: usize = 1_000;
const LINE_OF_4: usize = 8_190;
