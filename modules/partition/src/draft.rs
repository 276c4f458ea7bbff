//! Which vertices lie together and which blocks the pins leave them: what follows from the caller's
//! constraints one by one.

use std::collections::BTreeMap;

use crate::clusters::{distinct, lowered};
use crate::problem::{Constraint, Problem};
use crate::quota::Of;

/// No place for those who keep apart.
pub(crate) const OUTSIDE: u32 = u32::MAX;

/// A contradiction as first met; not yet minimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Clash {
    /// The pins of this group leave no block.
    Nowhere(u32),
    /// An `Apart` constraint holds two vertices of this group.
    ApartTogether(usize, u32),
    /// An `Apart` constraint has more groups than its vertices have places.
    TooFew(usize),
    /// A `Count` constraint cannot be met by the number of its vertices.
    Number(usize),
    /// What must lie in these blocks is more than they hold together.
    Over(Of, Vec<u32>),
    /// Fewer vertices of a `Count` constraint can lie in one of its places than it wants.
    Under(usize, Vec<u32>),
    /// This group alone is more than any place holds in which it may lie.
    Large(Of, u32),
}

/// Groups by their first vertex, with the blocks that the pins leave them.
pub(crate) struct Draft {
    pub(crate) root: Vec<u32>,
    /// By root: which set of blocks.
    pub(crate) set: Vec<u32>,
    /// Sets of blocks, ascending; the first is all.
    pub(crate) sets: Vec<Vec<u32>>,
}

impl Draft {
    pub(crate) fn new(problem: &Problem<'_>, active: &[usize]) -> Self {
        let (n, k) = (problem.graph.vertices(), problem.machine.len());
        let root = problem.groups_by(active.iter().map(|&index| &problem.constraints[index]));
        let mut sets = Sets::new(k);
        let mut set = vec![0; n];
        // One rule says the same of many vertices in a row.
        let mut last: Option<(*const u32, u32)> = None;
        for &index in active {
            if let Constraint::Pin { vertex, blocks } = &problem.constraints[index] {
                let here = match last {
                    Some((seen, known)) if seen == blocks.as_ptr() => known,
                    _ => sets.number(blocks),
                };
                last = Some((blocks.as_ptr(), here));
                let place = &mut set[root[*vertex as usize] as usize];
                *place = sets.meet(*place, here);
            }
        }
        for &index in active {
            let Constraint::Apart { vertices, places } = &problem.constraints[index] else {
                continue;
            };
            // Two of a group lie in one block: nowhere but outside of these places.
            let layer = layer(places, k);
            let outside = (0..k as u32).filter(|&b| layer[b as usize] == OUTSIDE);
            let outside: Vec<u32> = outside.collect();
            if outside.is_empty() {
                continue;
            }
            let outside = sets.number(&outside);
            for root in twice(vertices, &root) {
                let place = &mut set[root as usize];
                *place = sets.meet(*place, outside);
            }
        }
        Self {
            root,
            set,
            sets: sets.list,
        }
    }

    /// The blocks that the group of a vertex may lie in.
    pub(crate) fn open(&self, v: u32) -> &[u32] {
        &self.sets[self.set[self.root[v as usize] as usize] as usize]
    }
}

/// The roots of several of the vertices, ascending.
pub(crate) fn twice(vertices: &[u32], root: &[u32]) -> Vec<u32> {
    let mut roots = lowered(&distinct(vertices), root);
    roots.sort_unstable();
    let runs = roots.chunk_by(|a, b| a == b).filter(|run| run.len() > 1);
    runs.map(|run| run[0]).collect()
}

/// The first block of the place of each block; without places each block is one.
pub(crate) fn layer(places: &[Vec<u32>], k: usize) -> Vec<u32> {
    if places.is_empty() {
        return (0..k as u32).collect();
    }
    let mut layer = vec![OUTSIDE; k];
    for place in places {
        let first = place.iter().min();
        for &b in place {
            layer[b as usize] = *first.unwrap_or(&b);
        }
    }
    layer
}

/// Sets of blocks by number, each but once.
struct Sets {
    list: Vec<Vec<u32>>,
    known: BTreeMap<Vec<u32>, u32>,
    met: BTreeMap<(u32, u32), u32>,
}

impl Sets {
    fn new(k: usize) -> Self {
        let all: Vec<u32> = (0..k as u32).collect();
        Self {
            list: vec![all.clone()],
            known: BTreeMap::from([(all, 0)]),
            met: BTreeMap::new(),
        }
    }

    fn number(&mut self, blocks: &[u32]) -> u32 {
        let blocks = distinct(blocks);
        if let Some(&known) = self.known.get(&blocks) {
            return known;
        }
        let next = self.list.len() as u32;
        self.known.insert(blocks.clone(), next);
        self.list.push(blocks);
        next
    }

    /// The set of the blocks in both.
    fn meet(&mut self, a: u32, b: u32) -> u32 {
        if a == 0 || a == b {
            return b;
        }
        if let Some(&known) = self.met.get(&(a, b)) {
            return known;
        }
        let other = &self.list[b as usize];
        let both = self.list[a as usize].iter().copied();
        let both: Vec<u32> = both.filter(|x| other.binary_search(x).is_ok()).collect();
        let met = self.number(&both);
        self.met.insert((a, b), met);
        met
    }
}
