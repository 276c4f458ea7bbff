//! Mappers, which find a mapping for a network in terms of its processes and modules.
//!
//! A mapper is given the network, the hosts and the rules, and returns the OS process of each
//! process. The planner checks the result like any other mapping, and computes its cost and its
//! bound.

use crate::diagnostic::Diagnostics;
use crate::hardware::Hardware;
use crate::network::Verified;
use serde::Serialize;
use std::fmt;

/// Input of a mapper, and the diagnostics that it adds.
#[non_exhaustive]
pub struct MapContext<'a> {
    /// Network to map.
    pub network: &'a Verified,
    /// Hosts, slots and distances.
    pub platform: &'a Hardware,
    /// Conditions for the mapping, and the quantity to minimize.
    pub task: &'a Task,
    /// Diagnostics that do not make the mapper fail.
    pub diagnostics: &'a mut Diagnostics,
}

impl<'a> MapContext<'a> {
    /// Creates the input of a mapper.
    pub fn new(
        network: &'a Verified,
        platform: &'a Hardware,
        task: &'a Task,
        diagnostics: &'a mut Diagnostics,
    ) -> Self {
        MapContext {
            network,
            platform,
            task,
            diagnostics,
        }
    }
}

/// Conditions for a mapping, and the quantity to minimize. Processes are given by rank, and OS
/// processes by number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Task {
    /// Number of OS processes. Some may stay empty.
    pub os_processes: usize,
    /// Host and core of each OS process, unless the mapper returns others. There is no core if the
    /// cores of the host are unknown.
    pub bindings: Vec<Place>,
    /// Quantity to minimize: `cost`, `bottleneck`, `largest-load` or `remote-channels`.
    pub objective: &'static str,
    /// Largest load of each OS process within the balance limit.
    pub limits: Vec<f64>,
    /// Rules of the graph and of the command, and memory limits.
    pub rules: Vec<Rule>,
    /// OS process of each process in the mapping in use, if there is one. The entry of a new
    /// process is `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<Vec<Option<u32>>>,
    /// Seed of random choices.
    pub seed: u64,
    /// Time limit of the search in seconds, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
}

/// A rule of a mapping. All are hard, except [`Rule::Prefer`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "rule", rename_all = "lowercase")]
pub enum Rule {
    /// Each of the processes must be in one of the OS processes.
    Pin {
        /// Processes.
        processes: Vec<u32>,
        /// Allowed OS processes.
        os_processes: Vec<u32>,
    },
    /// The processes must be in one OS process.
    Together {
        /// Processes.
        processes: Vec<u32>,
    },
    /// No two of the processes may be in one place.
    Apart {
        /// Processes.
        processes: Vec<u32>,
        /// Places. Each is a list of OS processes.
        places: Vec<Vec<u32>>,
    },
    /// Each place must hold from `least` to `most` of the processes.
    Hold {
        /// Processes.
        processes: Vec<u32>,
        /// Places. Each is a list of OS processes.
        places: Vec<Vec<u32>>,
        /// Smallest number in each place.
        least: u32,
        /// Largest number in each place. `None` means that there is no limit.
        #[serde(skip_serializing_if = "Option::is_none")]
        most: Option<u32>,
    },
    /// The processes in these OS processes together may need at most this memory.
    Memory {
        /// OS processes that share the memory.
        os_processes: Vec<u32>,
        /// Memory in bytes.
        bytes: u64,
    },
    /// The processes should be in one OS process, as if neighbours in the list had a channel of
    /// this traffic.
    Prefer {
        /// Processes.
        processes: Vec<u32>,
        /// Traffic.
        traffic: f64,
    },
}

/// Host and cores of an OS process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Name of the host.
    pub host: String,
    /// Cores of the host, as numbered by the operating system. If a mapper returns none, the next
    /// free slot of the host is used.
    pub cores: Vec<u32>,
}

/// Result of a mapper, which is not checked yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// OS process of each process.
    pub assignment: Assignment,
    /// Host and cores of each OS process. If empty, [`Task::bindings`] holds.
    pub bindings: Vec<Place>,
}

/// OS processes of the processes of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// The number of the OS process of each process, in the order of ranks.
    Ranks(Vec<u32>),
    /// Names with numbers of OS processes. The innermost module with an entry determines the OS
    /// process of a process, unless the process has an entry of its own.
    Names {
        /// Processes.
        processes: Vec<(String, u32)>,
        /// Modules.
        modules: Vec<(String, u32)>,
    },
}

impl Default for Assignment {
    fn default() -> Self {
        Assignment::Ranks(Vec::new())
    }
}

/// A method to find a mapping, in terms of the network.
pub trait Mapper {
    /// Returns the name, as in `--strategy NAME`.
    fn name(&self) -> &str;

    /// Returns true if the mapping was known before, such as one from a file. Messages then name a
    /// mapping instead of a strategy.
    fn is_given(&self) -> bool {
        false
    }

    /// Returns a mapping. It need not be checked, because the planner checks it.
    ///
    /// # Errors
    /// Returns the reasons why there is no mapping.
    fn map(&self, context: &mut MapContext<'_>) -> Result<Proposal, Diagnostics>;
}

impl fmt::Debug for dyn Mapper + Sync + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mapper").field(&self.name()).finish()
    }
}
