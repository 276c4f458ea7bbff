//! What the search works on: the problem with all that must lie together made one vertex, and
//! every capacity, slot and count rule turned into the same thing, an interval per block.

use std::rc::Rc;

use crate::constraints::{Contradiction, Groups};
use crate::machine::{Block, Machine, Tree};
use crate::problem::{Constraint, Objective, Problem};

/// No limit; far from overflow when summed.
pub(crate) const NO_LIMIT: i64 = i64::MAX / 4;

/// What does not change from a fine to a coarse instance.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) machine: Machine,
    /// Distance less the collocated distance, k x k; empty for machines too large for a table.
    table: Vec<i64>,
    /// Most of each dimension in each block: `block * dims + dim`.
    pub(crate) upper: Vec<i64>,
    /// Least of each dimension in each block; empty when all are 0.
    pub(crate) lower: Vec<i64>,
    /// What each unit of excess counts in the search, by dimension: dimensions differ in units.
    pub(crate) excess: Vec<f64>,
    /// Sets of blocks that vertices may be confined to; the first is all blocks.
    pub(crate) sets: Vec<Vec<bool>>,
    pub(crate) dims: usize,
}

/// A weighted graph with vertex sizes in several dimensions (load first), to be put into blocks.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) offsets: Vec<u32>,
    pub(crate) targets: Vec<u32>,
    pub(crate) weights: Vec<i64>,
    /// `vertex * dims + dim`.
    pub(crate) size: Vec<i64>,
    /// Index into the sets of blocks, by vertex; empty when all vertices are free.
    pub(crate) set: Vec<u32>,
    /// Vertices that may not share a block with each vertex; empty when there are none.
    pub(crate) apart: Vec<Vec<u32>>,
    pub(crate) shared: Rc<Shared>,
}

impl Instance {
    /// Builds the instance and the vertex of the instance that each vertex of the problem is in.
    pub(crate) fn new(problem: &Problem<'_>) -> Result<(Self, Vec<u32>), Contradiction> {
        let groups = Groups::new(problem)?;
        let (graph, n) = (problem.graph, problem.graph.vertices());
        let machine = match problem.objective {
            Objective::RemoteChannels => flat(problem.machine.blocks()),
            _ => problem.machine.clone(),
        };
        let mut dims = vec![Dim::load(problem)];
        dims.extend(Dim::memory(problem));
        dims.extend(Dim::slots(problem));
        dims.extend(
            problem
                .constraints
                .iter()
                .filter_map(|c| Dim::count(c, problem)),
        );
        let (d, k, m) = (dims.len(), machine.len(), groups.len());

        let mut size = vec![0; m * d];
        for (i, dim) in dims.iter().enumerate() {
            for v in 0..n {
                size[groups.of[v] as usize * d + i] += dim.size[v];
            }
        }
        let mut upper = vec![0; k * d];
        let mut lower = vec![0; k * d];
        for b in 0..k {
            for (i, dim) in dims.iter().enumerate() {
                upper[b * d + i] = dim.upper[b];
                lower[b * d + i] = dim.lower.get(b).copied().unwrap_or(0);
            }
        }
        if lower.iter().all(|&l| l == 0) {
            lower.clear();
        }
        let excess = dims
            .iter()
            .map(|dim| k as f64 / (dim.total().max(1) as f64))
            .collect();
        let base = i64::from(machine.collocated());
        let table = if k <= 2048 {
            let pairs = (0..k as u32).flat_map(|a| (0..k as u32).map(move |b| (a, b)));
            pairs
                .map(|(a, b)| i64::from(machine.distance(a, b)) - base)
                .collect()
        } else {
            Vec::new()
        };
        let shared = Shared {
            machine,
            table,
            upper,
            lower,
            excess,
            sets: groups.sets.clone(),
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
        let alone = m == n && groups.of.iter().enumerate().all(|(v, &g)| g as usize == v);
        let csr = if alone && edges.is_empty() {
            copy(n, 2 * graph.edges(), row)
        } else {
            contract(&groups.of, m, row, &edges)
        };
        let instance = Self {
            offsets: csr.0,
            targets: csr.1,
            weights: csr.2,
            size,
            set: groups.set,
            apart: groups.apart,
            shared: Rc::new(shared),
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
                apart[map[v] as usize].extend(self.apart[v].iter().map(|&u| map[u as usize]));
            }
            for list in &mut apart {
                list.sort_unstable();
                list.dedup();
            }
        }
        let row = |v: u32, visit: &mut dyn FnMut(u32, i64)| {
            self.row(v).for_each(|(u, w)| visit(u, w));
        };
        let (offsets, targets, weights) = contract(map, clusters, row, &[]);
        Self {
            offsets,
            targets,
            weights,
            size,
            set,
            apart,
            shared: Rc::clone(&self.shared),
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

    /// The same instance with other bounds on the load.
    pub(crate) fn with_load_bounds(&self, bounds: &[i64]) -> Self {
        let d = self.dims();
        let mut upper = self.shared.upper.clone();
        for (b, &bound) in bounds.iter().enumerate() {
            upper[b * d] = bound;
        }
        let shared = Shared {
            machine: self.shared.machine.clone(),
            table: self.shared.table.clone(),
            upper,
            lower: self.shared.lower.clone(),
            excess: self.shared.excess.clone(),
            sets: self.shared.sets.clone(),
            dims: d,
        };
        Self {
            shared: Rc::new(shared),
            ..self.clone()
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

    pub(crate) fn load_bound(&self, block: usize) -> i64 {
        self.shared.upper[block * self.shared.dims]
    }

    #[inline]
    pub(crate) fn may_lie(&self, v: u32, block: u32) -> bool {
        self.set.is_empty() || self.shared.sets[self.set[v as usize] as usize][block as usize]
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

fn flat(blocks: &[Block]) -> Machine {
    let members = blocks.iter().map(|b| Tree::Block(*b)).collect();
    Machine::new(
        &Tree::Group {
            distance: 1,
            members,
        },
        0,
    )
    .expect("blocks of a machine")
}

/// One quantity that blocks hold a limited amount of.
struct Dim {
    size: Vec<i64>,
    upper: Vec<i64>,
    lower: Vec<i64>,
}

impl Dim {
    fn total(&self) -> i64 {
        self.size.iter().sum()
    }

    fn load(problem: &Problem<'_>) -> Self {
        Self {
            size: problem.graph.loads().iter().map(|&l| l as i64).collect(),
            upper: problem
                .load_bounds()
                .iter()
                .map(|&l| l.min(NO_LIMIT as u64) as i64)
                .collect(),
            lower: Vec::new(),
        }
    }

    fn memory(problem: &Problem<'_>) -> Option<Self> {
        let blocks = problem.machine.blocks();
        if !problem.graph.has_memory() || blocks.iter().all(|b| b.memory.is_none()) {
            return None;
        }
        let limit = |m: Option<u64>| m.map_or(NO_LIMIT, |m| m.min(NO_LIMIT as u64) as i64);
        Some(Self {
            size: (0..problem.graph.vertices())
                .map(|v| problem.graph.memory(v as u32) as i64)
                .collect(),
            upper: blocks.iter().map(|b| limit(b.memory)).collect(),
            lower: Vec::new(),
        })
    }

    fn slots(problem: &Problem<'_>) -> Option<Self> {
        let blocks = problem.machine.blocks();
        blocks.iter().any(|b| b.slots.is_some()).then(|| Self {
            size: vec![1; problem.graph.vertices()],
            upper: blocks
                .iter()
                .map(|b| b.slots.map_or(NO_LIMIT, i64::from))
                .collect(),
            lower: Vec::new(),
        })
    }

    fn count(constraint: &Constraint, problem: &Problem<'_>) -> Option<Self> {
        let Constraint::Count {
            vertices,
            blocks,
            least,
            most,
        } = constraint
        else {
            return None;
        };
        let k = problem.machine.len();
        let mut dim = Self {
            size: vec![0; problem.graph.vertices()],
            upper: vec![NO_LIMIT; k],
            lower: vec![0; k],
        };
        vertices.iter().for_each(|&v| dim.size[v as usize] = 1);
        for &b in blocks {
            dim.upper[b as usize] = i64::from(*most);
            dim.lower[b as usize] = i64::from(*least);
        }
        Some(dim)
    }
}

type Csr = (Vec<u32>, Vec<u32>, Vec<i64>);

/// The rows as they are, without edges of weight 0.
fn copy(n: usize, entries: usize, row: impl Fn(u32, &mut dyn FnMut(u32, i64))) -> Csr {
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
    (offsets, targets, weights)
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
) -> Csr {
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
    (offsets, targets, weights)
}
