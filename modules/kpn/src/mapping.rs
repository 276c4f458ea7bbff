//! Where every process runs: collocation (process -> OS process) and binding (OS process -> host
//! and cores).

use crate::arena::{Arena, Id, define_id};
use crate::network::{ProcessId, Verified};
use std::fmt;

define_id!(
    /// An OS process of a [`Mapping`].
    pub OsProcessId,
    "o"
);

/// As users know it: its number, from 0.
impl fmt::Display for OsProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.index().fmt(f)
    }
}

/// Where an OS process runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// Name of the host; `None`: wherever the launcher puts it.
    pub host: Option<String>,
    /// Cores of the host it is bound to, as the operating system numbers them; empty: not bound.
    pub cores: Vec<u32>,
}

/// A mapping of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// The OS process of each process, in the order of ranks; each is one of `bindings`.
    pub os_process: Vec<OsProcessId>,
    /// Where each OS process runs.
    pub bindings: Arena<OsProcessId, Binding>,
    /// The strategy that made it: `stack`, `auto`, or `file` for one that was read.
    pub strategy: String,
}

/// A mapping that does not fit its network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// Another number of processes than the network has.
    #[error("the mapping is for {mapping} processes, but the network has {network}")]
    Size {
        /// How many the mapping speaks of.
        mapping: usize,
        /// How many there are.
        network: usize,
    },
    /// An OS process that is not there.
    #[error(
        "rank {rank} is mapped to OS process {os_process}, but there are only {count} OS processes"
    )]
    OsProcess {
        /// The process.
        rank: usize,
        /// Where it is mapped.
        os_process: OsProcessId,
        /// How many OS processes there are.
        count: usize,
    },
}

impl Mapping {
    /// Contiguous blocks of ranks of equal size (the first ones one larger), as the thesis stacks
    /// neighbours (core seed, figure 4.3a), on hosts left to the launcher. `os_processes` is at
    /// least 1.
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

    /// The number of the OS process of each process, in the order of ranks.
    pub fn numbers(&self) -> impl ExactSizeIterator<Item = u32> {
        self.os_process.iter().map(|o| o.index() as u32)
    }

    /// The OS process of a process.
    pub fn of(&self, process: ProcessId) -> OsProcessId {
        self.os_process[process.index()]
    }
}

/// A verified network with a mapping that fits it: what emitters take.
#[derive(Clone, Debug)]
pub struct Mapped {
    network: Verified,
    mapping: Mapping,
}

impl Mapped {
    /// Puts the two together.
    ///
    /// # Errors
    /// When the mapping has another number of processes, or speaks of an OS process that is not there.
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

    /// The network.
    pub fn network(&self) -> &Verified {
        &self.network
    }

    /// The mapping.
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
