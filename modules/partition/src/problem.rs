//! The mapping problem: a graph, a machine, constraints and an objective.

use std::sync::Arc;

use crate::clusters::distinct;
use crate::error::Error;
use crate::graph::Graph;
use crate::machine::{Block, Machine};
use crate::union::{find, join};

/// A rule for a mapping: hard, except [`Constraint::Prefer`]. A constraint is identified by its
/// index in the list, so that the caller can report its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// The vertex must be in one of these blocks.
    Pin {
        /// Vertex to pin.
        vertex: u32,
        /// Allowed blocks. Shared, because one rule often pins many vertices.
        blocks: Arc<[u32]>,
    },
    /// All vertices must be in one block, as for collocated processes.
    Together {
        /// Vertices to keep together.
        vertices: Vec<u32>,
    },
    /// No two of the vertices may be in the same place. Blocks outside all places are not limited.
    Apart {
        /// Vertices to keep apart.
        vertices: Vec<u32>,
        /// Disjoint groups of blocks, for example the blocks of each host. If empty, each block is
        /// a place.
        places: Vec<Vec<u32>>,
    },
    /// The vertices should be in one block, as if consecutive ones had a channel of this traffic.
    /// This guides the search. The reported cost contains only real channels.
    Prefer {
        /// Vertices to place close to each other.
        vertices: Vec<u32>,
        /// Strength, in units of traffic.
        weight: u64,
    },
    /// Each place must hold from `least` to `most` of the vertices.
    Count {
        /// Vertices to count, for example those of one kind.
        vertices: Vec<u32>,
        /// Disjoint groups of blocks: single blocks, or the blocks of each host. If empty, nothing
        /// is limited.
        places: Vec<Vec<u32>>,
        /// Smallest number in each place. It must not exceed `most`.
        least: u32,
        /// Largest number in each place.
        most: u32,
    },
    /// The vertices in these blocks need at most `most` bytes together, for example those on one
    /// host.
    Memory {
        /// Blocks that share the memory.
        blocks: Vec<u32>,
        /// Available memory in bytes.
        most: u64,
    },
}

/// Quantity to minimise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// Sum over channels of traffic times distance.
    #[default]
    Cost,
    /// Largest traffic that leaves one host, then the cost.
    Bottleneck,
    /// Largest load of a block relative to its speed, then the cost.
    LargestLoad,
    /// Number of channels between different blocks.
    RemoteChannels,
}

/// Previous mapping and the cost of changing it.
#[derive(Clone, Copy, Debug)]
pub struct Migration<'a> {
    /// Present block of each vertex; `None` for a new vertex.
    pub block_of: &'a [Option<u32>],
    /// Cost of moving each vertex over distance 1, in units of traffic.
    pub cost: &'a [u64],
}

/// Largest accepted product of total traffic and largest distance.
pub(crate) const LARGEST_COST: u128 = 1 << 60;

/// A mapping problem. It borrows its parts and changes none of them.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Network to map.
    pub graph: &'a Graph,
    /// Machine to map onto.
    pub machine: &'a Machine,
    /// Rules for the mapping.
    pub constraints: &'a [Constraint],
    /// Quantity to minimise.
    pub objective: Objective,
    /// Tolerance of the balance limit, as a fraction: a block may hold (1 + imbalance) times its
    /// share of the load. [`Problem::load_bounds`] describes the rounding.
    pub imbalance: f64,
    /// Previous mapping, if moving a vertex has a cost.
    pub migration: Option<Migration<'a>>,
}

impl<'a> Problem<'a> {
    /// Creates a problem without constraints that minimises the cost with 3% imbalance.
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

    /// Returns the largest load that each block may hold within the balance limit.
    ///
    /// It is the share of the block in proportion to its speed, rounded up to a multiple of the
    /// greatest common divisor of all loads, plus the tolerance. Because of this rounding, the
    /// bounds do not depend on the unit of the loads. The sum is rounded down to an integer. No
    /// bound exceeds a quarter of the largest `u64`.
    ///
    /// # Panics
    ///
    /// May panic if the imbalance is not in the range that [`check`](Self::check) accepts.
    #[must_use]
    pub fn load_bounds(&self) -> Vec<u64> {
        let total = u128::from(self.graph.total_load());
        let step = u128::from(self.graph.common_load()).max(1);
        let speed = u128::from(self.machine.total_speed());
        // In millionths, so that 100 plus 3% is 103. With a binary fraction it could be 102.
        let millionths = 1_000_000 + (self.imbalance * 1e6).round() as u128;
        let bound = |block: &Block| {
            let share = (total * u128::from(block.speed)).div_ceil(speed * step) * step;
            (share * millionths / 1_000_000).min(u128::from(u64::MAX >> 2)) as u64
        };
        self.machine.blocks().iter().map(bound).collect()
    }

    /// Returns the group of each vertex. A group consists of vertices that must share a block, and
    /// its smallest vertex identifies it.
    ///
    /// # Panics
    ///
    /// Panics if a [`Constraint::Together`] of several vertices names a vertex that does not exist.
    /// [`check`](Self::check) reports such a vertex.
    #[must_use]
    pub fn groups(&self) -> Vec<u32> {
        self.groups_by(self.constraints.iter())
    }

    /// Returns the groups that result from these constraints alone. Panics as
    /// [`groups`](Self::groups) does.
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

    /// Checks what the types do not ensure: indices, lengths, and sums that could overflow.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if a constraint names a vertex or block that does not exist, or if a block
    /// occurs twice in several places. The message contains the index of the constraint.
    ///
    /// Also if the imbalance is not from 0 to 1000, if the lists of the previous mapping do not
    /// have one entry per vertex, or if it names a block that does not exist. Also if the traffic
    /// times the largest distance exceeds 2^60. Costs of migration count as traffic here. So does
    /// the weight of a preference, once for each of its vertices.
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
