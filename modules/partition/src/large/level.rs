//! One level of a large instance: a graph held small, and its contraction.

use std::ops::Range;
use std::sync;

use super::held::Held;
use crate::instance::{Instance, members};

/// One end of an edge, as seen from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arc {
    /// The vertex at the other end.
    pub(crate) to: u32,
    pub(crate) weight: i64,
}

/// A graph with loads in compressed rows: 12 bytes a vertex and 24 an edge; the finest level has
/// all of it from the instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    pub(crate) offsets: sync::Arc<Vec<u32>>,
    pub(crate) targets: sync::Arc<Vec<u32>>,
    pub(crate) weights: sync::Arc<Vec<i64>>,
    pub(crate) load: sync::Arc<Vec<i64>>,
    /// What vertices are held to beyond their load.
    pub(crate) held: Option<sync::Arc<Held>>,
}

impl Level {
    /// The finest level.
    pub(crate) fn of(inst: &Instance) -> Self {
        let load = match inst.dims() {
            1 => sync::Arc::clone(&inst.size),
            _ => sync::Arc::new((0..inst.len() as u32).map(|v| inst.load(v)).collect()),
        };
        Self {
            offsets: sync::Arc::clone(&inst.offsets),
            targets: sync::Arc::clone(&inst.targets),
            weights: sync::Arc::clone(&inst.weights),
            load,
            held: Held::of(inst),
        }
    }

    /// After so many vertices without load and row the given ones, each with its load and its ends.
    pub(crate) fn with_fixed<Ends: Iterator<Item = (u32, i64)>>(
        fixed: usize,
        rows: impl Iterator<Item = (i64, Ends)>,
    ) -> Self {
        let mut offsets = vec![0; fixed + 1];
        let mut load = vec![0; fixed];
        let (mut targets, mut weights) = (Vec::new(), Vec::new());
        for (own, row) in rows {
            load.push(own);
            for (to, weight) in row {
                targets.push(to);
                weights.push(weight);
            }
            offsets.push(targets.len() as u32);
        }
        Self {
            offsets: offsets.into(),
            targets: targets.into(),
            weights: weights.into(),
            load: load.into(),
            held: None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.load.len()
    }

    /// Where the row of a vertex stands.
    #[inline]
    pub(crate) fn range(&self, v: u32) -> Range<usize> {
        self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize
    }

    #[inline]
    pub(crate) fn row(&self, v: u32) -> impl ExactSizeIterator<Item = Arc> + '_ {
        self.arcs_at(self.range(v))
    }

    /// The arcs at some places, as in a part of a row.
    #[inline]
    pub(crate) fn arcs_at(&self, at: Range<usize>) -> impl ExactSizeIterator<Item = Arc> + '_ {
        let weights = &self.weights[at.clone()];
        let arc = |(&to, &weight)| Arc { to, weight };
        self.targets[at].iter().zip(weights).map(arc)
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

    /// The neighbours of a vertex.
    #[inline]
    pub(crate) fn around(&self, v: u32) -> &[u32] {
        &self.targets[self.range(v)]
    }

    /// Twice the edges.
    pub(crate) fn arcs(&self) -> usize {
        self.targets.len()
    }

    pub(crate) fn total_load(&self) -> i64 {
        self.load.iter().sum()
    }

    /// The first vertices, and the arcs among them; held to nothing.
    pub(crate) fn first(&self, count: usize) -> Self {
        let count = count.min(self.len());
        let mut offsets = vec![0];
        let (mut targets, mut weights) = (Vec::new(), Vec::new());
        for v in 0..count as u32 {
            for arc in self.row(v).filter(|arc| (arc.to as usize) < count) {
                targets.push(arc.to);
                weights.push(arc.weight);
            }
            offsets.push(targets.len() as u32);
        }
        Self {
            offsets: offsets.into(),
            targets: targets.into(),
            weights: weights.into(),
            load: self.load[..count].to_vec().into(),
            held: None,
        }
    }

    /// The graph with the vertices of each cluster made one; `map` names the cluster of each
    /// vertex. Time and memory linear in vertices and edges: no hashing, one array of places.
    pub(crate) fn contract(&self, map: &[u32], clusters: usize) -> Self {
        let (start, members) = members(map, clusters);
        let mut offsets = Vec::with_capacity(clusters + 1);
        let mut targets: Vec<u32> = Vec::with_capacity(self.arcs() / 2);
        let mut weights: Vec<i64> = Vec::with_capacity(self.arcs() / 2);
        let mut loads = Vec::with_capacity(clusters);
        offsets.push(0);
        // The row being built, and where in it the arc to each cluster stands, if it is there.
        let (mut ends, mut sums): (Vec<u32>, Vec<i64>) = (Vec::new(), Vec::new());
        let mut place = vec![0_u32; clusters];
        for c in 0..clusters {
            // What stays inside is summed in front like any other arc, and left out.
            ends.clear();
            sums.clear();
            ends.push(c as u32);
            sums.push(0);
            place[c] = 0;
            let mut load = 0;
            for &v in &members[start[c] as usize..start[c + 1] as usize] {
                load += self.load[v as usize];
                for arc in self.row(v) {
                    let to = map[arc.to as usize];
                    let at = place[to as usize] as usize;
                    if ends.get(at) == Some(&to) {
                        sums[at] += arc.weight;
                    } else {
                        place[to as usize] = ends.len() as u32;
                        ends.push(to);
                        sums.push(arc.weight);
                    }
                }
            }
            targets.extend_from_slice(&ends[1..]);
            weights.extend_from_slice(&sums[1..]);
            loads.push(load);
            offsets.push(targets.len() as u32);
        }
        targets.shrink_to_fit();
        weights.shrink_to_fit();
        Self {
            offsets: offsets.into(),
            targets: targets.into(),
            weights: weights.into(),
            load: loads.into(),
            held: self
                .held
                .as_ref()
                .map(|held| sync::Arc::new(held.contract(map, clusters))),
        }
    }
}
