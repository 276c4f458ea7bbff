//! Mappings: collocation (processes into OS processes) and binding (OS processes onto hosts and
//! cores).

use crate::arena::{Arena, Id, define_id};
use crate::network::{ProcessId, Verified};
use std::fmt;

define_id!(
    /// Id of an OS process of a [`Mapping`].
    pub OsProcessId,
    "o"
);

/// Writes the number of the OS process, from 0.
impl fmt::Display for OsProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.index().fmt(f)
    }
}

/// Host and cores of an OS process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// Name of the host. `None` leaves the choice to the launcher.
    pub host: Option<String>,
    /// Cores of the host, as numbered by the operating system. Empty if the OS process is not
    /// bound.
    pub cores: Vec<u32>,
}

/// A mapping of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// OS process of each process, in the order of ranks. Each is an index of `bindings`.
    pub os_process: Vec<OsProcessId>,
    /// Binding of each OS process.
    pub bindings: Arena<OsProcessId, Binding>,
    /// Strategy that created the mapping, such as `stack` or `auto`, or `file` if it was read.
    pub strategy: String,
}

/// The mapping does not fit the network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// The numbers of processes differ.
    #[error("the mapping is for {mapping} processes, but the network has {network}")]
    Size {
        /// Number of processes in the mapping.
        mapping: usize,
        /// Number of processes in the network.
        network: usize,
    },
    /// An OS process does not exist.
    #[error(
        "rank {rank} is mapped to OS process {os_process}, but there are only {count} OS processes"
    )]
    OsProcess {
        /// Rank of the process.
        rank: usize,
        /// OS process of the process.
        os_process: OsProcessId,
        /// Number of OS processes.
        count: usize,
    },
}

impl Mapping {
    /// Maps contiguous blocks of ranks of equal size to OS processes. The first blocks may be one
    /// larger. With more OS processes than processes, the last OS processes are empty.
    ///
    /// This is the stacking of neighbours in the thesis (core seed, figure 4.3a). Hosts are left to
    /// the launcher. An `os_processes` of 0 counts as 1.
    ///
    /// # Panics
    /// Panics if there are 2^32 OS processes or more.
    pub fn stack(processes: usize, os_processes: usize) -> Mapping {
        let n = os_processes.max(1);
        let (size, larger) = (processes / n, processes % n);
        let bindings: Arena<OsProcessId, Binding> = (0..n).map(|_| Binding::default()).collect();
        let block = |o: OsProcessId| std::iter::repeat_n(o, size + usize::from(o.index() < larger));
        Mapping {
            os_process: bindings.ids().flat_map(block).collect(),
            bindings,
            strategy: "stack".into(),
        }
    }

    /// Returns the number of the OS process of each process, in the order of ranks.
    pub fn numbers(&self) -> impl ExactSizeIterator<Item = u32> {
        self.os_process.iter().map(|o| o.index() as u32)
    }

    /// Returns the OS process of a process.
    ///
    /// # Panics
    /// Panics if the mapping does not contain the process.
    pub fn of(&self, process: ProcessId) -> OsProcessId {
        self.os_process[process.index()]
    }
}

/// A verified network with a mapping that fits it. Input of emitters.
#[derive(Clone, Debug)]
pub struct Mapped {
    network: Verified,
    mapping: Mapping,
}

impl Mapped {
    /// Combines a network and a mapping.
    ///
    /// # Errors
    /// Returns [`MappingError::Size`] if the mapping has another number of processes. Returns
    /// [`MappingError::OsProcess`] if it contains an OS process that does not exist.
    pub fn new(network: Verified, mapping: Mapping) -> Result<Mapped, MappingError> {
        if mapping.os_process.len() != network.processes.len() {
            return Err(MappingError::Size {
                mapping: mapping.os_process.len(),
                network: network.processes.len(),
            });
        }
        let count = mapping.bindings.len();
        let wrong = mapping.os_process.iter().position(|o| o.index() >= count);
        if let Some(rank) = wrong {
            let os_process = mapping.os_process[rank];
            return Err(MappingError::OsProcess {
                rank,
                os_process,
                count,
            });
        }
        Ok(Mapped { network, mapping })
    }

    /// Returns the network.
    pub fn network(&self) -> &Verified {
        &self.network
    }

    /// Returns the mapping.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacking_makes_contiguous_blocks_of_equal_size() {
        let stacked = |n, k| Mapping::stack(n, k).numbers().collect::<Vec<_>>();
        assert_eq!(stacked(7, 3), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(stacked(2, 5), [0, 1]);
        assert_eq!(Mapping::stack(0, 0).bindings.len(), 1);
    }
}
