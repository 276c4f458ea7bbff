//! A part of a network that is to be cut in two.

use std::ops::Deref;
use std::sync::Arc;

use super::coarsen::matching;
use crate::clusters::{lifted, summed};
use crate::csr::Csr;
use crate::random::Random;

/// A graph with one size per vertex, and for some vertices the side they must lie on.
#[derive(Clone, Debug)]
pub(crate) struct Sub {
    pub(crate) graph: Csr,
    pub(crate) size: Arc<Vec<i64>>,
    /// 0 free, 1 first side, 2 second side; empty when all are free.
    pub(crate) fixed: Vec<u8>,
}

/// What the two sides should and may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides {
    /// Size wanted on the first side.
    pub(crate) want: i64,
    /// Most on each side.
    pub(crate) most: [i64; 2],
}

/// It is read as the graph that it is.
impl Deref for Sub {
    type Target = Csr;

    fn deref(&self) -> &Csr {
        &self.graph
    }
}

impl Sub {
    pub(super) fn fixed(&self, v: u32) -> u8 {
        self.fixed.get(v as usize).copied().unwrap_or(0)
    }

    pub(super) fn matching(&self, heaviest: i64, random: &mut Random) -> (Vec<u32>, usize) {
        let may_join = |v, u| self.fixed(v) == self.fixed(u);
        matching(self, |v| self.size[v as usize], heaviest, may_join, random)
    }

    pub(super) fn contract(&self, map: &[u32], clusters: usize) -> Self {
        Self {
            graph: self.graph.contract(map, clusters, &[]),
            size: summed(map, clusters, &self.size, 1),
            fixed: lifted(map, clusters, &self.fixed),
        }
    }
}
