//! Slurm: the program file of `srun --multi-prog`, and the file of hosts for the arbitrary
//! distribution (`SLURM_HOSTFILE`, `srun -m arbitrary`).
//!
//! The tests show how `srun` 22.05 behaves:
//!
//! * In the program file, `%t` is replaced by the rank and `%o` by the rank within its line. Every
//!   other `%` is lost, even if it is doubled, so a word with a `%` is refused.
//! * A list of cores (`--cpu-bind`) outside the allocation ends the job. Therefore the script
//!   contains no list, and users can pass one if they have allocated whole hosts.

use crate::codes;
use crate::launch::{LONGEST_VALUE, Launch, plain_variables, single};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use std::fmt::Write;

/// Returns the program file, which has a line for each run of consecutive ranks with the same
/// program and the same number of processes. The variable `GRAPHMAP_PROCESSES`, which `env` sets,
/// contains that number. The file contains neither hosts nor cores.
///
/// Adds a warning (`G0433`) to `out` for each variable whose value cannot be written.
///
/// # Errors
/// `G0433` if the program or an argument cannot be written, also because it contains a `%`.
pub fn multi_prog(launch: &Launch, out: &mut Diagnostics) -> Result<String, Diagnostics> {
    let file = "a --multi-prog file";
    let set = |name: &str, value: Option<&str>| {
        value.map_or(String::new(), |value| format!(" {name}={value}"))
    };
    let variables = plain_variables(&launch.environment, file, LONGEST_VALUE, set, out);
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| (launch.program_of(p), p.processes)) {
        let (program, processes) = run.value;
        let words = launch.plain_words(program, file)?;
        if words.contains('%') {
            let what = "a `%` cannot be written into a --multi-prog file, because srun replaces it";
            let help = "use a script that contains the argument as `program`";
            return Err(single(Diagnostic::error(codes::NOT_PLAIN, what).help(help)));
        }
        let last = run.first + run.members.len() - 1;
        let ranks = match run.first == last {
            true => last.to_string(),
            false => format!("{}-{last}", run.first),
        };
        let set = format!("env GRAPHMAP_PROCESSES={processes}{variables}");
        writeln!(text, "{ranks} {set} {words}").expect("a String takes all");
    }
    Ok(text)
}

/// Returns the file of hosts, with a line for each rank. It has no comments, because Slurm would
/// read them as hosts.
///
/// # Errors
/// `G0430` if an OS process has no host.
pub fn hostfile(launch: &Launch) -> Result<String, Diagnostics> {
    let mut text = String::new();
    for host in launch.needed_hosts("a file for SLURM_HOSTFILE")? {
        text.push_str(host);
        text.push('\n');
    }
    Ok(text)
}

/// Returns the cores of all ranks as an option of `srun`, or `None` if that is not possible.
///
/// Slurm uses the list from its start on each host, so the list of each host must be a prefix of
/// the longest one. Slurm ends the job unless these cores are allocated to the job. The option is
/// not possible if there are no OS processes, if an OS process is not bound, if hosts need
/// different lists, or if the list is too long for a command line.
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

/// Returns the number of hexadecimal digits of a set of cores as a bit mask, which is at least 1.
fn digits(cores: &[u32]) -> usize {
    cores.iter().max().map_or(1, |m| *m as usize / 4 + 1)
}

/// Formats a set of cores as a hexadecimal bit mask with the prefix `0x`.
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
