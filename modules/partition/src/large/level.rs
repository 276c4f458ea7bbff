//! One level of a large instance: a graph with loads, and what vertices are held to.

use std::ops::Deref;
use std::sync::Arc;

use super::constrained::Constrained;
use crate::clusters::summed;
use crate::csr::Csr;
use crate::instance::Instance;

/// A graph with loads: 12 bytes a vertex and 24 an edge; the finest level has all of it from the
/// instance.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) graph: Csr,
    pub(crate) load: Arc<Vec<i64>>,
    /// What vertices are held to beyond their load.
    pub(crate) held: Option<Constrained>,
}

/// A level is read as the graph that it is.
impl Deref for Level {
    type Target = Csr;

    fn deref(&self) -> &Csr {
        &self.graph
    }
}

impl Level {
    /// The finest level.
    pub(crate) fn of(inst: &Instance) -> Self {
        let load = match inst.dims() {
            1 => Arc::clone(&inst.size),
            _ => Arc::new((0..inst.len() as u32).map(|v| inst.load(v)).collect()),
        };
        Self {
            graph: inst.graph.clone(),
            load,
            held: Constrained::of(inst),
        }
    }

    /// Reads the rows of some vertices, one line of memory after the other, so that they are at
    /// hand when they are visited in another order: memory is several times as fast in its own.
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

    /// The first vertices, and the arcs among them; held to nothing.
    pub(crate) fn first(&self, count: usize) -> Self {
        let count = count.min(self.len());
        Self {
            graph: self.stretch(0..count as u32),
            load: self.load[..count].to_vec().into(),
            held: None,
        }
    }

    /// The level with the vertices of each cluster made one; `map` names the cluster of each.
    pub(crate) fn contract(&self, map: &[u32], clusters: usize) -> Self {
        let held = self.held.as_ref();
        Self {
            graph: self.graph.contract(map, clusters, &[]),
            load: summed(map, clusters, &self.load, 1),
            held: held.map(|held| held.contract(map, clusters)),
        }
    }
}
