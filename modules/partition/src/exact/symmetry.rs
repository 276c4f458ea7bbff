//! Symmetries: blocks that can be exchanged, and vertices that can be exchanged.

use std::collections::BTreeMap;

use crate::instance::Instance;
use crate::machine::Node;

/// Use and equivalence of the groups of the machine. Among equivalent unused groups, only the first
/// is tried.
pub(crate) struct Blocks<'a> {
    nodes: &'a [Node],
    /// Class of each node of the machine. Nodes of equal classes have equal subtrees.
    class: Vec<u32>,
    leaf: Vec<u32>,
    /// Number of vertices below each node.
    used: Vec<i64>,
}

impl<'a> Blocks<'a> {
    pub(crate) fn new(inst: &'a Instance) -> Self {
        let nodes = inst.shared.machine.nodes();
        let (k, d) = (inst.k(), inst.dims());
        let shared = &inst.shared;
        let mut class = vec![0; nodes.len()];
        let mut leaf = vec![0; k];
        let mut known: BTreeMap<Vec<i64>, u32> = BTreeMap::new();
        // Children have larger numbers than their parents.
        for id in (0..nodes.len()).rev() {
            let node = &nodes[id];
            let mut key = vec![i64::from(node.distance), node.children.len() as i64];
            if let ([], [block]) = (&node.children[..], &node.blocks[..]) {
                let b = *block as usize;
                leaf[b] = id as u32;
                let sums = || (0..d).map(|i| shared.at(b, i));
                key.extend(sums().map(|at| shared.upper[at]));
                key.extend(sums().filter_map(|at| shared.lower.get(at)));
                key.extend(shared.sets.iter().map(|set| i64::from(set[b])));
            } else {
                key.extend(node.children.iter().map(|&c| i64::from(class[c as usize])));
            }
            let next = known.len() as u32;
            class[id] = *known.entry(key).or_insert(next);
        }
        if shared.has_places() {
            // If blocks share limits, each block is equivalent only to itself.
            class = (0..nodes.len() as u32).collect();
        }
        Self {
            nodes,
            class,
            leaf,
            used: vec![0; nodes.len()],
        }
    }

    /// Counts a vertex that enters a block (`sign` is 1) or leaves it (-1).
    pub(crate) fn count(&mut self, block: u32, sign: i64) {
        let mut node = self.leaf[block as usize];
        while node != u32::MAX {
            self.used[node as usize] += sign;
            node = self.nodes[node as usize].parent;
        }
    }

    /// Returns true if the block itself, or an unused group that contains it, comes after an
    /// equivalent unused sibling. Returns false for a block with a vertex.
    pub(crate) fn has_earlier_equivalent(&self, block: u32) -> bool {
        let mut node = self.leaf[block as usize];
        loop {
            let parent = self.nodes[node as usize].parent;
            if self.used[node as usize] > 0 || parent == u32::MAX {
                return false;
            }
            let alike = |&s: &u32| {
                self.used[s as usize] == 0 && self.class[s as usize] == self.class[node as usize]
            };
            let siblings = &self.nodes[parent as usize].children;
            if siblings.iter().take_while(|&&s| s != node).any(alike) {
                return true;
            }
            node = parent;
        }
    }
}

/// Returns the class of each vertex. Vertices of a class can be exchanged, because they have the
/// same sizes, pins, separation, neighbours and weights. Identical workers of a farm are an
/// example.
pub(crate) fn twins(inst: &Instance) -> Vec<u32> {
    let mut known = BTreeMap::new();
    (0..inst.len() as u32)
        .map(|v| {
            let mut row: Vec<(u32, i64)> = inst.row(v).collect();
            row.sort_unstable();
            let set = inst.set.get(v as usize).copied().unwrap_or(0);
            let apart = inst.apart.get(v as usize).cloned().unwrap_or_default();
            let next = known.len() as u32;
            *known
                .entry((inst.size_of(v).to_vec(), set, apart, row))
                .or_insert(next)
        })
        .collect()
}
