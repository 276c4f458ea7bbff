//! What the search works on: the problem with all that must lie together made one vertex, and
//! every capacity, slot and count rule turned into the same thing, an interval per block or place.

use std::ops::Deref;
use std::sync::Arc;

use crate::clusters::{lifted, number, summed, united};
use crate::constraints::Groups;
use crate::csr::Csr;
use crate::draft::{Clash, OUTSIDE};
use crate::machine::{Machine, Tree};
use crate::problem::{Constraint, Objective, Problem};
pub(crate) use crate::quota::NO_LIMIT;
use crate::quota::{Of, Quota};

/// What does not change from a fine to a coarse instance.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) machine: Machine,
    /// Most of each dimension in each block or place: see [`Shared::at`].
    pub(crate) upper: Vec<i64>,
    /// Least of each dimension in each; empty when all are 0.
    pub(crate) lower: Vec<i64>,
    /// Where the sum is kept that a block takes part in: its own, or that of the first block of
    /// its place. Empty when no blocks share a limit.
    at: Vec<u32>,
    /// For those who keep apart: the place of each block, or itself; the first is every block.
    layers: Vec<Vec<u32>>,
    /// What each unit of excess counts in the search, by dimension: dimensions differ in units.
    pub(crate) excess: Vec<f64>,
    /// Sets of blocks that vertices may be confined to; the first is all blocks.
    pub(crate) sets: Vec<Vec<bool>>,
    pub(crate) dims: usize,
}

impl Shared {
    /// Index of the sum that a block takes part in, in a dimension: into the limits, and into
    /// whatever is summed along with them.
    #[inline]
    pub(crate) fn at(&self, block: usize, dim: usize) -> usize {
        let own = block * self.dims + dim;
        if self.at.is_empty() {
            own
        } else {
            self.at[own] as usize
        }
    }

    /// Whether some limit is shared by several blocks, or some vertices keep apart by more.
    pub(crate) fn has_places(&self) -> bool {
        !self.at.is_empty() || self.layers.len() > 1
    }

    /// Whether two blocks are the same to those who keep apart in a layer.
    #[inline]
    pub(crate) fn same(&self, layer: u32, a: u32, b: u32) -> bool {
        let places = &self.layers[layer as usize];
        places[a as usize] == places[b as usize] && places[a as usize] != OUTSIDE
    }

    /// How many kinds of places there are to keep apart by; the first is single blocks.
    pub(crate) fn layers(&self) -> usize {
        self.layers.len()
    }

    /// The place of a layer that a block is in, named by its first block; `None` outside of all.
    pub(crate) fn place(&self, layer: usize, block: u32) -> Option<u32> {
        Some(self.layers[layer][block as usize]).filter(|&p| p != OUTSIDE)
    }
}

/// A weighted graph with vertex sizes in several dimensions (load first), to be put into blocks.
/// Clones share the large arrays, with the caller's network too where nothing changes them.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) graph: Csr,
    /// `vertex * dims + dim`.
    pub(crate) size: Arc<Vec<i64>>,
    /// Index into the sets of blocks, by vertex; empty when all vertices are free.
    pub(crate) set: Vec<u32>,
    /// Vertices that may not share a block, or a place of a layer, with each vertex; empty when
    /// there are none.
    pub(crate) apart: Vec<Vec<(u32, u32)>>,
    pub(crate) shared: Arc<Shared>,
}

/// An instance is read as the graph that it is.
impl Deref for Instance {
    type Target = Csr;

    fn deref(&self) -> &Csr {
        &self.graph
    }
}

impl Instance {
    /// Builds the instance and the vertex of the instance that each vertex of the problem is in (a
    /// list without entries when each is its own).
    pub(crate) fn new(problem: &Problem<'_>) -> Result<(Self, Vec<u32>), Clash> {
        let groups = Groups::new(problem)?;
        let (graph, n) = (problem.graph, problem.graph.vertices());
        let (machine, rows) = match problem.objective {
            Objective::RemoteChannels => (flat(problem.machine), graph.counted()),
            _ => (problem.machine.clone(), graph.rows()),
        };
        let active: Vec<usize> = (0..problem.constraints.len()).collect();
        let mut dims = Quota::all(problem, &active);
        // What is kept anyway would only cost time; the load is looked at by all.
        dims.retain(|q| q.of == Of::Load || !q.idle(problem));
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

    /// The instance with the vertices of each cluster made one; `map` names the cluster of each.
    pub(crate) fn contract(&self, map: &[u32], clusters: usize) -> Self {
        Self {
            graph: self.graph.contract(map, clusters, &[]),
            size: summed(map, clusters, &self.size, self.dims()),
            set: lifted(map, clusters, &self.set),
            apart: united(map, clusters, &self.apart),
            shared: Arc::clone(&self.shared),
        }
    }

    /// The same without its edges: nothing counts but what is to be kept.
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

    /// Whether load is all that limits a block; vertices may be confined to some.
    pub(crate) fn limits_loads_alone(&self) -> bool {
        self.dims() == 1 && self.apart.is_empty() && self.shared.lower.is_empty()
    }

    /// Whether there is nothing to keep but load bounds.
    pub(crate) fn is_plain(&self) -> bool {
        self.limits_loads_alone() && self.set.is_empty()
    }

    /// The same instance with other bounds on the load.
    pub(crate) fn with_load_bounds(&self, bounds: &[i64]) -> Self {
        let (d, mut inst) = (self.dims(), self.clone());
        let shared = Arc::make_mut(&mut inst.shared);
        for (b, &bound) in bounds.iter().enumerate() {
            shared.upper[b * d] = bound;
        }
        inst
    }

    /// The same instance where some vertices count with other loads.
    pub(crate) fn with_loads(&self, loads: impl Iterator<Item = (u32, i64)>) -> Self {
        let (d, mut inst) = (self.dims(), self.clone());
        let mut loads = loads.peekable();
        if loads.peek().is_some() {
            let size = Arc::make_mut(&mut inst.size);
            loads.for_each(|(v, load)| size[v as usize * d] = load);
        }
        inst
    }

    /// Confines a vertex to those of its blocks that are marked.
    pub(crate) fn confine(&mut self, v: u32, to: &[bool]) {
        let open = |(b, &to): (u32, &bool)| to && self.may_lie(v, b);
        let open: Vec<bool> = (0..).zip(to).map(open).collect();
        let sets = &mut Arc::make_mut(&mut self.shared).sets;
        let set = number(sets, open) as u32;
        self.set.resize(self.graph.len(), 0);
        self.set[v as usize] = set;
    }

    /// The same where every block may hold all the load.
    pub(crate) fn without_load_bounds(&self) -> Self {
        self.with_load_bounds(&vec![self.total_load().max(1); self.k()])
    }

    /// The same vertices on another machine, of which each block stands for some blocks of this one. Of
    /// the rules it keeps what can be said of groups of blocks: sets, sums of limits, and who keeps apart
    /// where each block stands for one. Limits of several blocks do not add up over groups: where there
    /// are any, loads alone are limited.
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

    /// What lies below some neighbours in a group of the machine (by node), a problem of its own: from
    /// outside all blocks there are equally far. Gives their blocks, too, in the order of the new ones.
    pub(crate) fn below(&self, nodes: &[u32], vertices: &[u32]) -> (Self, Vec<u32>) {
        let machine = &self.shared.machine;
        let blocks = machine.blocks_of(nodes);
        let own = Machine::new(&machine.part(nodes), machine.collocated()).expect("part of one");
        let each: Vec<Vec<u32>> = blocks.iter().map(|&b| vec![b]).collect();
        (self.part(vertices).on(own, &each), blocks)
    }

    /// Some vertices, and the edges among them.
    pub(crate) fn part(&self, vertices: &[u32]) -> Self {
        let mut place = vec![0_u32; self.len()];
        (0..)
            .zip(vertices)
            .for_each(|(i, &v)| place[v as usize] = i);
        // Of others it says nothing.
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
    pub(crate) fn may_lie(&self, v: u32, block: u32) -> bool {
        self.set.is_empty() || self.shared.sets[self.set[v as usize] as usize][block as usize]
    }

    /// How many of those that a vertex is to be kept apart from it would meet in a block.
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

    /// Distance of two blocks less the collocated one.
    #[inline]
    pub(crate) fn distance(&self, a: u32, b: u32) -> i64 {
        self.shared.machine.beyond(a, b)
    }

    /// Distances from a block to all blocks. Only with a table.
    #[inline]
    pub(crate) fn distances(&self, a: u32) -> &[i64] {
        let k = self.k();
        &self.shared.machine.table()[a as usize * k..(a as usize + 1) * k]
    }

    pub(crate) fn has_table(&self) -> bool {
        !self.shared.machine.table().is_empty()
    }

    /// What lies in each block, in all dimensions: indexed by [`Shared::at`].
    pub(crate) fn sums(&self, block_of: &[u32]) -> Vec<i64> {
        let mut sums = vec![0; self.k() * self.dims()];
        for (v, &b) in (0..).zip(block_of) {
            self.count(&mut sums, v, b, 1);
        }
        sums
    }

    /// Counts a vertex into such sums where it comes to a block (`sign` 1), or out where it leaves one (-1).
    #[inline]
    pub(crate) fn count(&self, sums: &mut [i64], v: u32, block: u32, sign: i64) {
        for (i, size) in self.size_of(v).iter().enumerate() {
            sums[self.shared.at(block as usize, i)] += sign * size;
        }
    }

    /// The load of each block.
    pub(crate) fn loads(&self, block_of: &[u32]) -> Vec<i64> {
        let mut loads = vec![0; self.k()];
        for (v, &b) in (0..).zip(block_of) {
            loads[b as usize] += self.load(v);
        }
        loads
    }

    /// What some blocks may hold together.
    pub(crate) fn room<'b>(&self, blocks: impl IntoIterator<Item = &'b u32>) -> i64 {
        let bounds = blocks.into_iter().map(|&b| self.load_bound(b as usize));
        bounds.fold(0, i64::saturating_add)
    }

    /// The objective of the search: weights times distances beyond the collocated one.
    pub(crate) fn cost(&self, block_of: &[u32]) -> i64 {
        let mut sum = 0;
        for v in 0..self.len() as u32 {
            // Once for both ends: large tables are looked up far apart.
            for (u, w) in self.row(v).filter(|e| e.0 < v) {
                sum += w * self.distance(block_of[v as usize], block_of[u as usize]);
            }
        }
        sum
    }
}

/// The same blocks, all at distance 1 from one another.
fn flat(machine: &Machine) -> Machine {
    let blocks = machine.blocks().iter();
    let tree = Tree::Group {
        distance: 1,
        members: blocks.map(|b| Tree::Block(*b)).collect(),
    };
    let flat = Machine::new(&tree, 0).and_then(|flat| flat.listed(machine.in_order()));
    flat.expect("blocks of a machine")
}
