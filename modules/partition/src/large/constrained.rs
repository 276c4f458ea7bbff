//! Constraints of the vertices of a level other than their load: pins, limits of further
//! dimensions, and vertices that must be kept apart.

use std::sync::Arc;

use crate::clusters::{add, summed, united};
use crate::instance::Instance;
use crate::tuning::large::{HANDFUL, SMALL, SPARSE, TIED};

/// Constraints of each vertex. A cluster has the constraints of all its members.
#[derive(Debug)]
pub(crate) struct VertexConstraints {
    /// Index of the set of blocks, by vertex. It is empty if all vertices are free.
    set: Vec<u32>,
    /// Sizes at `vertex * dims + dim`. The first dimension is the load, which the level stores too.
    size: Arc<Vec<i64>>,
    pub(crate) dims: usize,
    /// True if few vertices have a size above 0, by further dimension.
    sparse: Arc<Vec<bool>>,
    /// For each vertex, the vertices that may not share a place of a layer with it. It is empty if
    /// no vertices have to be kept apart.
    apart: Vec<Vec<(u32, u32)>>,
}

impl VertexConstraints {
    /// Returns the constraints, or `None` if only loads are limited.
    pub(crate) fn of(inst: &Instance) -> Option<Self> {
        if inst.dims() == 1 && inst.set.is_empty() && inst.apart.is_empty() {
            return None;
        }
        let dims = inst.dims();
        let sparse = |dim: usize| {
            let sizes = inst.size.iter().skip(dim).step_by(dims);
            SPARSE * sizes.filter(|s| **s > 0).count() <= inst.len()
        };
        Some(Self {
            set: inst.set.clone(),
            size: Arc::clone(&inst.size),
            dims,
            sparse: (1..dims).map(sparse).collect::<Vec<_>>().into(),
            apart: inst.apart.clone(),
        })
    }

    /// Returns the set of blocks of a vertex, 0 if it is free.
    #[inline]
    pub(crate) fn set(&self, v: u32) -> u32 {
        self.set.get(v as usize).copied().unwrap_or(0)
    }

    /// Returns the sizes of a vertex in the dimensions other than the load. The result is empty if
    /// there are none.
    #[inline]
    pub(crate) fn further(&self, v: u32) -> &[i64] {
        let at = v as usize * self.dims;
        self.size.get(at + 1..at + self.dims).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn apart(&self, v: u32) -> &[(u32, u32)] {
        self.apart.get(v as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns true if a vertex is pinned, or must be kept apart from others.
    fn is_tied(&self, v: u32) -> bool {
        self.set(v) != 0 || !self.apart(v).is_empty()
    }

    /// Returns true if a vertex has a size above 0 in a sparse dimension.
    fn is_counted(&self, v: u32) -> bool {
        let mut sizes = self.further(v).iter().zip(&*self.sparse);
        sizes.any(|(size, sparse)| *sparse && *size > 0)
    }

    pub(crate) fn contract(&self, map: &[u32], clusters: usize) -> Self {
        let mut set = vec![0; if self.set.is_empty() { 0 } else { clusters }];
        // A cluster with a pinned member is pinned.
        for (&c, &s) in map.iter().zip(&self.set) {
            set[c as usize] = s.max(set[c as usize]);
        }
        // With one dimension, the sizes are the loads, which the level stores.
        let size = match self.dims {
            1 => Arc::default(),
            dims => summed(map, clusters, &self.size, dims),
        };
        Self {
            set,
            size,
            dims: self.dims,
            sparse: Arc::clone(&self.sparse),
            apart: united(map, clusters, &self.apart),
        }
    }
}

/// Rules for joining vertices while clusters form.
pub(crate) struct Joins<'a> {
    held: &'a VertexConstraints,
    /// True for vertices that stay in clusters of their own. A cluster around a pinned vertex would
    /// cost more in the pinned place than the vertex alone.
    alone: Vec<bool>,
    /// Largest size of a cluster, by further dimension.
    most: Vec<i64>,
    /// Set of each cluster.
    set: Vec<u32>,
    /// Sizes of each cluster in the further dimensions.
    size: Vec<i64>,
    /// True for clusters that no vertex may join.
    closed: Vec<bool>,
}

impl<'a> Joins<'a> {
    /// Creates the rules for `count` vertices that are contracted to about `target`. `numbered` is
    /// true if they are visited in order of their numbers.
    pub(crate) fn new(
        held: &'a VertexConstraints,
        count: usize,
        target: usize,
        numbered: bool,
    ) -> Self {
        let all = 0..count as u32;
        let few = |is: fn(&VertexConstraints, u32) -> bool, most: usize| {
            let count = all.clone().filter(|&v| is(held, v)).count();
            count <= most && (count >= HANDFUL || !numbered)
        };
        let tied = few(VertexConstraints::is_tied, TIED * target.max(SMALL));
        let counted = few(VertexConstraints::is_counted, target);
        let alone = |v| tied && held.is_tied(v) || counted && held.is_counted(v);
        let most = |dim| {
            let total: i64 = held.size.iter().skip(dim).step_by(held.dims).sum();
            let like = 5 * total / count.max(1) as i64;
            like.min(3 * total / target.max(1) as i64).max(1)
        };
        Self {
            held,
            alone: all.clone().map(alone).collect(),
            most: (1..held.dims).map(most).collect(),
            set: Vec::new(),
            size: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// Returns the number of vertices that stay in clusters of their own.
    pub(crate) fn count_single(&self) -> usize {
        self.alone.iter().filter(|alone| **alone).count()
    }

    /// Returns true if two vertices may form a cluster.
    pub(crate) fn pair(&self, v: u32, u: u32) -> bool {
        let held = self.held;
        held.apart(v).iter().all(|e| e.0 != u)
            && self.may_join_with(v, (self.alone[u as usize], held.set(u), held.further(u)))
    }

    /// Returns true if a vertex may join a cluster. `map` contains the cluster of each vertex so
    /// far.
    pub(crate) fn join(&self, v: u32, cluster: u32, map: &[u32]) -> bool {
        let (c, d) = (cluster as usize, self.most.len());
        let size = &self.size[c * d..(c + 1) * d];
        let mut apart = self.held.apart(v).iter();
        apart.all(|e| map[e.0 as usize] != cluster)
            && self.may_join_with(v, (self.closed[c], self.set[c], size))
    }

    /// Returns true if a vertex may join another vertex or a cluster. This is given by whether
    /// nothing may join it, its set of blocks, and its sizes in the further dimensions.
    fn may_join_with(&self, v: u32, (alone, set, size): (bool, u32, &[i64])) -> bool {
        let own = self.held.set(v);
        let mut sizes = self.held.further(v).iter().zip(size).zip(&self.most);
        !alone
            && !self.alone[v as usize]
            && (own == set || own == 0 || set == 0)
            && sizes.all(|((a, b), most)| *a == 0 || *b == 0 || a + b <= *most)
    }

    /// Adds a cluster that contains the vertex `v`.
    pub(crate) fn open(&mut self, v: u32) {
        self.closed.push(self.alone[v as usize]);
        self.set.push(self.held.set(v));
        self.size.extend_from_slice(self.held.further(v));
    }

    /// Adds a vertex to a cluster.
    pub(crate) fn add(&mut self, v: u32, cluster: u32) {
        let (held, d, c) = (self.held, self.most.len(), cluster as usize);
        self.set[c] = self.set[c].max(held.set(v));
        add(&mut self.size[c * d..(c + 1) * d], held.further(v), 1);
    }
}
