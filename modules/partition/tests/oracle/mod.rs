//! Owned data of a problem, and all its mappings.

use graphmap_partition::{Channel, Constraint, Graph, Tree};

/// Owned data of a problem.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) load: Vec<u64>,
    pub(crate) memory: Vec<u64>,
    pub(crate) channels: Vec<(u32, u32, u64)>,
    pub(crate) tree: Tree,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) imbalance: f64,
}

impl Case {
    /// Returns the network of the problem.
    pub(crate) fn graph(&self) -> Graph {
        let list: Vec<Channel> = self
            .channels
            .iter()
            .map(|&(from, to, traffic)| Channel { from, to, traffic })
            .collect();
        let graph = Graph::new(self.load.clone(), &list).expect("sound");
        graph.with_memory(self.memory.clone()).expect("sound")
    }
}

/// Returns all mappings of n vertices onto k blocks.
pub(crate) fn mappings(n: usize, k: usize) -> impl Iterator<Item = Vec<u32>> {
    (0..k.pow(n as u32)).map(move |mut code| {
        let digit = |_| {
            let block = code % k;
            code /= k;
            block as u32
        };
        (0..n).map(digit).collect()
    })
}
