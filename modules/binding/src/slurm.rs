//! Slurm: the program file of `srun --multi-prog`, and the file of hosts for the arbitrary
//! distribution (`SLURM_HOSTFILE`, `srun -m arbitrary`).
//!
//! What `srun` 22.05 does, as the tests show: in the program file `%t` stands for the rank and `%o`
//! for the rank within its line, and every other `%` is lost, doubled or not; so a word with a `%`
//! is refused. A list of cores (`--cpu-bind`) outside of what is allocated ends the job; so it is
//! not part of the script but left to who knows that whole hosts are allocated.

use crate::codes;
use crate::launch::{Launch, alone};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use std::fmt::Write;

/// The program file: a line for each run of ranks with equally many processes. The program finds
/// that number in the variable `GRAPHMAP_PROCESSES`, set by `env`.
///
/// # Errors
/// `G0433` when the program or an argument cannot be written.
pub fn multi_prog(launch: &Launch) -> Result<String, Diagnostics> {
    let words = launch.plain_words("a --multi-prog file")?;
    if words.contains('%') {
        let what = "a `%` cannot be written into a --multi-prog file: srun takes it for its own";
        let help = "start a script that has the argument in it, as `program`";
        return Err(alone(Diagnostic::error(codes::NOT_PLAIN, what).help(help)));
    }
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| p.processes) {
        let last = run.first + run.members.len() - 1;
        let ranks = match run.first == last {
            true => last.to_string(),
            false => format!("{}-{last}", run.first),
        };
        let set = format!("env GRAPHMAP_PROCESSES={}", run.value);
        writeln!(text, "{ranks} {set} {words}").expect("a String takes all");
    }
    Ok(text)
}

/// The file of hosts: a line for each rank, without comments, which Slurm would take for hosts.
///
/// # Errors
/// `G0430` when hosts are missing.
pub fn hostfile(launch: &Launch) -> Result<String, Diagnostics> {
    let mut text = String::new();
    for host in launch.needed_hosts("a file for SLURM_HOSTFILE")? {
        text.push_str(host);
        text.push('\n');
    }
    Ok(text)
}

/// Cores as an option of `srun`, when each rank of a host can be given its own: the list is taken
/// from its start on each host. It ends the job unless those cores are allocated to it. `None` when nothing is bound or hosts would need different lists.
pub fn cpu_bind(launch: &Launch) -> Option<String> {
    if !launch.bound() {
        return None;
    }
    let mut by_host: Vec<(Option<&str>, Vec<String>)> = Vec::new();
    let mut index = rustc_hash::FxHashMap::default();
    for p in &launch.os_processes {
        let host = p.host.as_deref();
        let at = *index.entry(host).or_insert(by_host.len());
        if at == by_host.len() {
            by_host.push((host, Vec::new()));
        }
        by_host[at]
            .1
            .push(format!("0x{}", crate::intel::mask(&p.cores)));
    }
    let longest = &by_host.iter().max_by_key(|(_, masks)| masks.len())?.1;
    let fits = by_host.iter().all(|(_, masks)| longest.starts_with(masks));
    fits.then(|| format!("--cpu-bind=mask_cpu:{}", longest.join(",")))
}
