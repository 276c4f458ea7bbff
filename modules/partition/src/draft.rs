//! Groups of vertices that must be together, and the blocks that pins and `Apart` constraints leave
//! to them. Each constraint is considered alone.

use std::collections::BTreeMap;

use crate::clusters::{distinct, lowered};
use crate::problem::{Constraint, Problem};
use crate::quota::Quantity;

/// Value of a layer for blocks outside all places.
pub(crate) const NO_PLACE: u32 = u32::MAX;

/// A contradiction as it was found, not yet reduced to a minimal one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Clash {
    /// The pins of this group leave no block.
    NoBlock(u32),
    /// An `Apart` constraint contains two vertices of this group.
    ApartTogether(usize, u32),
    /// An `Apart` constraint has more groups than there are places for them.
    TooFew(usize),
    /// A `Count` constraint cannot be satisfied with the number of its vertices.
    Number(usize),
    /// The vertices that must be in these blocks exceed their limit.
    OverLimit(Quantity, Vec<u32>),
    /// A place of a `Count` constraint needs more vertices than are allowed in it.
    BelowLimit(usize, Vec<u32>),
    /// This group alone exceeds the limit of every place that it is allowed in.
    TooLarge(Quantity, u32),
}

/// Groups, identified by their first vertex, with the blocks that pins leave to them.
pub(crate) struct Draft {
    pub(crate) root: Vec<u32>,
    /// Index into `sets`, by root.
    pub(crate) set: Vec<u32>,
    /// Sets of blocks, each in ascending order. The first one contains all blocks.
    pub(crate) sets: Vec<Vec<u32>>,
}

impl Draft {
    pub(crate) fn new(problem: &Problem<'_>, active: &[usize]) -> Self {
        let (n, k) = (problem.graph.vertices(), problem.machine.len());
        let root = problem.groups_by(active.iter().map(|&index| &problem.constraints[index]));
        let mut sets = Sets::new(k);
        let mut set = vec![0; n];
        // One rule often pins many consecutive vertices to the same shared blocks.
        let mut last: Option<(*const u32, u32)> = None;
        for &index in active {
            if let Constraint::Pin { vertex, blocks } = &problem.constraints[index] {
                let here = match last {
                    Some((seen, known)) if seen == blocks.as_ptr() => known,
                    _ => sets.number(blocks),
                };
                last = Some((blocks.as_ptr(), here));
                let place = &mut set[root[*vertex as usize] as usize];
                *place = sets.intersection(*place, here);
            }
        }
        for &index in active {
            let Constraint::Apart { vertices, places } = &problem.constraints[index] else {
                continue;
            };
            // Two vertices of a group are in one block. It must be outside these places.
            let layer = layer(places, k);
            let outside = (0..k as u32).filter(|&b| layer[b as usize] == NO_PLACE);
            let outside: Vec<u32> = outside.collect();
            if outside.is_empty() {
                continue;
            }
            let outside = sets.number(&outside);
            for root in repeated_roots(vertices, &root) {
                let place = &mut set[root as usize];
                *place = sets.intersection(*place, outside);
            }
        }
        Self {
            root,
            set,
            sets: sets.list,
        }
    }

    /// Returns the blocks that the group of a vertex is allowed in.
    pub(crate) fn open(&self, v: u32) -> &[u32] {
        &self.sets[self.set[self.root[v as usize] as usize] as usize]
    }
}

/// Returns, in ascending order, the roots that several different vertices of the list have. `root`
/// contains the root of each vertex.
pub(crate) fn repeated_roots(vertices: &[u32], root: &[u32]) -> Vec<u32> {
    let mut roots = lowered(&distinct(vertices), root);
    roots.sort_unstable();
    let runs = roots.chunk_by(|a, b| a == b).filter(|run| run.len() > 1);
    runs.map(|run| run[0]).collect()
}

/// Returns the first block of the place of each block, and [`NO_PLACE`] for blocks outside all
/// places. Without places, each block is a place. Panics if a place contains a block that is not
/// less than `k`.
pub(crate) fn layer(places: &[Vec<u32>], k: usize) -> Vec<u32> {
    if places.is_empty() {
        return (0..k as u32).collect();
    }
    let mut layer = vec![NO_PLACE; k];
    for place in places {
        let first = place.iter().min();
        for &b in place {
            layer[b as usize] = *first.unwrap_or(&b);
        }
    }
    layer
}

/// Distinct sets of blocks, identified by number.
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

    /// Returns the number of the intersection of the sets with the numbers `a` and `b`. Adds the
    /// intersection if it is new.
    fn intersection(&mut self, a: u32, b: u32) -> u32 {
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
