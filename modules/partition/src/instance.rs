//! What the search works on: the problem with all that must lie together made one vertex, and
//! every capacity, slot and count rule turned into the same thing, an interval per block or place.

use std::sync::Arc;

use crate::constraints::Groups;
use crate::draft::{Clash, OUTSIDE};
use crate::graph::Rows;
use crate::machine::{Machine, Tree};
use crate::problem::{Constraint, Objective, Problem};
pub(crate) use crate::quota::NO_LIMIT;
use crate::quota::Quota;

/// What does not change from a fine to a coarse instance.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) machine: Machine,
    /// Distance less the collocated distance, k x k; empty for machines too large for a table.
    table: Vec<i64>,
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

    /// For each dimension and layer the place of a block, named by its first block.
    pub(crate) fn places(&self, block: usize) -> impl Iterator<Item = u32> + '_ {
        let dims = if self.at.is_empty() { 0 } else { self.dims };
        let shared = (0..dims).map(move |i| self.at(block, i) as u32 / self.dims as u32);
        shared.chain(self.layers[1..].iter().map(move |l| l[block]))
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

    /// So many blocks at distance 1 from one another, with these bounds.
    pub(crate) fn flat(
        k: usize,
        upper: Vec<i64>,
        lower: Vec<i64>,
        excess: Vec<f64>,
        sets: Vec<Vec<bool>>,
        dims: usize,
    ) -> Self {
        let machine = Machine::regular(&[(k, 1)]).expect("few blocks");
        let mut table = vec![1; k * k];
        (0..k).for_each(|b| table[b * k + b] = 0);
        Self {
            machine,
            table,
            upper,
            lower,
            at: Vec::new(),
            layers: vec![(0..k as u32).collect()],
            excess,
            sets,
            dims,
        }
    }
}

/// Distances less the collocated one; none for machines too large.
fn table(machine: &Machine) -> Vec<i64> {
    let k = machine.len() as u32;
    if k > 2048 {
        return Vec::new();
    }
    let base = i64::from(machine.collocated());
    let pairs = (0..k).flat_map(|a| (0..k).map(move |b| (a, b)));
    let beyond = |(a, b)| i64::from(machine.distance(a, b)) - base;
    pairs.map(beyond).collect()
}

/// A weighted graph with vertex sizes in several dimensions (load first), to be put into blocks.
/// Clones share the large arrays, with the caller's network too where nothing changes them.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) offsets: Arc<Vec<u32>>,
    pub(crate) targets: Arc<Vec<u32>>,
    pub(crate) weights: Arc<Vec<i64>>,
    /// `vertex * dims + dim`.
    pub(crate) size: Arc<Vec<i64>>,
    /// Index into the sets of blocks, by vertex; empty when all vertices are free.
    pub(crate) set: Vec<u32>,
    /// Vertices that may not share a block, or a place of a layer, with each vertex; empty when
    /// there are none.
    pub(crate) apart: Vec<Vec<(u32, u32)>>,
    pub(crate) shared: Arc<Shared>,
}

impl Instance {
    /// Builds the instance and the vertex of the instance that each vertex of the problem is in (a
    /// list without entries when each is its own).
    pub(crate) fn new(problem: &Problem<'_>) -> Result<(Self, Vec<u32>), Clash> {
        let groups = Groups::new(problem)?;
        let (graph, n) = (problem.graph, problem.graph.vertices());
        let machine = match problem.objective {
            Objective::RemoteChannels => flat(problem.machine),
            _ => problem.machine.clone(),
        };
        let active: Vec<usize> = (0..problem.constraints.len()).collect();
        let mut dims = Quota::all(problem, &active);
        // What is kept anyway would only cost time; the load is looked at by all.
        let mut first = true;
        dims.retain(|q| std::mem::take(&mut first) || !q.idle(problem));
        let (d, k, m) = (dims.len(), machine.len(), groups.len());

        let alone = m == n && groups.of.iter().enumerate().all(|(v, &g)| g as usize == v);
        let size = if alone && d == 1 {
            Arc::clone(graph.loads())
        } else {
            let mut size = vec![0; m * d];
            for (i, dim) in dims.iter().enumerate() {
                dim.each(problem, |v, s| size[groups.at(v as usize) * d + i] += s);
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
            table: table(&machine),
            machine,
            upper,
            lower,
            at,
            layers: groups.layers,
            excess,
            sets: groups.sets,
            dims: d,
        };

        let count_channels = problem.objective == Objective::RemoteChannels;
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
                if migration.block_of[v] != u32::MAX {
                    let home = groups.home[migration.block_of[v] as usize];
                    edges.push((groups.of[v], home, migration.cost[v] as i64));
                }
            }
        }
        let row = |v: u32, visit: &mut dyn FnMut(u32, i64)| {
            if count_channels {
                graph.channels(v).for_each(|(u, c)| visit(u, i64::from(c)));
            } else {
                graph.neighbours(v).for_each(|(u, t)| visit(u, t as i64));
            }
        };
        let plain = alone && edges.is_empty();
        let shares = plain && !count_channels;
        let rows = match shares.then(|| graph.rows()).flatten() {
            Some(rows) => rows,
            None if plain => copy(n, 2 * graph.edges(), row),
            None => contract(&groups.of, m, row, &edges),
        };
        let instance = Self {
            offsets: rows.offsets,
            targets: rows.targets,
            weights: rows.weights,
            size,
            set: groups.set,
            apart: groups.apart,
            shared: Arc::new(shared),
        };
        Ok((instance, groups.of))
    }

    /// The instance with the vertices of each cluster made one; `map` names the cluster of each.
    pub(crate) fn contract(&self, map: &[u32], clusters: usize) -> Self {
        let (n, d) = (self.len(), self.dims());
        let mut size = vec![0; clusters * d];
        for v in 0..n {
            for i in 0..d {
                size[map[v] as usize * d + i] += self.size[v * d + i];
            }
        }
        let mut set = Vec::new();
        if !self.set.is_empty() {
            set.resize(clusters, 0);
            for v in 0..n {
                set[map[v] as usize] = self.set[v];
            }
        }
        let mut apart = Vec::new();
        if !self.apart.is_empty() {
            apart.resize(clusters, Vec::new());
            for v in 0..n {
                let mapped = self.apart[v].iter().map(|&(u, l)| (map[u as usize], l));
                apart[map[v] as usize].extend(mapped);
            }
            for list in &mut apart {
                list.sort_unstable();
                list.dedup();
            }
        }
        let row = |v: u32, visit: &mut dyn FnMut(u32, i64)| {
            self.row(v).for_each(|(u, w)| visit(u, w));
        };
        let rows = contract(map, clusters, row, &[]);
        Self {
            offsets: rows.offsets,
            targets: rows.targets,
            weights: rows.weights,
            size: Arc::new(size),
            set,
            apart,
            shared: Arc::clone(&self.shared),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(crate) fn k(&self) -> usize {
        self.shared.machine.len()
    }

    pub(crate) fn dims(&self) -> usize {
        self.shared.dims
    }

    /// Whether there is nothing to keep but load bounds.
    pub(crate) fn is_plain(&self) -> bool {
        self.dims() == 1
            && self.set.is_empty()
            && self.apart.is_empty()
            && self.shared.lower.is_empty()
    }

    /// The same instance with other bounds on the load.
    pub(crate) fn with_load_bounds(&self, bounds: &[i64]) -> Self {
        let d = self.dims();
        let mut upper = self.shared.upper.clone();
        for (b, &bound) in bounds.iter().enumerate() {
            upper[b * d] = bound;
        }
        let shared = Shared {
            upper,
            ..Shared::clone(&self.shared)
        };
        Self {
            shared: Arc::new(shared),
            ..self.clone()
        }
    }

    /// An instance with nothing to keep but load bounds, on another machine with these.
    pub(crate) fn moved(&self, machine: Machine, bounds: Vec<i64>) -> Self {
        let k = machine.len();
        let shared = Shared {
            table: table(&machine),
            upper: bounds,
            lower: Vec::new(),
            at: Vec::new(),
            layers: vec![(0..k as u32).collect()],
            excess: vec![k as f64 / self.total_load().max(1) as f64],
            sets: vec![vec![true; k]],
            dims: 1,
            machine,
        };
        Self {
            shared: Arc::new(shared),
            ..self.clone()
        }
    }

    /// The rows of some vertices with the edges among them alone: offsets, ends, weights. `place` says
    /// of each of them where it stands in the list; what it says of others is not heeded.
    pub(crate) fn among(&self, vertices: &[u32], place: &[u32]) -> (Vec<u32>, Vec<u32>, Vec<i64>) {
        let mut offsets = Vec::with_capacity(vertices.len() + 1);
        let (mut targets, mut weights) = (Vec::new(), Vec::new());
        offsets.push(0);
        for &v in vertices {
            for (u, w) in self.row(v) {
                let to = place[u as usize];
                if vertices.get(to as usize) == Some(&u) {
                    targets.push(to);
                    weights.push(w);
                }
            }
            offsets.push(targets.len() as u32);
        }
        (offsets, targets, weights)
    }

    /// Some vertices of an instance with nothing to keep but load bounds, and the edges
    /// [among](Self::among) them.
    pub(crate) fn part(&self, vertices: &[u32], place: &[u32]) -> Self {
        let (offsets, targets, weights) = self.among(vertices, place);
        let size = vertices.iter().map(|&v| self.load(v)).collect();
        Self {
            offsets: Arc::new(offsets),
            targets: Arc::new(targets),
            weights: Arc::new(weights),
            size: Arc::new(size),
            set: Vec::new(),
            apart: Vec::new(),
            shared: Arc::clone(&self.shared),
        }
    }

    #[inline]
    pub(crate) fn row(&self, v: u32) -> impl Iterator<Item = (u32, i64)> + '_ {
        let range = self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize;
        self.targets[range.clone()]
            .iter()
            .copied()
            .zip(self.weights[range].iter().copied())
    }

    pub(crate) fn degree(&self, v: u32) -> usize {
        (self.offsets[v as usize + 1] - self.offsets[v as usize]) as usize
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

    #[inline]
    pub(crate) fn distance(&self, a: u32, b: u32) -> i64 {
        if self.shared.table.is_empty() {
            let machine = &self.shared.machine;
            return i64::from(machine.distance(a, b)) - i64::from(machine.collocated());
        }
        self.shared.table[a as usize * self.k() + b as usize]
    }

    /// Distances from a block to all blocks. Only with a table.
    #[inline]
    pub(crate) fn distances(&self, a: u32) -> &[i64] {
        let k = self.k();
        &self.shared.table[a as usize * k..(a as usize + 1) * k]
    }

    pub(crate) fn has_table(&self) -> bool {
        !self.shared.table.is_empty()
    }

    /// The objective of the search: weights times distances beyond the collocated one.
    pub(crate) fn cost(&self, block_of: &[u32]) -> i64 {
        let mut twice = 0;
        for v in 0..self.len() as u32 {
            for (u, w) in self.row(v) {
                twice += w * self.distance(block_of[v as usize], block_of[u as usize]);
            }
        }
        twice / 2
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

/// The rows as they are, without edges of weight 0.
fn copy(n: usize, entries: usize, row: impl Fn(u32, &mut dyn FnMut(u32, i64))) -> Rows {
    let mut offsets = Vec::with_capacity(n + 1);
    let mut targets: Vec<u32> = Vec::with_capacity(entries);
    let mut weights: Vec<i64> = Vec::with_capacity(entries);
    offsets.push(0);
    for v in 0..n as u32 {
        row(v, &mut |u, w| {
            if w != 0 {
                targets.push(u);
                weights.push(w);
            }
        });
        offsets.push(targets.len() as u32);
    }
    Rows {
        offsets: Arc::new(offsets),
        targets: Arc::new(targets),
        weights: Arc::new(weights),
    }
}

/// The members of each cluster in a row, by counting: those of cluster `c` stand from place `c` of
/// the first list to the next, in the second.
pub(crate) fn members(map: &[u32], clusters: usize) -> (Vec<u32>, Vec<u32>) {
    let mut start = vec![0_u32; clusters + 1];
    for &c in map {
        start[c as usize] += 1;
    }
    let mut end = 0;
    for place in &mut start {
        end += *place;
        *place = end;
    }
    let mut members = vec![0_u32; map.len()];
    for (v, &c) in map.iter().enumerate().rev() {
        // Filling backwards turns each end into a start.
        let place = &mut start[c as usize];
        *place -= 1;
        members[*place as usize] = v as u32;
    }
    (start, members)
}

/// Rows of the contracted graph, in time linear in vertices, entries and extra edges.
fn contract(
    map: &[u32],
    clusters: usize,
    row: impl Fn(u32, &mut dyn FnMut(u32, i64)),
    extra: &[(u32, u32, i64)],
) -> Rows {
    let (start, members) = members(map, clusters);
    let mut more: Vec<(u32, u32, i64)> = extra
        .iter()
        .flat_map(|&(a, b, w)| [(a, b, w), (b, a, w)])
        .collect();
    more.sort_unstable_by_key(|e| e.0);
    let mut more = more.into_iter().peekable();

    let mut offsets = Vec::with_capacity(clusters + 1);
    let mut targets: Vec<u32> = Vec::new();
    let mut weights: Vec<i64> = Vec::new();
    let mut place = vec![u32::MAX; clusters];
    offsets.push(0);
    for c in 0..clusters as u32 {
        let first = targets.len();
        let mut add = |t: u32, w: i64| {
            if t == c || w == 0 {
                return;
            }
            let seen = place[t as usize] as usize;
            if seen != u32::MAX as usize && seen >= first {
                weights[seen] += w;
            } else {
                place[t as usize] = targets.len() as u32;
                targets.push(t);
                weights.push(w);
            }
        };
        for &v in &members[start[c as usize] as usize..start[c as usize + 1] as usize] {
            row(v, &mut |u, w| add(map[u as usize], w));
        }
        while let Some((_, t, w)) = more.next_if(|e| e.0 == c) {
            add(t, w);
        }
        offsets.push(targets.len() as u32);
    }
    Rows {
        offsets: Arc::new(offsets),
        targets: Arc::new(targets),
        weights: Arc::new(weights),
    }
}
