//! Where the processes of a run over shared memory are.

use super::args::{Link, RunArgs};
use graphmap_kpn::arena::Id;
use graphmap_kpn::mapping::Mapping;
use graphmap_kpn::network::{Network, ProcessId};
use std::ffi::OsString;

/// The OS process of each process.
pub(super) enum Places<'m> {
    /// As a mapping says it.
    Mapped(&'m Mapping),
    /// As the runtime places them: in blocks of neighbours.
    Blocks { processes: u64, os_processes: u64 },
}

impl<'m> Places<'m> {
    /// Those of a run as the command line says it or, where it says nothing, what the shell has set. `None` where no shared
    /// memory joins its OS processes, or only the program knows where they are.
    pub(super) fn over_shared_memory(
        args: &RunArgs,
        mapping: Option<&'m Mapping>,
        network: &Network,
    ) -> Option<Places<'m>> {
        let is_shared = match args.link {
            Some(link) => matches!(link, Link::Shm),
            None => set("GRAPHMAP_LINK")
                .is_some_and(|link| link.to_str().is_some_and(|link| link.trim() == "shm")),
        };
        let places = match mapping {
            Some(mapping) => Places::Mapped(mapping),
            None if ["GRAPHMAP_MAPPING", "GRAPHMAP_PLACEMENT"]
                .into_iter()
                .any(|name| set(name).is_some()) =>
            {
                return None;
            }
            None => Places::Blocks {
                processes: network.processes.len() as u64,
                os_processes: os_processes(args)?.into(),
            },
        };
        is_shared.then_some(places)
    }

    pub(super) fn of(&self, process: ProcessId) -> usize {
        match self {
            Places::Mapped(mapping) => mapping.of(process).index(),
            Places::Blocks {
                processes,
                os_processes,
            } => (process.index() as u64 * os_processes / processes.max(&1)) as usize,
        }
    }
}

/// How many there are to be. `None` where the program will not take what the shell has set.
fn os_processes(args: &RunArgs) -> Option<u32> {
    match (args.os_processes, set("GRAPHMAP_OS_PROCESSES")) {
        (Some(count), _) => Some(count.get()),
        (None, Some(count)) => count.to_str()?.trim().parse().ok(),
        (None, None) => Some(1),
    }
}

/// What the shell has set. Empty is as not set, as the runtime has it.
fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
