//! The whole question: a network, a machine, what must hold, and what is wanted.

use std::sync::Arc;

use crate::clusters::distinct;
use crate::error::Error;
use crate::graph::Graph;
use crate::machine::{Block, Machine};
use crate::union::{find, join};

/// What a mapping must (or, for [`Constraint::Prefer`], should) do. Constraints are named by their
/// index in the list, so that the caller can point at where each was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// The vertex lies in one of these blocks: one block, or all blocks of a host.
    Pin {
        /// Which vertex.
        vertex: u32,
        /// Where it may lie; shared, because one rule often says it of many.
        blocks: Arc<[u32]>,
    },
    /// All in one block: collocated processes, a module as an atom.
    Together {
        /// Which vertices.
        vertices: Vec<u32>,
    },
    /// No two of them in one place.
    Apart {
        /// Which vertices.
        vertices: Vec<u32>,
        /// Disjoint groups of blocks, such as those of each host; none for every block.
        places: Vec<Vec<u32>>,
    },
    /// Rather in one block, as if consecutive members had a channel of this traffic. Guides the
    /// search; the reported cost holds only real channels.
    Prefer {
        /// Which vertices.
        vertices: Vec<u32>,
        /// Strength, in units of traffic.
        weight: u64,
    },
    /// Each of these places holds at least `least` and at most `most` of these vertices.
    Count {
        /// The vertices of one kind.
        vertices: Vec<u32>,
        /// Disjoint groups of blocks: single ones, or those of each host.
        places: Vec<Vec<u32>>,
        /// Fewest in each.
        least: u32,
        /// Most in each.
        most: u32,
    },
    /// What lies in these blocks needs no more memory in all: that of a host.
    Memory {
        /// Which blocks.
        blocks: Vec<u32>,
        /// Bytes.
        most: u64,
    },
}

/// What to minimise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// The sum over channels of traffic times distance.
    #[default]
    Cost,
    /// The largest traffic that leaves one host, then the cost.
    Bottleneck,
    /// The largest load of a block relative to its speed, then the cost.
    LargestLoad,
    /// The number of channels between different blocks.
    RemoteChannels,
}

/// An old mapping and what it costs to leave it.
#[derive(Clone, Copy, Debug)]
pub struct Migration<'a> {
    /// Where each vertex lies now; `None` for a new one.
    pub block_of: &'a [Option<u32>],
    /// Cost of moving a vertex over distance 1, in units of traffic.
    pub cost: &'a [u64],
}

/// Traffic times distance is counted up to here.
pub(crate) const LARGEST_COST: u128 = 1 << 60;

/// A mapping problem. Everything is borrowed, nothing is changed.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The network.
    pub graph: &'a Graph,
    /// The machine.
    pub machine: &'a Machine,
    /// What must hold.
    pub constraints: &'a [Constraint],
    /// What to minimise.
    pub objective: Objective,
    /// Balance bound: a block of speed s of S holds at most (1 + imbalance) x ceil(W s / S) of the
    /// load W.
    pub imbalance: f64,
    /// The mapping to start from, if there is one to stay near to.
    pub migration: Option<Migration<'a>>,
}

impl<'a> Problem<'a> {
    /// A problem without constraints: cost, 3% balance.
    #[must_use]
    pub fn new(graph: &'a Graph, machine: &'a Machine) -> Self {
        Self {
            graph,
            machine,
            constraints: &[],
            objective: Objective::Cost,
            imbalance: 0.03,
            migration: None,
        }
    }

    /// Returns the largest load each block may hold under the balance bound: its share, rounded up
    /// to a multiple of the greatest common divisor of all loads, plus the tolerance. So the bounds
    /// do not depend on the unit of the loads.
    #[must_use]
    pub fn load_bounds(&self) -> Vec<u64> {
        let total = u128::from(self.graph.total_load());
        let step = u128::from(self.graph.common_load()).max(1);
        let speed = u128::from(self.machine.total_speed());
        // In millionths, so that 3% of 100 is 3 and not the nearest binary fraction below.
        let millionths = 1_000_000 + (self.imbalance * 1e6).round() as u128;
        let bound = |block: &Block| {
            let share = (total * u128::from(block.speed)).div_ceil(speed * step) * step;
            (share * millionths / 1_000_000).min(u128::from(u64::MAX >> 2)) as u64
        };
        self.machine.blocks().iter().map(bound).collect()
    }

    /// Returns the group of each vertex: the smallest of the vertices that it must share a block
    /// with.
    #[must_use]
    pub fn groups(&self) -> Vec<u32> {
        self.groups_by(self.constraints.iter())
    }

    /// Returns the groups if only these constraints hold.
    pub(crate) fn groups_by<'c>(&self, active: impl Iterator<Item = &'c Constraint>) -> Vec<u32> {
        let n = self.graph.vertices() as u32;
        let mut root: Vec<u32> = (0..n).collect();
        for constraint in active {
            if let Constraint::Together { vertices } = constraint {
                for pair in vertices.windows(2) {
                    join(&mut root, pair[0], pair[1]);
                }
            }
        }
        for v in 0..n {
            root[v as usize] = find(&mut root, v);
        }
        root
    }

    /// Checks what types cannot: indices, sizes, overflow.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] with the index of the constraint at fault.
    pub fn check(&self) -> Result<(), Error> {
        if !(0.0..=1000.0).contains(&self.imbalance) {
            return Err(Error::input(format!(
                "the imbalance is {}; it must be from 0 to 1000",
                self.imbalance
            )));
        }
        let (n, k) = (self.graph.vertices(), self.machine.len());
        let mut traffic = u128::from(self.graph.total_traffic());
        for (index, constraint) in self.constraints.iter().enumerate() {
            let (vertices, places): (&[u32], Vec<&[u32]>) = match constraint {
                Constraint::Pin { vertex, blocks } => (std::slice::from_ref(vertex), vec![blocks]),
                Constraint::Together { vertices } => (vertices, Vec::new()),
                Constraint::Prefer { vertices, weight } => {
                    traffic += u128::from(*weight) * vertices.len() as u128;
                    (vertices, Vec::new())
                }
                Constraint::Apart { vertices, places }
                | Constraint::Count {
                    vertices, places, ..
                } => (vertices, places.iter().map(Vec::as_slice).collect()),
                Constraint::Memory { blocks, .. } => (&[], vec![blocks]),
            };
            if let Some(v) = vertices.iter().find(|v| **v as usize >= n) {
                return Err(Error::input(format!(
                    "constraint {index} names vertex {v}, which does not exist"
                )));
            }
            let blocks: Vec<u32> = places.concat();
            if let Some(b) = blocks.iter().find(|b| **b as usize >= k) {
                return Err(Error::input(format!(
                    "constraint {index} names block {b}, which does not exist"
                )));
            }
            if places.len() > 1 && distinct(&blocks).len() < blocks.len() {
                return Err(Error::input(format!(
                    "the places of constraint {index} overlap"
                )));
            }
        }
        if let Some(migration) = &self.migration {
            if migration.block_of.len() != n || migration.cost.len() != n {
                return Err(Error::input(format!(
                    "the previous mapping has {} vertices and {} costs, but the network has {n} vertices",
                    migration.block_of.len(),
                    migration.cost.len()
                )));
            }
            let outside = |b: &&u32| **b as usize >= k;
            if let Some(b) = migration.block_of.iter().flatten().find(outside) {
                return Err(Error::input(format!(
                    "the previous mapping names block {b}, which does not exist"
                )));
            }
            traffic += migration.cost.iter().map(|c| u128::from(*c)).sum::<u128>();
        }
        if traffic * u128::from(self.machine.diameter()) > LARGEST_COST {
            return Err(Error::input(
                "traffic times distance exceeds 2^60; scale one of them down",
            ));
        }
        Ok(())
    }
}
