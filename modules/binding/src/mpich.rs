//! MPICH: hostfile and configfile.
//!
//! What its launcher (hydra 4.0.2) does, as the tests show: the hostfile's order is rank order and a
//! host may come up again; sections of a configfile are taken in order; `-host` in a section is
//! **not** obeyed (the host of the first section takes all), so placement is the hostfile's alone.
//! A configfile knows no quotes. `-bind-to user:` has one list for all lines of the hostfile: the
//! OS processes of each line take its entries from the start.

use crate::launch::Launch;
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

/// The configfile: a section for each run of OS processes that hold equally many processes, a number
/// they find in the variable `GRAPHMAP_PROCESSES`.
///
/// # Errors
/// `G0433` when the program or an argument cannot be written.
pub fn configfile(launch: &Launch) -> Result<String, Diagnostics> {
    let words = launch.plain_words("a configfile")?;
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| p.processes) {
        let (n, processes) = (run.members.len(), run.value);
        writeln!(text, "-n {n} -env GRAPHMAP_PROCESSES {processes} {words}")
            .expect("a String takes all");
    }
    Ok(text)
}

/// The cores as an option of `mpiexec`: `-bind-to user:0+2,1+4`. `None` when nothing is bound, or
/// when the lines of the hostfile would need different lists, which cannot be said.
pub fn bind_to(launch: &Launch) -> Option<String> {
    if !launch.bound() {
        return None;
    }
    // Each run of one host takes the list from its start: all must be a prefix of the longest.
    let runs = launch.runs(|p| p.host.as_deref());
    let longest = runs.iter().max_by_key(|run| run.members.len())?;
    let cores = |p: &crate::OsProcess| p.cores.clone();
    let list: Vec<Vec<u32>> = longest.members.iter().map(cores).collect();
    let fits = |run: &crate::Run<_>| {
        run.members
            .iter()
            .map(cores)
            .eq(list[..run.members.len()].iter().cloned())
    };
    if !runs.iter().all(fits) {
        return None;
    }
    let sum = |cores: &Vec<u32>| {
        cores
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join("+")
    };
    let sets: Vec<String> = list.iter().map(sum).collect();
    Some(format!("-bind-to user:{}", sets.join(",")))
}
