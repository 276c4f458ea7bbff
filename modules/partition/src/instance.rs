//! The form of a problem that the search uses. Vertices that must be together are one vertex. All
//! limits (load, memory, slots, counts) have one form: an interval for each block or place.

use std::ops::Deref;
use std::sync::Arc;

use crate::clusters::{lifted, number, summed, united};
use crate::constraints::Groups;
use crate::csr::Csr;
use crate::draft::{Clash, NO_PLACE};
use crate::machine::{Machine, Tree};
use crate::problem::{Constraint, Objective, Problem};
pub(crate) use crate::quota::NO_LIMIT;
use crate::quota::{Quantity, Quota};

/// The part of an instance that is the same for fine and coarse instances.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) machine: Machine,
    /// Largest sum of each dimension in each block or place, indexed by [`Shared::at`].
    pub(crate) upper: Vec<i64>,
    /// Smallest sum, indexed in the same way. Empty if all are 0.
    pub(crate) lower: Vec<i64>,
    /// Index of the sum that a block contributes to: its own sum, or the sum of the first block of
    /// its place. Empty if no blocks share a limit.
    at: Vec<u32>,
    /// Place of each block, by layer, for vertices that are kept apart. In the first layer each
    /// block is a place.
    layers: Vec<Vec<u32>>,
    /// Cost of a unit of excess in the search, by dimension, because dimensions have different
    /// units.
    pub(crate) excess: Vec<f64>,
    /// Sets of blocks that vertices may be confined to. The first one contains all blocks.
    pub(crate) sets: Vec<Vec<bool>>,
    pub(crate) dims: usize,
}

impl Shared {
    /// Returns the index of the sum that a block contributes to in a dimension. It is valid for the
    /// limits and for all sums that are compared with them.
    #[inline]
    pub(crate) fn at(&self, block: usize, dim: usize) -> usize {
        let own = block * self.dims + dim;
        if self.at.is_empty() {
            own
        } else {
            self.at[own] as usize
        }
    }

    /// Returns true if blocks share a limit, or vertices are kept apart by places of several
    /// blocks.
    pub(crate) fn has_places(&self) -> bool {
        !self.at.is_empty() || self.layers.len() > 1
    }

    /// Returns true if two blocks are in the same place of a layer. Returns false if one of them is
    /// outside all places.
    #[inline]
    pub(crate) fn same(&self, layer: u32, a: u32, b: u32) -> bool {
        let places = &self.layers[layer as usize];
        places[a as usize] == places[b as usize] && places[a as usize] != NO_PLACE
    }

    /// Returns the number of layers. Each is a division into places by which vertices are kept
    /// apart. The first one consists of single blocks.
    pub(crate) fn layers(&self) -> usize {
        self.layers.len()
    }

    /// Returns the place of a block in a layer, identified by its first block, or `None` outside
    /// all places.
    pub(crate) fn place(&self, layer: usize, block: u32) -> Option<u32> {
        Some(self.layers[layer][block as usize]).filter(|&p| p != NO_PLACE)
    }
}

/// A weighted graph with vertex sizes in several dimensions (load first), to be mapped onto blocks.
/// Clones share the large arrays. An instance shares them with the caller's graph if nothing
/// changes them.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) graph: Csr,
    /// Sizes, at `vertex * dims + dim`.
    pub(crate) size: Arc<Vec<i64>>,
    /// Index into the sets of blocks, by vertex. Empty if no vertex is confined.
    pub(crate) set: Vec<u32>,
    /// By vertex: the vertices that it must be kept apart from, each with a layer. Empty if there
    /// are none.
    pub(crate) apart: Vec<Vec<(u32, u32)>>,
    pub(crate) shared: Arc<Shared>,
}

/// Gives access to the graph of the instance.
impl Deref for Instance {
    type Target = Csr;

    fn deref(&self) -> &Csr {
        &self.graph
    }
}

impl Instance {
    /// Builds the instance. Also returns the instance's vertex for each vertex of the problem. If
    /// that list is empty, they are the same. With a previous mapping, the last vertices of the
    /// instance stand for the blocks of that mapping. May panic if [`Problem::check`] reports an
    /// error.
    ///
    /// # Errors
    ///
    /// The first contradiction that is found without a search.
    pub(crate) fn new(problem: &Problem<'_>) -> Result<(Self, Vec<u32>), Clash> {
        let groups = Groups::new(problem)?;
        let (graph, n) = (problem.graph, problem.graph.vertices());
        let (machine, rows) = match problem.objective {
            Objective::RemoteChannels => (flat(problem.machine), graph.counted()),
            _ => (problem.machine.clone(), graph.rows()),
        };
        let active: Vec<usize> = (0..problem.constraints.len()).collect();
        let mut dims = Quota::all(problem, &active);
        // Limits that cannot be exceeded would only cost time. The load stays because all code uses
        // it.
        dims.retain(|q| q.of == Quantity::Load || !q.is_never_exceeded(problem));
        let (d, k, m) = (dims.len(), machine.len(), groups.count);

        let group = |v: u32| groups.of.get(v as usize).map_or(v, |&g| g) as usize;
        let alone = m == n && groups.of.iter().enumerate().all(|(v, &g)| g as usize == v);
        let size = if alone && d == 1 {
            Arc::clone(graph.loads())
        } else {
            let mut size = vec![0; m * d];
            for (i, dim) in dims.iter().enumerate() {
                dim.each(problem, |v, s| size[group(v) * d + i] += s);
            }
            Arc::new(size)
        };
        let mut upper = vec![0; k * d];
        let mut lower = vec![0; k * d];
        let mut at = vec![0; k * d];
        for b in 0..k {
            for (i, dim) in dims.iter().enumerate() {
                upper[b * d + i] = dim.upper[b];
                lower[b * d + i] = dim.lower.get(b).copied().unwrap_or(0);
                at[b * d + i] = dim.place[b] * d as u32 + i as u32;
            }
        }
        if lower.iter().all(|&l| l == 0) {
            lower.clear();
        }
        if !dims.iter().any(Quota::is_grouped) {
            at.clear();
        }
        let excess = dims
            .iter()
            .map(|dim| k as f64 / (dim.total(problem).max(1) as f64))
            .collect();
        let shared = Shared {
            machine,
            upper,
            lower,
            at,
            layers: groups.layers,
            excess,
            sets: groups.sets,
            dims: d,
        };

        let mut edges: Vec<(u32, u32, i64)> = Vec::new();
        for constraint in problem.constraints {
            if let Constraint::Prefer { vertices, weight } = constraint {
                for pair in vertices.windows(2) {
                    let ends = (groups.of[pair[0] as usize], groups.of[pair[1] as usize]);
                    edges.push((ends.0, ends.1, *weight as i64));
                }
            }
        }
        if let Some(migration) = &problem.migration {
            for v in 0..n {
                if let Some(home) = migration.block_of[v] {
                    edges.push((groups.of[v], groups.home + home, migration.cost[v] as i64));
                }
            }
        }
        edges.retain(|e| e.2 != 0);
        let instance = Self {
            graph: match alone && edges.is_empty() {
                true => rows,
                false => rows.contract(&groups.of, m, &edges),
            },
            size,
            set: groups.set,
            apart: groups.apart,
            shared: Arc::new(shared),
        };
        Ok((instance, groups.of))
    }

    /// Returns the instance in which each cluster is one vertex. `map` contains the cluster of each
    /// vertex, which must be less than `clusters`.
    pub(crate) fn contract(&self, map: &[u32], clusters: usize) -> Self {
        Self {
            graph: self.graph.contract(map, clusters, &[]),
            size: summed(map, clusters, &self.size, self.dims()),
            set: lifted(map, clusters, &self.set),
            apart: united(map, clusters, &self.apart),
            shared: Arc::clone(&self.shared),
        }
    }

    /// Returns the instance without its edges, so that only the limits and rules count.
    pub(crate) fn edgeless(&self) -> Self {
        Self {
            graph: Csr::edgeless(self.len()),
            ..self.clone()
        }
    }

    pub(crate) fn k(&self) -> usize {
        self.shared.machine.len()
    }

    pub(crate) fn dims(&self) -> usize {
        self.shared.dims
    }

    /// Returns true if the largest load is the only limit of a block, and no vertices must be kept
    /// apart. Vertices may be confined to some blocks.
    pub(crate) fn limits_loads_alone(&self) -> bool {
        self.dims() == 1 && self.apart.is_empty() && self.shared.lower.is_empty()
    }

    /// Returns true if the largest load of each block is the only restriction.
    pub(crate) fn is_plain(&self) -> bool {
        self.limits_loads_alone() && self.set.is_empty()
    }

    /// Returns the instance with other load bounds: the largest load of each block. Blocks beyond
    /// the end of `bounds` keep theirs.
    pub(crate) fn with_load_bounds(&self, bounds: &[i64]) -> Self {
        let (d, mut inst) = (self.dims(), self.clone());
        let shared = Arc::make_mut(&mut inst.shared);
        for (b, &bound) in bounds.iter().enumerate() {
            shared.upper[b * d] = bound;
        }
        inst
    }

    /// Returns the instance with other loads for some vertices, given as pairs of a vertex and its
    /// load.
    pub(crate) fn with_loads(&self, loads: impl Iterator<Item = (u32, i64)>) -> Self {
        let (d, mut inst) = (self.dims(), self.clone());
        let mut loads = loads.peekable();
        if loads.peek().is_some() {
            let size = Arc::make_mut(&mut inst.size);
            loads.for_each(|(v, load)| size[v as usize * d] = load);
        }
        inst
    }

    /// Confines a vertex to the marked blocks, within the blocks that it was already confined to.
    pub(crate) fn confine(&mut self, v: u32, to: &[bool]) {
        let open = |(b, &to): (u32, &bool)| to && self.is_allowed(v, b);
        let open: Vec<bool> = (0..).zip(to).map(open).collect();
        let sets = &mut Arc::make_mut(&mut self.shared).sets;
        let set = number(sets, open) as u32;
        self.set.resize(self.graph.len(), 0);
        self.set[v as usize] = set;
    }

    /// Returns the instance with load bounds that allow the total load in each block.
    pub(crate) fn without_load_bounds(&self) -> Self {
        self.with_load_bounds(&vec![self.total_load().max(1); self.k()])
    }

    /// Returns the same vertices on another machine, of which each block represents a group of
    /// blocks. `groups` contains the blocks of this instance that each block of `machine`
    /// represents.
    ///
    /// Keeps those rules that have a meaning for groups: sets of blocks, and sums of limits. If
    /// each group is one block, also the vertices that must not share a block. Limits that several
    /// blocks share cannot be summed over groups. If there are any, only the load limits remain.
    pub(crate) fn on(&self, machine: Machine, groups: &[Vec<u32>]) -> Self {
        let (k, old) = (groups.len(), &self.shared);
        let dims = if old.has_places() { 1 } else { self.dims() };
        let sums = |bounds: &[i64]| -> Vec<i64> {
            let sum = |(group, i): (&Vec<u32>, usize)| {
                let all = group.iter().map(|&b| bounds[b as usize * self.dims() + i]);
                all.fold(0, i64::saturating_add).min(NO_LIMIT)
            };
            let groups = groups.iter().filter(|_| !bounds.is_empty());
            let each = groups.flat_map(|g| (0..dims).map(move |i| (g, i)));
            each.map(sum).collect()
        };
        let size = match dims == self.dims() {
            true => Arc::clone(&self.size),
            false => Arc::new((0..self.len() as u32).map(|v| self.load(v)).collect()),
        };
        let total = |i: usize| size.iter().skip(i).step_by(dims).sum::<i64>();
        let open = |set: &Vec<bool>| {
            let any = |group: &Vec<u32>| group.iter().any(|&b| set[b as usize]);
            groups.iter().map(any).collect()
        };
        let shared = Shared {
            upper: sums(&old.upper),
            lower: sums(&old.lower),
            at: Vec::new(),
            layers: vec![(0..k as u32).collect()],
            excess: (0..dims)
                .map(|i| k as f64 / total(i).max(1) as f64)
                .collect(),
            sets: old.sets.iter().map(open).collect(),
            dims,
            machine,
        };
        let of_blocks =
            |list: &Vec<(u32, u32)>| list.iter().copied().filter(|e| e.1 == 0).collect();
        let single = groups.iter().all(|group| group.len() == 1);
        let apart = self.apart.iter().filter(|_| single);
        Self {
            graph: self.graph.clone(),
            size,
            set: self.set.clone(),
            apart: apart.map(of_blocks).collect(),
            shared: Arc::new(shared),
        }
    }

    /// Returns the instance of the blocks below some siblings of the machine's tree, and of the
    /// given vertices, which must be there. It can be searched alone, because all of its blocks are
    /// equally far from each block outside. Also returns the original blocks, in the order of the
    /// new ones. Panics if [`Machine::part`] does.
    pub(crate) fn below(&self, nodes: &[u32], vertices: &[u32]) -> (Self, Vec<u32>) {
        let machine = &self.shared.machine;
        let blocks = machine.blocks_of(nodes);
        let own = Machine::new(&machine.part(nodes), machine.collocated()).expect("part of one");
        let each: Vec<Vec<u32>> = blocks.iter().map(|&b| vec![b]).collect();
        (self.part(vertices).on(own, &each), blocks)
    }

    /// Returns the instance of some vertices and the edges among them. Vertices are numbered in the
    /// order of the list, which must not contain a vertex twice. The machine and the limits stay
    /// the same.
    pub(crate) fn part(&self, vertices: &[u32]) -> Self {
        let mut place = vec![0_u32; self.len()];
        (0..)
            .zip(vertices)
            .for_each(|(i, &v)| place[v as usize] = i);
        // `place` is 0 for vertices outside the list, hence the comparison.
        let here =
            |u: u32| Some(place[u as usize]).filter(|&p| vertices.get(p as usize) == Some(&u));
        let inside = |v: &u32| {
            let list = self.apart[*v as usize].iter();
            list.filter_map(|&(u, layer)| Some((here(u)?, layer)))
                .collect()
        };
        let sizes = vertices.iter().flat_map(|&v| self.size_of(v));
        let sets = vertices.iter().filter_map(|&v| self.set.get(v as usize));
        let tied = vertices.iter().filter(|_| !self.apart.is_empty());
        Self {
            graph: self.graph.among(vertices.iter().copied(), here),
            size: Arc::new(sizes.copied().collect()),
            set: sets.copied().collect(),
            apart: tied.map(inside).collect(),
            shared: Arc::clone(&self.shared),
        }
    }

    #[inline]
    pub(crate) fn size_of(&self, v: u32) -> &[i64] {
        let d = self.shared.dims;
        &self.size[v as usize * d..(v as usize + 1) * d]
    }

    #[inline]
    pub(crate) fn load(&self, v: u32) -> i64 {
        self.size[v as usize * self.shared.dims]
    }

    pub(crate) fn total_load(&self) -> i64 {
        (0..self.len() as u32).map(|v| self.load(v)).sum()
    }

    pub(crate) fn load_bound(&self, block: usize) -> i64 {
        self.shared.upper[block * self.shared.dims]
    }

    #[inline]
    pub(crate) fn is_allowed(&self, v: u32, block: u32) -> bool {
        self.set.is_empty() || self.shared.sets[self.set[v as usize] as usize][block as usize]
    }

    /// Returns the number of vertices in a block, or in its place, from which a vertex must be kept
    /// apart. Vertices whose block in `block_of` does not exist are not counted.
    #[inline]
    pub(crate) fn clashes(&self, v: u32, block: u32, block_of: &[u32]) -> usize {
        let Some(list) = self.apart.get(v as usize) else {
            return 0;
        };
        let meets = |&&(u, layer): &&(u32, u32)| {
            let other = block_of[u as usize];
            (other as usize) < self.k() && self.shared.same(layer, block, other)
        };
        list.iter().filter(meets).count()
    }

    /// Returns the distance of two blocks minus the collocated one, which is 0 for the same block.
    #[inline]
    pub(crate) fn distance(&self, a: u32, b: u32) -> i64 {
        self.shared.machine.beyond(a, b)
    }

    /// Returns the distances from a block to all blocks, each minus the collocated one. Panics if
    /// the machine has no table.
    #[inline]
    pub(crate) fn distances(&self, a: u32) -> &[i64] {
        let k = self.k();
        &self.shared.machine.table()[a as usize * k..(a as usize + 1) * k]
    }

    pub(crate) fn has_table(&self) -> bool {
        !self.shared.machine.table().is_empty()
    }

    /// Returns the sums of sizes in each block in all dimensions, indexed by [`Shared::at`].
    /// `block_of` contains the block of each vertex. Panics if one of these does not exist.
    pub(crate) fn sums(&self, block_of: &[u32]) -> Vec<i64> {
        let mut sums = vec![0; self.k() * self.dims()];
        for (v, &b) in (0..).zip(block_of) {
            self.count(&mut sums, v, b, 1);
        }
        sums
    }

    /// Adds the sizes of a vertex to sums as [`Instance::sums`] returns them. `sign` is 1 if the
    /// vertex enters the block, and -1 if the vertex leaves it.
    #[inline]
    pub(crate) fn count(&self, sums: &mut [i64], v: u32, block: u32, sign: i64) {
        for (i, size) in self.size_of(v).iter().enumerate() {
            sums[self.shared.at(block as usize, i)] += sign * size;
        }
    }

    /// Returns the load of each block. `block_of` contains the block of each vertex. Panics if one
    /// of these does not exist.
    pub(crate) fn loads(&self, block_of: &[u32]) -> Vec<i64> {
        let mut loads = vec![0; self.k()];
        for (v, &b) in (0..).zip(block_of) {
            loads[b as usize] += self.load(v);
        }
        loads
    }

    /// Returns the sum of the load bounds of some blocks, at most the largest `i64`.
    pub(crate) fn room<'b>(&self, blocks: impl IntoIterator<Item = &'b u32>) -> i64 {
        let bounds = blocks.into_iter().map(|&b| self.load_bound(b as usize));
        bounds.fold(0, i64::saturating_add)
    }

    /// Returns the objective of the search: the sum of weight times distance beyond the collocated
    /// one.
    pub(crate) fn cost(&self, block_of: &[u32]) -> i64 {
        let mut sum = 0;
        for v in 0..self.len() as u32 {
            // Each edge once, because entries of a large table are far apart in memory.
            for (u, w) in self.row(v).filter(|e| e.0 < v) {
                sum += w * self.distance(block_of[v as usize], block_of[u as usize]);
            }
        }
        sum
    }
}

/// Returns the same blocks, all at distance 1 from one another and at distance 0 from themselves.
fn flat(machine: &Machine) -> Machine {
    let blocks = machine.blocks().iter();
    let tree = Tree::Group {
        distance: 1,
        members: blocks.map(|b| Tree::Block(*b)).collect(),
    };
    let flat = Machine::new(&tree, 0).and_then(|flat| flat.listed(machine.in_order()));
    flat.expect("blocks of a machine")
}
