//! Limits of blocks in a common form: load, memory, slots, and vertices of a constraint. Each
//! limits the sum over the vertices in a block, or in a place. A place consists of blocks that
//! share a limit, such as the blocks of a host.

use crate::clusters::distinct;
use crate::machine::Block;
use crate::problem::{Constraint, Problem};

/// Value for no limit. Sums of a few of them do not overflow.
pub(crate) const NO_LIMIT: i64 = i64::MAX / 4;

/// Most vertices that are kept apart as pairs. More of them are limited to one per place, because
/// the number of pairs is quadratic.
const PAIRS: usize = 64;

/// Limits on one quantity.
#[derive(Debug)]
pub(crate) struct Quota {
    pub(crate) of: Quantity,
    /// First block of the place of each block.
    pub(crate) place: Vec<u32>,
    /// Upper limit of each place, at its first block. 0 at its other blocks.
    pub(crate) upper: Vec<i64>,
    /// Lower limit of each place in the same form. Empty if there is none.
    pub(crate) lower: Vec<i64>,
    /// Vertices that have some of the quantity, ascending. Empty if all vertices have some.
    among: Vec<u32>,
}

/// A limited quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Load,
    /// Memory of single blocks.
    Memory,
    /// Memory of places.
    Shared,
    Slots,
    /// Vertices of the constraint with this index.
    Vertices(usize),
}

impl Quota {
    /// Returns all quotas: first the load, then the limits of single blocks and of the active
    /// constraints. `active` contains the indices of these constraints.
    pub(crate) fn all(problem: &Problem<'_>, active: &[usize]) -> Vec<Self> {
        let mut load = Self::free(Quantity::Load, problem.machine.len());
        load.upper = problem.load_bounds().into_iter().map(whole).collect();
        let mut quotas = vec![load];
        let memory = |b: &Block| b.memory.filter(|_| problem.graph.has_memory());
        quotas.extend(Self::own(Quantity::Memory, problem, memory));
        quotas.extend(Self::shared(problem, active));
        let slots = |b: &Block| b.slots.map(u64::from);
        quotas.extend(Self::own(Quantity::Slots, problem, slots));
        let vertices = active.iter().filter_map(|&i| Self::vertices(problem, i));
        quotas.extend(vertices);
        quotas
    }

    /// Returns a quota without limits for `k` blocks, in which each block is a place.
    fn free(of: Quantity, k: usize) -> Self {
        Self {
            of,
            place: (0..k as u32).collect(),
            upper: vec![NO_LIMIT; k],
            lower: Vec::new(),
            among: Vec::new(),
        }
    }

    /// Makes a place of some blocks, with its own limits. Does nothing if there are no blocks.
    fn limit(&mut self, blocks: &[u32], least: i64, most: i64) {
        let Some(&first) = blocks.iter().min() else {
            return;
        };
        for &b in blocks {
            self.place[b as usize] = first;
            self.upper[b as usize] = 0;
        }
        self.upper[first as usize] = most.min(NO_LIMIT);
        if least > 0 {
            self.lower.resize(self.place.len(), 0);
            self.lower[first as usize] = least;
        }
    }

    /// Returns the quota of limits of single blocks, or `None` if no block has one.
    fn own(
        of: Quantity,
        problem: &Problem<'_>,
        most: impl Fn(&Block) -> Option<u64>,
    ) -> Option<Self> {
        let blocks = problem.machine.blocks();
        let upper = blocks.iter().map(|b| most(b).map_or(NO_LIMIT, whole));
        blocks.iter().any(|b| most(b).is_some()).then(|| Self {
            upper: upper.collect(),
            ..Self::free(of, blocks.len())
        })
    }

    /// Returns the quotas of memory that blocks share, or none if vertices have no memory sizes.
    /// Places that overlap are in different quotas.
    fn shared(problem: &Problem<'_>, active: &[usize]) -> Vec<Self> {
        let mut quotas: Vec<Self> = Vec::new();
        if !problem.graph.has_memory() {
            return quotas;
        }
        for &i in active {
            let Constraint::Memory { blocks, most } = &problem.constraints[i] else {
                continue;
            };
            let free = |q: &Self| blocks.iter().all(|&b| q.upper[b as usize] == NO_LIMIT);
            let at = quotas.iter().position(free).unwrap_or_else(|| {
                quotas.push(Self::free(Quantity::Shared, problem.machine.len()));
                quotas.len() - 1
            });
            quotas[at].limit(blocks, 0, whole(*most));
        }
        quotas
    }

    fn vertices(problem: &Problem<'_>, index: usize) -> Option<Self> {
        let mut quota = Self::free(Quantity::Vertices(index), problem.machine.len());
        let vertices = match &problem.constraints[index] {
            Constraint::Count {
                vertices,
                places,
                least,
                most,
            } => {
                for place in places {
                    quota.limit(place, i64::from(*least), i64::from(*most));
                }
                vertices
            }
            Constraint::Apart { vertices, places } if vertices.len() > PAIRS => {
                if places.is_empty() {
                    quota.upper.fill(1);
                }
                for place in places {
                    quota.limit(place, 0, 1);
                }
                vertices
            }
            _ => return None,
        };
        quota.among = distinct(vertices);
        Some(quota)
    }

    /// Calls `visit` for each vertex that can have some of the quantity, with its amount, which can
    /// be 0.
    pub(crate) fn each(&self, problem: &Problem<'_>, mut visit: impl FnMut(u32, i64)) {
        let graph = problem.graph;
        let all = 0..graph.vertices() as u32;
        match self.of {
            Quantity::Load => all.for_each(|v| visit(v, whole(graph.load(v)))),
            Quantity::Memory | Quantity::Shared => {
                all.for_each(|v| visit(v, whole(graph.memory(v))))
            }
            Quantity::Slots => all.for_each(|v| visit(v, 1)),
            Quantity::Vertices(_) => self.among.iter().for_each(|&v| visit(v, 1)),
        }
    }

    pub(crate) fn total(&self, problem: &Problem<'_>) -> i64 {
        if self.of == Quantity::Load {
            return whole(problem.graph.total_load());
        }
        let mut total = 0;
        self.each(problem, |_, size| total += size);
        total
    }

    /// Returns true if the quota has no lower limit, and its total does not exceed any upper limit.
    /// Then every mapping satisfies the limits.
    pub(crate) fn is_never_exceeded(&self, problem: &Problem<'_>) -> bool {
        let firsts = (0..).zip(&self.place).filter(|(b, place)| b == *place);
        let least = firsts.map(|(b, _)| self.upper[b as usize]).min();
        self.lower.is_empty() && least.is_none_or(|upper| self.total(problem) <= upper)
    }

    /// Returns true if blocks share limits.
    pub(crate) fn is_grouped(&self) -> bool {
        self.place.iter().enumerate().any(|(b, &p)| b as u32 != p)
    }

    /// Returns the places of these blocks, identified by their first blocks, in ascending order.
    pub(crate) fn places(&self, blocks: &[u32]) -> Vec<u32> {
        let places: Vec<u32> = blocks.iter().map(|&b| self.place[b as usize]).collect();
        distinct(&places)
    }

    /// Returns the joint upper limit of the places of these blocks, or `None` if one has no limit.
    pub(crate) fn room(&self, blocks: &[u32]) -> Option<i64> {
        self.places(blocks).iter().try_fold(0_i64, |sum, &p| {
            let upper = self.upper[p as usize];
            (upper < NO_LIMIT).then(|| sum.saturating_add(upper))
        })
    }
}

/// Returns true if these vertices are kept apart as pairs, not by a quota.
pub(crate) fn by_pairs(vertices: &[u32]) -> bool {
    vertices.len() <= PAIRS
}

fn whole(value: u64) -> i64 {
    value.min(NO_LIMIT as u64) as i64
}
