//! Checks that this host has the cores that a mapping names.
//!
//! The description of a host may be for another machine. An OS process that is bound to a missing
//! core cannot start, and launchers report that late.

use super::copy::{is_here, this_host};
use crate::cli::exit::Exit;
use crate::cli::session::{Outcome, Session};
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::mapping::Mapping;
use std::collections::BTreeSet;

/// Reports an OS process on this host if all its cores are missing (an error) or some are (a
/// warning). Only the worst OS process is reported. Nothing is reported if the cores cannot be
/// tested.
///
/// # Errors
/// Returns [`Exit::Usage`] if all cores of an OS process are missing.
pub(super) fn check(session: &mut Session<'_>, mapping: &Mapping) -> Outcome<()> {
    let here = this_host();
    let is_here = |host: &Option<String>| host.as_deref().is_none_or(|host| is_here(host, &here));
    let bindings = || mapping.bindings.values().enumerate();
    let bound =
        || bindings().filter(|(_, binding)| is_here(&binding.host) && !binding.cores.is_empty());
    let named: BTreeSet<u32> = bound()
        .flat_map(|(_, binding)| binding.cores.iter().copied())
        .collect();
    let Some(missing) = missing(&named).filter(|missing| !missing.is_empty()) else {
        return Ok(());
    };
    let lacks = |cores: &[u32]| cores.iter().filter(|core| missing.contains(core)).count();
    let worst = bound().max_by_key(|(at, binding)| {
        let count = lacks(&binding.cores);
        (
            count == binding.cores.len(),
            count > 0,
            std::cmp::Reverse(*at),
        )
    });
    let Some((at, binding)) = worst else {
        return Ok(());
    };
    let absent = binding.cores.iter().find(|core| missing.contains(core));
    let core = absent.copied().unwrap_or_default();
    let host = binding.host.as_deref().unwrap_or(&here);
    let what = format!(
        "OS process {at} is bound to core {core} of `{host}`, which does not exist or is not available"
    );
    let count = missing.len();
    let note = format!(
        "{count} of {} cores in the mapping are missing on this host; `nproc` prints the number of cores",
        named.len()
    );
    let help =
        "describe the host by `lstopo host.xml` (hwloc), or name it without cores to bind to none";
    if lacks(&binding.cores) < binding.cores.len() {
        session.report(
            Diagnostic::warning(codes::CORES_MISSING, what)
                .with_note(note)
                .help(help),
        );
        return Ok(());
    }
    let error = Diagnostic::error(codes::CORES_MISSING, what);
    session.fail(Exit::Usage, error.with_note(note).help(help))
}

/// Returns those of `cores` that a thread of this program cannot be bound to. Returns `None` if
/// that cannot be tested.
fn missing(cores: &BTreeSet<u32>) -> Option<BTreeSet<u32>> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    // Tested in a thread of its own, because a binding lasts until its thread ends.
    let ask = || {
        let is_missing = |core: &&u32| {
            let core = **core as usize;
            if core >= CpuSet::MAX_CPU {
                return true;
            }
            let mut set = CpuSet::new();
            set.set(core);
            sched_setaffinity(None, &set).is_err()
        };
        cores.iter().filter(is_missing).copied().collect()
    };
    std::thread::scope(|scope| scope.spawn(ask).join().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_that_do_not_exist_are_missing() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let allowed = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let allowed = allowed.unwrap().trim().split([',', '-']).next().unwrap();
        let there = allowed.parse::<u32>().unwrap();
        let asked = BTreeSet::from([there, 1_000, u32::MAX]);
        assert_eq!(missing(&asked), Some(BTreeSet::from([1_000, u32::MAX])));
        assert_eq!(missing(&BTreeSet::from([there])), Some(BTreeSet::new()));
    }
}
