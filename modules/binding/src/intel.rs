//! Intel MPI: machinefile and configfile.
//!
//! The tests show how its launcher (2021.18) behaves:
//!
//! * The machinefile is MPICH's hostfile with three exceptions. `user=` is ignored, but `bob@node1`
//!   is accepted, in both files. `binding=` and `ifhn=` are refused.
//! * In a configfile, `-host` of each section **is** obeyed, so one file is sufficient. The
//!   configfile may contain quotes.
//! * A list of cores for the launcher holds for all OS processes of a host, in any section.
//!   Therefore the sections bind by `taskset`, and turn the launcher's binding off (`I_MPI_PIN`).

use crate::launch::{Launch, on_cores, section};
use crate::mpich::configfile_variables;
use graphmap_kpn::diagnostic::Diagnostics;
use std::fmt::Write;

/// Facts about the access to hosts that a machinefile and a configfile contain.
pub(crate) const ACCESS_FACTS: &[&str] = &["user"];

/// Returns the machinefile: runs of OS processes on one host as `host:n`, in rank order. If the
/// user is known, it precedes the host (`user@host:n`).
///
/// # Errors
/// `G0430` if an OS process has no host.
pub fn machinefile(launch: &Launch) -> Result<String, Diagnostics> {
    launch.needed_hosts("a machinefile")?;
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| p.host.as_deref().unwrap_or("")) {
        let (host, n) = (launch.login(run.value), run.members.len());
        writeln!(text, "{host}:{n}").expect("a String takes all");
    }
    Ok(text)
}

/// Returns the sections of a command, one for each run of consecutive OS processes on one host.
/// Each has `words` as its program and arguments. An OS process without a host gets no `-host`.
///
/// If any OS process is bound to cores, each section turns off the launcher's binding. The program
/// in `words` must then bind itself.
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

/// Returns the configfile, which has a section for each run of consecutive OS processes with the
/// same program, host, cores and number of processes. The variable `GRAPHMAP_PROCESSES`
/// contains that number. Sections with cores bind by `taskset`.
///
/// Adds a warning (`G0433`) to `out` for each variable whose value cannot be written.
///
/// # Errors
/// `G0430` if only some OS processes have a host, `G0433` if the program or an argument cannot be
/// written.
pub fn configfile(launch: &Launch, out: &mut Diagnostics) -> Result<String, Diagnostics> {
    launch.hosts()?;
    let set = configfile_variables(launch, out);
    let off = match launch.unbound() {
        true => "",
        false => " -env I_MPI_PIN off",
    };
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| section(launch, p)) {
        let (n, (program, host, processes, cores)) = (run.members.len(), run.value);
        let host = host.map_or(String::new(), |h| format!(" -host {}", launch.login(h)));
        let words = on_cores(cores, &launch.plain_words(program, "a configfile")?);
        writeln!(
            text,
            "-n {n}{host} -env GRAPHMAP_PROCESSES {processes}{off}{set} {words}"
        )
        .expect("a String takes all");
    }
    Ok(text)
}
