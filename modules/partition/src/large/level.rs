//! One level of a large instance: a graph with loads, and the constraints of its vertices.

use std::ops::Deref;
use std::sync::Arc;

use super::constrained::VertexConstraints;
use crate::clusters::summed;
use crate::csr::Csr;
use crate::instance::Instance;

/// A graph with loads. It takes 12 bytes per vertex and 24 bytes per edge. The finest level shares
/// its arrays with the instance.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) graph: Csr,
    pub(crate) load: Arc<Vec<i64>>,
    /// Constraints of the vertices other than their load.
    pub(crate) held: Option<VertexConstraints>,
}

/// A level dereferences to its graph.
impl Deref for Level {
    type Target = Csr;

    fn deref(&self) -> &Csr {
        &self.graph
    }
}

impl Level {
    /// Returns the finest level of an instance.
    pub(crate) fn of(inst: &Instance) -> Self {
        let load = match inst.dims() {
            1 => Arc::clone(&inst.size),
            _ => Arc::new((0..inst.len() as u32).map(|v| inst.load(v)).collect()),
        };
        Self {
            graph: inst.graph.clone(),
            load,
            held: VertexConstraints::of(inst),
        }
    }

    /// Reads the rows of the vertices from `from` to before `to` in memory order, to load them into
    /// the cache. They are visited in another order later, and sequential reads are several times
    /// as fast.
    pub(crate) fn read_ahead(&self, from: usize, to: usize) {
        const LINE: usize = 64;
        let rows = self.offsets[from] as usize..self.offsets[to] as usize;
        let targets = self.targets[rows.clone()].iter().step_by(LINE / 4);
        let weights = self.weights[rows].iter().step_by(LINE / 8);
        let sum = targets.fold(0, |a, &t| a ^ i64::from(t)) ^ weights.fold(0, |a, &w| a ^ w);
        std::hint::black_box(sum);
    }

    pub(crate) fn total_load(&self) -> i64 {
        self.load.iter().sum()
    }

    /// Returns the level of the first `count` vertices, or of all if there are fewer, and the arcs
    /// among them, without constraints.
    pub(crate) fn first(&self, count: usize) -> Self {
        let count = count.min(self.len());
        Self {
            graph: self.stretch(0..count as u32),
            load: self.load[..count].to_vec().into(),
            held: None,
        }
    }

    /// Contracts each cluster to one vertex. `map` contains the cluster of each vertex.
    pub(crate) fn contract(&self, map: &[u32], clusters: usize) -> Self {
        let held = self.held.as_ref();
        Self {
            graph: self.graph.contract(map, clusters, &[]),
            load: summed(map, clusters, &self.load, 1),
            held: held.map(|held| held.contract(map, clusters)),
        }
    }
}
