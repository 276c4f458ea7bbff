//! Slurm: the program file of `srun --multi-prog`, and the file of hosts for the arbitrary
//! distribution (`SLURM_HOSTFILE`, `srun -m arbitrary`).
//!
//! What `srun` 22.05 does, as the tests show: in the program file `%t` stands for the rank and `%o`
//! for the rank within its line, and every other `%` is lost, doubled or not; so a word with a `%`
//! is refused. A list of cores (`--cpu-bind`) outside of what is allocated ends the job; so it is
//! not part of the script but left to who knows that whole hosts are allocated.

use crate::codes;
use crate::launch::{LONGEST_VALUE, Launch, alone, plain_variables};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use std::fmt::Write;

/// The program file: a line for each run of ranks with equally many processes. The program finds
/// that number in the variable `GRAPHMAP_PROCESSES`, set by `env`.
///
/// A variable whose value it cannot say is a warning (`G0433`) in `out`.
///
/// # Errors
/// `G0433` when the program or an argument cannot be written.
pub fn multi_prog(launch: &Launch, out: &mut Diagnostics) -> Result<String, Diagnostics> {
    let words = launch.plain_words("a --multi-prog file")?;
    if words.contains('%') {
        let what = "a `%` cannot be written into a --multi-prog file, because srun replaces it";
        let help = "use a script that contains the argument as `program`";
        return Err(alone(Diagnostic::error(codes::NOT_PLAIN, what).help(help)));
    }
    let set = |name: &str, value: Option<&str>| {
        value.map_or(String::new(), |value| format!(" {name}={value}"))
    };
    let file = "a --multi-prog file";
    let variables = plain_variables(&launch.environment, file, LONGEST_VALUE, set, out);
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| p.processes) {
        let last = run.first + run.members.len() - 1;
        let ranks = match run.first == last {
            true => last.to_string(),
            false => format!("{}-{last}", run.first),
        };
        let set = format!("env GRAPHMAP_PROCESSES={}{variables}", run.value);
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
/// from its start on each host. It ends the job unless those cores are allocated to it. `None` when
/// nothing is bound, when hosts would need different lists, or when no command line would hold it.
pub fn cpu_bind(launch: &Launch) -> Option<String> {
    if !launch.bound() {
        return None;
    }
    let mut by_host: Vec<Vec<&[u32]>> = Vec::new();
    let mut index = rustc_hash::FxHashMap::default();
    for p in &launch.os_processes {
        let at = *index.entry(p.host.as_deref()).or_insert(by_host.len());
        if at == by_host.len() {
            by_host.push(Vec::new());
        }
        by_host[at].push(&p.cores);
    }
    let longest = by_host.iter().max_by_key(|sets| sets.len())?;
    let digits: u64 = longest.iter().map(|set| digits(set) as u64).sum();
    if digits > 100_000 || !by_host.iter().all(|sets| longest.starts_with(sets)) {
        return None;
    }
    let masks: Vec<String> = longest.iter().map(|set| mask(set)).collect();
    Some(format!("--cpu-bind=mask_cpu:{}", masks.join(",")))
}

/// How many hexadecimal digits a set of cores has.
fn digits(cores: &[u32]) -> usize {
    cores.iter().max().map_or(1, |m| *m as usize / 4 + 1)
}

/// A set of cores as one hexadecimal number.
fn mask(cores: &[u32]) -> String {
    let mut bits = vec![0u8; digits(cores)];
    for &core in cores {
        bits[core as usize / 4] |= 1 << (core % 4);
    }
    let digits: String = bits.iter().rev().map(|d| format!("{d:x}")).collect();
    format!("0x{digits}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn masks_have_as_many_digits_as_needed() {
        assert_eq!(super::mask(&[0]), "0x1");
        assert_eq!(super::mask(&[0, 1, 4, 69]), "0x200000000000000013");
    }
}
