//! One level of a large instance: a graph held small, and its contraction.

use std::sync;

use crate::instance::{Instance, members};

/// One end of an edge, as seen from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arc {
    /// The vertex at the other end.
    pub(crate) to: u32,
    pub(crate) weight: u32,
}

/// A graph with loads in compressed rows: 12 bytes a vertex (on the finest level those of the
/// instance) and 16 an edge.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level {
    pub(crate) offsets: sync::Arc<Vec<u32>>,
    pub(crate) arcs: Vec<Arc>,
    pub(crate) load: sync::Arc<Vec<i64>>,
}

/// Weights are scaled so that all together stay below this: then no sum of them overflows.
const LARGEST_TOTAL: i64 = 1 << 31;

impl Level {
    /// The finest level. Where traffic sums to more than 2^31 it is scaled down, an edge to no less
    /// than 1: the search then sees rounded weights, the judge the true ones.
    pub(crate) fn of(inst: &Instance) -> Self {
        let scaled = scale(
            inst.weights
                .iter()
                .fold(0, |a: i64, &w| a.saturating_add(w)),
        );
        let ends = inst.targets.iter().zip(inst.weights.iter());
        let load = match inst.dims() {
            1 => sync::Arc::clone(&inst.size),
            _ => sync::Arc::new((0..inst.len() as u32).map(|v| inst.load(v)).collect()),
        };
        Self {
            offsets: sync::Arc::clone(&inst.offsets),
            arcs: ends
                .map(|(&to, &w)| Arc {
                    to,
                    weight: scaled(w),
                })
                .collect(),
            load,
        }
    }

    /// After so many vertices without load and row the given ones, each with its load and its ends.
    pub(crate) fn with_fixed<Ends: Iterator<Item = (u32, i64)>>(
        fixed: usize,
        rows: impl Iterator<Item = (i64, Ends)>,
    ) -> Self {
        let mut offsets = vec![0; fixed + 1];
        let mut load = vec![0; fixed];
        let mut ends: Vec<(u32, i64)> = Vec::new();
        for (own, row) in rows {
            load.push(own);
            ends.extend(row);
            offsets.push(ends.len() as u32);
        }
        let scaled = scale(ends.iter().fold(0, |a: i64, e| a.saturating_add(e.1)));
        let arc = |(to, w)| Arc {
            to,
            weight: scaled(w),
        };
        Self {
            offsets: offsets.into(),
            arcs: ends.into_iter().map(arc).collect(),
            load: load.into(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.load.len()
    }

    #[inline]
    pub(crate) fn row(&self, v: u32) -> &[Arc] {
        &self.arcs[self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize]
    }

    pub(crate) fn total_load(&self) -> i64 {
        self.load.iter().sum()
    }

    /// The first vertices, and the arcs among them.
    pub(crate) fn first(&self, count: usize) -> Self {
        let count = count.min(self.len());
        let (mut offsets, mut arcs) = (vec![0], Vec::new());
        for v in 0..count as u32 {
            let inside = |arc: &&Arc| (arc.to as usize) < count;
            arcs.extend(self.row(v).iter().filter(inside));
            offsets.push(arcs.len() as u32);
        }
        Self {
            offsets: offsets.into(),
            arcs,
            load: self.load[..count].to_vec().into(),
        }
    }

    /// The graph with the vertices of each cluster made one; `map` names the cluster of each
    /// vertex. Time and memory linear in vertices and edges: no hashing, one array of places.
    pub(crate) fn contract(&self, map: &[u32], clusters: usize) -> Self {
        let (start, members) = members(map, clusters);
        let mut offsets = Vec::with_capacity(clusters + 1);
        let mut arcs: Vec<Arc> = Vec::with_capacity(self.arcs.len() / 2);
        let mut loads = Vec::with_capacity(clusters);
        offsets.push(0);
        // Where the arc to each cluster stands in the row being built; older rows stand before it.
        let mut place = vec![0_u32; clusters];
        for c in 0..clusters {
            let row = arcs.len() as u32;
            let mut load = 0;
            for &v in &members[start[c] as usize..start[c + 1] as usize] {
                load += self.load[v as usize];
                for arc in self.row(v) {
                    let to = map[arc.to as usize];
                    if to as usize == c {
                        continue;
                    }
                    let at = place[to as usize];
                    // A place from an older row is below this row's start, or it is a first row
                    // at 0 that holds another target.
                    if at >= row
                        && let Some(seen) = arcs.get_mut(at as usize)
                        && seen.to == to
                    {
                        seen.weight += arc.weight;
                    } else {
                        place[to as usize] = arcs.len() as u32;
                        arcs.push(Arc {
                            to,
                            weight: arc.weight,
                        });
                    }
                }
            }
            loads.push(load);
            offsets.push(arcs.len() as u32);
        }
        arcs.shrink_to_fit();
        Self {
            offsets: offsets.into(),
            arcs,
            load: loads.into(),
        }
    }
}

/// Divides weights, all of which, each met twice, sum to so much, so that they stay below the
/// largest total.
fn scale(twice: i64) -> impl Fn(i64) -> u32 {
    let divisor = (twice / 2 / (LARGEST_TOTAL / 2) + 1).max(1);
    move |w| {
        if divisor == 1 {
            w as u32
        } else {
            ((w + divisor / 2) / divisor).max(1) as u32
        }
    }
}
