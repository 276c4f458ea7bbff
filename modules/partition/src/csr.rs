//! Graphs in compressed rows, as the engine stores them, and their contraction.

use std::ops::Range;
use std::sync::Arc;

use crate::clusters::Members;

/// An undirected weighted graph in compressed rows. Each edge is stored in the rows of both its
/// ends, so that an edge takes 24 bytes and a vertex 4. Weights are signed, because searches
/// subtract them. Clones share the arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Csr {
    /// Offset of the row of each vertex, and the end of the last row.
    pub(crate) offsets: Arc<Vec<u32>>,
    pub(crate) targets: Arc<Vec<u32>>,
    pub(crate) weights: Arc<Vec<i64>>,
}

impl Csr {
    pub(crate) fn new(offsets: Vec<u32>, targets: Vec<u32>, weights: Vec<i64>) -> Self {
        Self {
            offsets: offsets.into(),
            targets: targets.into(),
            weights: weights.into(),
        }
    }

    /// Builds the graph from its rows of neighbours and weights. Each edge must be in the rows of
    /// both its ends.
    pub(crate) fn of<R: IntoIterator<Item = (u32, i64)>>(rows: impl Iterator<Item = R>) -> Self {
        let mut offsets = Vec::with_capacity(rows.size_hint().0 + 1);
        let (mut targets, mut weights) = (Vec::new(), Vec::new());
        offsets.push(0);
        for row in rows {
            for (to, weight) in row {
                targets.push(to);
                weights.push(weight);
            }
            offsets.push(targets.len() as u32);
        }
        Self::new(offsets, targets, weights)
    }

    /// Returns a graph of `vertices` vertices without edges.
    pub(crate) fn edgeless(vertices: usize) -> Self {
        Self::new(vec![0; vertices + 1], Vec::new(), Vec::new())
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the number of arcs, which is twice the number of edges.
    pub(crate) fn arcs(&self) -> usize {
        self.targets.len()
    }

    /// Returns the index range of the row of a vertex. Panics if the vertex does not exist.
    #[inline]
    pub(crate) fn range(&self, v: u32) -> Range<usize> {
        self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize
    }

    pub(crate) fn degree(&self, v: u32) -> usize {
        self.range(v).len()
    }

    /// Returns the neighbours of a vertex, each with the weight of the edge. Panics if the vertex
    /// does not exist.
    #[inline]
    pub(crate) fn row(&self, v: u32) -> impl ExactSizeIterator<Item = (u32, i64)> + '_ {
        self.arcs_at(self.range(v))
    }

    /// Returns the arcs in an index range, such as a part of a row: target and weight of each.
    /// Panics if the range ends after the last arc.
    #[inline]
    pub(crate) fn arcs_at(
        &self,
        at: Range<usize>,
    ) -> impl ExactSizeIterator<Item = (u32, i64)> + '_ {
        let weights = self.weights[at.clone()].iter().copied();
        self.targets[at].iter().copied().zip(weights)
    }

    /// Returns the neighbours of a vertex without weights. Panics if the vertex does not exist.
    #[inline]
    pub(crate) fn around(&self, v: u32) -> &[u32] {
        &self.targets[self.range(v)]
    }

    /// Returns the component of each vertex, and the number of components. Components are numbered
    /// from 0 in the order of their first vertices. Only edges for which `joins` returns true
    /// connect vertices.
    pub(crate) fn components(&self, joins: impl Fn(u32, u32) -> bool) -> (Vec<u32>, usize) {
        const NONE: u32 = u32::MAX;
        let mut component = vec![NONE; self.len()];
        let (mut count, mut open) = (0, Vec::new());
        for first in 0..self.len() as u32 {
            if component[first as usize] != NONE {
                continue;
            }
            component[first as usize] = count;
            open.push(first);
            while let Some(v) = open.pop() {
                for &u in self.around(v) {
                    if component[u as usize] == NONE && joins(v, u) {
                        component[u as usize] = count;
                        open.push(u);
                    }
                }
            }
            count += 1;
        }
        (component, count as usize)
    }

    /// Returns the graph of some vertices and the edges among them. `place` must return the index
    /// of each of these vertices in the sequence, and `None` for all others.
    pub(crate) fn among(
        &self,
        vertices: impl Iterator<Item = u32>,
        place: impl Fn(u32) -> Option<u32>,
    ) -> Self {
        let inside = |(u, weight)| place(u).map(|to| (to, weight));
        Self::of(vertices.map(|v| self.row(v).filter_map(inside)))
    }

    /// Returns the graph of the vertices in a range and the edges among them. The first vertex of
    /// the range gets the number 0.
    pub(crate) fn stretch(&self, vertices: Range<u32>) -> Self {
        let place = |u| vertices.contains(&u).then(|| u - vertices.start);
        self.among(vertices.clone(), place)
    }

    /// Returns the graph in which each cluster is one vertex, with additional edges `more` (two
    /// clusters and a weight). `map` contains the cluster of each vertex, which must be less than
    /// `clusters`. Edges between the same clusters are summed, and edges inside a cluster are
    /// dropped. Takes time and memory linear in vertices and edges, because an array of positions
    /// replaces hashing. Only `more` is sorted.
    pub(crate) fn contract(&self, map: &[u32], clusters: usize, more: &[(u32, u32, i64)]) -> Self {
        let members = Members::new(map, clusters);
        let both = |&(a, b, weight): &(u32, u32, i64)| [(a, b, weight), (b, a, weight)];
        let mut more: Vec<(u32, u32, i64)> = more.iter().flat_map(both).collect();
        more.sort_unstable_by_key(|e| e.0);
        let mut more = more.into_iter().peekable();
        let mut offsets = Vec::with_capacity(clusters + 1);
        let mut targets: Vec<u32> = Vec::with_capacity(self.arcs() / 2);
        let mut weights: Vec<i64> = Vec::with_capacity(self.arcs() / 2);
        offsets.push(0);
        // The current row, and the position in it of the arc to each cluster, if there is one.
        let (mut ends, mut sums): (Vec<u32>, Vec<i64>) = (Vec::new(), Vec::new());
        let mut place = vec![0_u32; clusters];
        for c in 0..clusters as u32 {
            // Edges inside the cluster are summed in the first entry, which is not copied.
            ends.clear();
            sums.clear();
            ends.push(c);
            sums.push(0);
            place[c as usize] = 0;
            let mut add = |to: u32, weight: i64| {
                let at = place[to as usize] as usize;
                if ends.get(at) == Some(&to) {
                    sums[at] += weight;
                } else {
                    place[to as usize] = ends.len() as u32;
                    ends.push(to);
                    sums.push(weight);
                }
            };
            for &v in members.of(c as usize) {
                self.row(v)
                    .for_each(|(u, weight)| add(map[u as usize], weight));
            }
            while let Some((_, to, weight)) = more.next_if(|e| e.0 == c) {
                add(to, weight);
            }
            targets.extend_from_slice(&ends[1..]);
            weights.extend_from_slice(&sums[1..]);
            offsets.push(targets.len() as u32);
        }
        targets.shrink_to_fit();
        weights.shrink_to_fit();
        Self::new(offsets, targets, weights)
    }
}
