//! The MPI ranks of a program: its OS processes or, as in Pilot, its processes.
//!
//! In graphmap's runtime, an OS process runs many processes, and OS process `i` of the mapping is
//! rank `i`. In other programs, each process is an OS process of its own. For these, the option
//! `first_rank` contains the rank of the first process. The others follow in rank order of the
//! network, each on the host and cores of its OS process in the mapping. The ranks before belong to
//! the program itself. In Pilot, `PI_MAIN` is rank 0. With Pilot's deadlock detector, which is rank
//! 1, processes begin at rank 2.

use crate::codes;
use crate::os_process::OsProcess;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::hardware::Hardware;
use graphmap_kpn::mapping::{Binding, Mapped};
use graphmap_kpn::programs;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Option that contains the rank of the first process. If it is `none` or absent, processes have no
/// ranks of their own.
pub const FIRST_RANK: &str = "first_rank";
/// Option that names the host of the ranks before the first process.
pub const MAIN: &str = "main";
/// Start of the options that give the path of a program of the network.
pub(crate) const PROGRAM_PREFIX: &str = "program.";
/// Largest number of ranks before the first process.
const MOST_BEFORE: u32 = 64;

/// Returns the rank of the first process, or `None` if processes have no ranks of their own. This
/// is the case if the option `first_rank` is absent or `none`.
///
/// # Errors
/// `G0437` if the option is neither `none` nor a rank from 0 to 64.
pub fn first_rank(options: &BTreeMap<String, String>) -> Result<Option<u32>, Diagnostics> {
    let Some(value) = options.get(FIRST_RANK).filter(|value| *value != "none") else {
        return Ok(None);
    };
    match value.parse() {
        Ok(first) if first <= MOST_BEFORE => Ok(Some(first)),
        _ => {
            let what = format!("`{FIRST_RANK}={value}`: expected a rank from 0 to {MOST_BEFORE}");
            let help = "use 1 for Pilot, whose rank 0 is `PI_MAIN`, or `none` if an OS process runs many processes";
            Err(Diagnostics::from(
                Diagnostic::error(codes::BAD_OPTION, what).help(help),
            ))
        }
    }
}

/// Returns the executable of the program `name` of the network: the value of the option
/// `program.NAME`, or the name itself.
pub fn executable(name: &str, options: &BTreeMap<String, String>) -> String {
    let path = options.get(&format!("{PROGRAM_PREFIX}{name}"));
    path.map_or(name, String::as_str).to_owned()
}

/// Returns the OS processes to start, in the order of the launcher's ranks.
///
/// If processes have no ranks of their own, these are the OS processes of the mapping. Otherwise
/// there is one for each process, on the host and cores of its OS process in the mapping. As many
/// as [`first_rank`] returns precede them. Those are on the host that the option `main` names, and
/// by default on the host of the first process. They are not bound to cores and run no processes.
///
/// The program of an OS process is the program of its processes, or the path that `program.NAME`
/// gives for it. The ranks before the processes have none.
///
/// # Errors
/// Errors of [`first_rank`], `G0477` if processes of different programs are in one OS process, and
/// `G0437` if the option `main` is set but no rank precedes the
/// processes.
pub(crate) fn os_processes(
    mapped: &Mapped,
    options: &BTreeMap<String, String>,
) -> Result<Vec<OsProcess>, Diagnostics> {
    let mapping = mapped.mapping();
    let one = |binding: &Binding, program: Option<&str>, processes| OsProcess {
        host: binding.host.clone(),
        cores: binding.cores.clone(),
        program: program.map(|name| executable(name, options)),
        processes,
    };
    let (first, main) = (first_rank(options)?, options.get(MAIN));
    if let Some(host) = main.filter(|_| first.is_none_or(|first| first == 0)) {
        let what = format!("`{MAIN}={host}`: no rank precedes the ranks of the processes");
        let help = format!("use `--set {FIRST_RANK}=1` if one rank precedes them");
        return Err(Diagnostics::from(
            Diagnostic::error(codes::BAD_OPTION, what).help(help),
        ));
    }
    let Some(first) = first else {
        let mut processes = vec![0u32; mapping.bindings.len()];
        for number in mapping.numbers() {
            processes[number as usize] += 1;
        }
        let programs = programs::of_mapped(mapped).map_err(|d| Diagnostics::from(*d))?;
        let bindings = mapping.bindings.values().zip(programs).zip(processes);
        let bindings = bindings.map(|((binding, program), n)| one(binding, program, n));
        return Ok(bindings.collect());
    };
    let bindings = mapping.os_process.iter().map(|o| &mapping.bindings[*o]);
    // The default is the host of the first process, because the mapping uses it. Its cores are not
    // used, because they would be shared.
    let beside = bindings.clone().next().and_then(|first| first.host.clone());
    let before = OsProcess {
        host: main.cloned().or(beside),
        ..OsProcess::default()
    };
    let programs = programs::of_processes(mapped.network());
    let processes = bindings.zip(&programs);
    let processes = processes.map(|(binding, program)| one(binding, program.name, 1));
    Ok(std::iter::repeat_n(before, first as usize)
        .chain(processes)
        .collect())
}

/// Warns (`G0440`) of hosts on which more OS processes start than they have slots. Adds at most one
/// warning, which names the first such host of the platform and counts the others. Hosts that are
/// not in the platform are not checked.
///
/// Call this only if each process is an OS process, because the mapping itself observes the slots
/// otherwise.
pub(crate) fn check_slots(
    os_processes: &[OsProcess],
    platform: Option<&Hardware>,
    out: &mut Diagnostics,
) {
    let hosts = platform.map_or(&[][..], |platform| &platform.hosts);
    let mut started: FxHashMap<&str, u32> = FxHashMap::default();
    for host in os_processes.iter().filter_map(|p| p.host.as_deref()) {
        *started.entry(host).or_insert(0) += 1;
    }
    let over = |host: &&graphmap_kpn::hardware::Host| {
        started.get(&*host.name).is_some_and(|n| *n > host.slots)
    };
    let mut over = hosts.iter().filter(over);
    let Some(host) = over.next() else {
        return;
    };
    let (n, slots) = (started[&*host.name], host.slots);
    let s = if slots == 1 { "" } else { "s" };
    let mut warning = Diagnostic::warning(
        codes::BEYOND_SLOTS,
        format!(
            "{n} ranks start on `{}`, which has {slots} slot{s}",
            host.name
        ),
    )
    .with_note("each process of the network runs as a separate OS process");
    let others = over.count();
    if others > 0 {
        let (have, s) = if others == 1 {
            ("has", "")
        } else {
            ("have", "s")
        };
        warning = warning.with_note(format!(
            "{others} other host{s} {have} too few slots as well"
        ));
    }
    out.push(warning.help("name more hosts, or give each host as many slots as it has cores"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(options: &[(&str, &str)]) -> Result<Option<u32>, String> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let found = first_rank(&options.iter().map(own).collect());
        found.map_err(|all| all.into_iter().next().expect("a reason").message)
    }

    #[test]
    fn the_first_rank_is_a_small_number_or_none() {
        assert_eq!(first(&[]), Ok(None));
        assert_eq!(first(&[(FIRST_RANK, "none")]), Ok(None));
        assert_eq!(first(&[(FIRST_RANK, "0")]), Ok(Some(0)));
        assert_eq!(first(&[(FIRST_RANK, "64")]), Ok(Some(64)));
        for wrong in ["65", "-1", "", "one", "4294967296"] {
            let message = first(&[(FIRST_RANK, wrong)]).unwrap_err();
            assert!(message.contains("from 0 to 64"), "{message}");
        }
    }
}
