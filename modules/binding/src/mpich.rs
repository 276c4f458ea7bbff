//! MPICH: hostfile and configfile.
//!
//! What its launcher (hydra 4.0.2 and 5.0.2) does, as the tests show: the hostfile's order is rank
//! order and a host may come up again; sections of a configfile are taken in order; `-host` in a
//! section is **not** obeyed (the host of the first section takes all), so placement is the hostfile's
//! alone. A configfile knows no quotes. `-bind-to user:` has one list of cores for all lines of the
//! hostfile, so the sections bind by `taskset`.

use crate::launch::{Launch, on_cores};
use graphmap_kpn::diagnostic::Diagnostics;
use std::fmt::Write;

/// The hostfile: runs of OS processes on one host as `host:n`, in rank order.
///
/// # Errors
/// `G0430` when hosts are missing.
pub fn hostfile(launch: &Launch) -> Result<String, Diagnostics> {
    launch.needed_hosts("a hostfile")?;
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| p.host.as_deref().unwrap_or("")) {
        writeln!(text, "{}:{}", run.value, run.members.len()).expect("a String takes all");
    }
    Ok(text)
}

/// The configfile: a section for each run of OS processes that have the same cores and hold equally
/// many processes, a number they find in the variable `GRAPHMAP_PROCESSES`.
///
/// # Errors
/// `G0433` when the program or an argument cannot be written.
pub fn configfile(launch: &Launch) -> Result<String, Diagnostics> {
    let words = launch.plain_words("a configfile")?;
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| (p.processes, p.cores.as_slice())) {
        let (n, (processes, cores)) = (run.members.len(), run.value);
        let words = on_cores(cores, &words);
        writeln!(text, "-n {n} -env GRAPHMAP_PROCESSES {processes} {words}")
            .expect("a String takes all");
    }
    Ok(text)
}
