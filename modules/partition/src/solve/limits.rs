//! Load bounds that are raised only where necessary, in terms of the vertices of the graph.

use std::sync::Arc;

use crate::graph::Graph;
use crate::instance::Instance;

/// Load bounds that are raised only where necessary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest load of each block.
    pub bounds: Vec<u64>,
    /// Load that each vertex counts with. It is less than the load of the vertex if that alone
    /// exceeds the bound of a block. Empty if all vertices count with their own load.
    pub loads: Vec<u64>,
    /// Heavy vertices that are restricted to some of the blocks that the rules allow, with these
    /// blocks: the fast ones that no rule overfills.
    pub confined: Vec<(u32, Vec<u32>)>,
}

impl Limits {
    /// Returns the load that a vertex counts with.
    ///
    /// # Panics
    ///
    /// Panics if the graph has no such vertex.
    #[must_use]
    pub fn load(&self, graph: &Graph, vertex: u32) -> u64 {
        let own = || graph.load(vertex);
        self.loads.get(vertex as usize).copied().unwrap_or_else(own)
    }

    /// Returns true if a mapping is within these bounds, and each confined vertex is in one of its
    /// blocks.
    ///
    /// # Panics
    ///
    /// May panic if `block_of` does not have one block for each vertex of the graph. Panics if a
    /// block in `block_of` has no bound.
    #[must_use]
    pub fn keeps(&self, graph: &Graph, block_of: &[u32]) -> bool {
        let mut loads = vec![0; self.bounds.len()];
        for (v, &b) in (0..).zip(block_of) {
            loads[b as usize] += self.load(graph, v);
        }
        let open = |(v, blocks): &(u32, Vec<u32>)| blocks.contains(&block_of[*v as usize]);
        let mut pairs = loads.iter().zip(&self.bounds);
        pairs.all(|(load, bound)| load <= bound) && self.confined.iter().all(open)
    }

    /// Returns the largest load of each block under a mapping within these bounds, where heavy
    /// vertices count with their full load. This is the bound of the block, plus the part of the
    /// load of its vertices that [`load`](Self::load) does not count.
    ///
    /// # Panics
    ///
    /// Panics if `block_of` has more entries than the graph has vertices, or if a block in
    /// `block_of` has no bound.
    #[must_use]
    pub fn allowed(&self, graph: &Graph, block_of: &[u32]) -> Vec<u64> {
        let mut allowed = self.bounds.clone();
        for (v, &b) in (0..).zip(block_of) {
            allowed[b as usize] += graph.load(v);
        }
        // The load of a heavy group counts at its first vertex only, so all additions come first.
        for (v, &b) in (0..).zip(block_of) {
            allowed[b as usize] -= self.load(graph, v);
        }
        allowed
    }
}

/// Returns the limits of `inst`, for the vertices of the graph. `wanted` is the same instance with
/// the requested bounds and all loads. `group` contains the vertex of the instance for each vertex
/// of the graph, and is empty if they are the same.
pub(super) fn of(inst: &Instance, wanted: &Instance, group: &[u32], graph: &Graph) -> Limits {
    let bounds = (0..inst.k()).map(|b| inst.load_bound(b).max(0) as u64);
    let mut limits = Limits {
        bounds: bounds.collect(),
        loads: Vec::new(),
        confined: Vec::new(),
    };
    if Arc::ptr_eq(&inst.size, &wanted.size) {
        return limits;
    }
    let mut seen = vec![false; inst.len()];
    for v in 0..graph.vertices() as u32 {
        let at = group.get(v as usize).map_or(v, |&g| g);
        let first = !std::mem::replace(&mut seen[at as usize], true);
        // The load of a heavy group counts at its first vertex only.
        limits.loads.push(match inst.load(at) == wanted.load(at) {
            true => graph.load(v),
            false if first => inst.load(at) as u64,
            false => 0,
        });
        if first && inst.set.get(at as usize) != wanted.set.get(at as usize) {
            let open = (0..inst.k() as u32).filter(|&b| inst.is_allowed(at, b));
            limits.confined.push((v, open.collect()));
        }
    }
    limits
}
