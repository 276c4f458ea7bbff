//! Intel MPI: machinefile and configfile.
//!
//! What its launcher (2021.18) does, as the tests show: the machinefile is MPICH's hostfile; in a
//! configfile `-host` of each section **is** obeyed, so one file says all, and quotes are
//! understood. A list of cores (`I_MPI_PIN_PROCESSOR_LIST`) or of sets of cores
//! (`I_MPI_PIN_DOMAIN`) holds for all OS processes of a host, whichever section it stands in.

use crate::launch::{Launch, OsProcess};
use crate::mpich;
use graphmap_kpn::diagnostic::Diagnostics;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// The machinefile: runs of OS processes on one host as `host:n`, in rank order.
///
/// # Errors
/// `G0430` when hosts are missing.
pub fn machinefile(launch: &Launch) -> Result<String, Diagnostics> {
    mpich::hostfile(launch)
}

/// The configfile: a section for each run of OS processes of one host with equally many processes,
/// a number they find in the variable `GRAPHMAP_PROCESSES`; cores by Intel's variables.
///
/// # Errors
/// `G0430` when some hosts are missing, `G0433` when the program or an argument cannot be written.
pub fn configfile(launch: &Launch) -> Result<String, Diagnostics> {
    launch.hosts()?;
    let words = launch.plain_words("a configfile")?;
    let mut by_host: FxHashMap<Option<&str>, Vec<&OsProcess>> = FxHashMap::default();
    for p in &launch.os_processes {
        by_host.entry(p.host.as_deref()).or_default().push(p);
    }
    let sets = launch.os_processes.iter().any(|p| p.cores.len() != 1);
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| (p.host.as_deref(), p.processes)) {
        let (host, processes) = run.value;
        let pins = if launch.bound() {
            pins(&by_host[&host], sets)
        } else {
            String::new()
        };
        let host = host.map_or(String::new(), |h| format!(" -host {h}"));
        let n = run.members.len();
        writeln!(
            text,
            "-n {n}{host} -env GRAPHMAP_PROCESSES {processes}{pins} {words}"
        )
        .expect("a String takes all");
    }
    Ok(text)
}

/// The cores of all OS processes of a host, as a list of cores or of sets of cores. The two are not
/// mixed in one job: the launcher would hold the sets of one host against another.
fn pins(on_host: &[&OsProcess], sets: bool) -> String {
    let set = |p: &&OsProcess| match sets {
        true => format!("0x{}", mask(&p.cores)),
        false => p.cores[0].to_string(),
    };
    let list = on_host.iter().map(set).collect::<Vec<_>>().join(",");
    match sets {
        true => format!(" -env I_MPI_PIN_DOMAIN [{list}]"),
        false => format!(" -env I_MPI_PIN_PROCESSOR_LIST {list}"),
    }
}

/// A set of cores as one hexadecimal number.
pub(crate) fn mask(cores: &[u32]) -> String {
    let mut digits = vec![0u8; cores.iter().max().map_or(1, |m| *m as usize / 4 + 1)];
    for &core in cores {
        digits[core as usize / 4] |= 1 << (core % 4);
    }
    digits.iter().rev().map(|d| format!("{d:x}")).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn masks_have_as_many_digits_as_needed() {
        assert_eq!(super::mask(&[0]), "1");
        assert_eq!(super::mask(&[0, 1, 4, 69]), "200000000000000013");
    }
}
