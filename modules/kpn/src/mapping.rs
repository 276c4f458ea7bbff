//! Where every process runs: collocation (process -> OS process) and binding (OS process -> host
//! and cores).

use crate::arena::Id;
use crate::network::{ProcessId, Verified};

/// Where an OS process runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Name of the host; `None`: wherever the launcher puts it.
    pub host: Option<String>,
    /// Cores of the host it is bound to, as the operating system numbers them; empty: not bound.
    pub cores: Vec<u32>,
}

/// A mapping of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// The OS process of each process, in the order of ranks; each less than `places.len()`.
    pub os_process: Vec<u32>,
    /// The place of each OS process.
    pub places: Vec<Place>,
    /// The strategy that made it: `stack`, `auto`, or `file` for one that was read.
    pub strategy: String,
}

/// A mapping that does not fit its network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// Another number of processes than the network has.
    #[error("the mapping is for {mapping} processes, the network has {network}")]
    Size {
        /// How many the mapping speaks of.
        mapping: usize,
        /// How many there are.
        network: usize,
    },
    /// An OS process that has no place.
    #[error("the process with rank {rank} is mapped onto OS process {os_process} of {count}")]
    OsProcess {
        /// The process.
        rank: usize,
        /// Where it is mapped.
        os_process: u32,
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
        let block = |i: usize| std::iter::repeat_n(i as u32, size + usize::from(i < larger));
        Mapping {
            os_process: (0..n).flat_map(block).collect(),
            places: vec![Place::default(); n],
            strategy: "stack".into(),
        }
    }

    /// The OS process of a process.
    pub fn of(&self, process: ProcessId) -> u32 {
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
    /// When the mapping has another number of processes, or speaks of an OS process without place.
    pub fn new(network: Verified, mapping: Mapping) -> Result<Mapped, MappingError> {
        if mapping.os_process.len() != network.processes.len() {
            return Err(MappingError::Size {
                mapping: mapping.os_process.len(),
                network: network.processes.len(),
            });
        }
        let count = mapping.places.len();
        let wrong = mapping.os_process.iter().position(|&o| o as usize >= count);
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
        assert_eq!(Mapping::stack(7, 3).os_process, [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(Mapping::stack(2, 5).os_process, [0, 1]);
        assert_eq!(Mapping::stack(0, 0).places.len(), 1);
    }
}
