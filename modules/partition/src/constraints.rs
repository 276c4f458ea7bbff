//! From the caller's constraints to groups of vertices that lie together, and what can be seen to
//! be impossible without a search.

use std::collections::BTreeMap;

use crate::pigeonhole;
use crate::problem::{Constraint, Problem};
use crate::quota::{Of, Quota, by_pairs};
use crate::union::find;

/// No place for those who keep apart.
pub(crate) const OUTSIDE: u32 = u32::MAX;

/// Groups of vertices that must lie together, with what the pins leave of the blocks.
#[derive(Debug)]
pub(crate) struct Groups {
    /// Group of each vertex; empty when each is its own.
    pub(crate) of: Vec<u32>,
    /// Index of the set of blocks of each group; empty when all are free.
    pub(crate) set: Vec<u32>,
    /// Sets of blocks, the first is all.
    pub(crate) sets: Vec<Vec<bool>>,
    /// Groups each group must keep apart from, each with a layer; empty when none.
    pub(crate) apart: Vec<Vec<(u32, u32)>>,
    /// By layer and block the first block of the place; the places of the first are the blocks.
    pub(crate) layers: Vec<Vec<u32>>,
    /// A weightless group fixed to each block, where an old mapping pulls; empty without one.
    pub(crate) home: Vec<u32>,
    count: usize,
}

impl Groups {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The group of a vertex.
    #[inline]
    pub(crate) fn at(&self, v: usize) -> usize {
        self.of.get(v).map_or(v, |&g| g as usize)
    }

    pub(crate) fn new(problem: &Problem<'_>) -> Result<Self, Clash> {
        if problem.constraints.is_empty()
            && problem.migration.is_none()
            && Quota::all(problem, &[]).len() == 1
        {
            return Ok(Self::alone(problem));
        }
        let all: Vec<usize> = (0..problem.constraints.len()).collect();
        let draft = Draft::new(problem, &all);
        match draft.clash(problem, &all) {
            Some(clash) => Err(clash),
            None => Ok(draft.finish(problem)),
        }
    }
}

impl Groups {
    /// Nothing ties anything, and nothing but the load is limited.
    fn alone(problem: &Problem<'_>) -> Self {
        let k = problem.machine.len();
        Self {
            of: Vec::new(),
            set: Vec::new(),
            sets: vec![vec![true; k]],
            apart: Vec::new(),
            layers: vec![layer(&[], k)],
            home: Vec::new(),
            count: problem.graph.vertices(),
        }
    }
}

/// A contradiction as first met; not yet minimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Clash {
    /// The pins of this group leave no block.
    Nowhere(u32),
    /// An `Apart` constraint holds two vertices of this group.
    ApartTogether(usize, u32),
    /// An `Apart` constraint has more groups than its vertices have places.
    TooFew(usize),
    /// A `Count` constraint cannot be met by the number of its vertices.
    Number(usize),
    /// What must lie in these blocks is more than they hold together.
    Over(Of, Vec<u32>),
    /// Fewer vertices of a `Count` constraint can lie in one of its places than it wants.
    Under(usize, Vec<u32>),
    /// This group alone is more than any place holds in which it may lie.
    Large(Of, u32),
}

/// Groups by their first vertex, with the blocks that the pins leave them.
pub(crate) struct Draft {
    pub(crate) root: Vec<u32>,
    /// By root: which set of blocks.
    pub(crate) set: Vec<u32>,
    /// Sets of blocks, ascending; the first is all.
    pub(crate) sets: Vec<Vec<u32>>,
}

impl Draft {
    pub(crate) fn new(problem: &Problem<'_>, active: &[usize]) -> Self {
        let (n, k) = (problem.graph.vertices(), problem.machine.len());
        let mut root: Vec<u32> = (0..n as u32).collect();
        for &index in active {
            if let Constraint::Together { vertices } = &problem.constraints[index] {
                for pair in vertices.windows(2) {
                    let (a, b) = (find(&mut root, pair[0]), find(&mut root, pair[1]));
                    // The smaller number leads, so that groups keep the order of their vertices.
                    root[a.max(b) as usize] = a.min(b);
                }
            }
        }
        for v in 0..n as u32 {
            root[v as usize] = find(&mut root, v);
        }
        let mut sets = Sets::new(k);
        let mut set = vec![0; n];
        // One rule says the same of many vertices in a row.
        let mut last: Option<(*const u32, u32)> = None;
        for &index in active {
            if let Constraint::Pin { vertex, blocks } = &problem.constraints[index] {
                let here = match last {
                    Some((seen, known)) if seen == blocks.as_ptr() => known,
                    _ => sets.number(blocks),
                };
                last = Some((blocks.as_ptr(), here));
                let place = &mut set[root[*vertex as usize] as usize];
                *place = sets.meet(*place, here);
            }
        }
        for &index in active {
            let Constraint::Apart { vertices, places } = &problem.constraints[index] else {
                continue;
            };
            // Two of a group lie in one block: nowhere but outside of these places.
            let layer = layer(places, k);
            let outside = (0..k as u32).filter(|&b| layer[b as usize] == OUTSIDE);
            let outside: Vec<u32> = outside.collect();
            if outside.is_empty() {
                continue;
            }
            let outside = sets.number(&outside);
            for root in twice(vertices, &root) {
                let place = &mut set[root as usize];
                *place = sets.meet(*place, outside);
            }
        }
        Self {
            root,
            set,
            sets: sets.list,
        }
    }

    /// The blocks that the group of a vertex may lie in.
    pub(crate) fn open(&self, v: u32) -> &[u32] {
        &self.sets[self.set[self.root[v as usize] as usize] as usize]
    }

    /// The first contradiction that needs no search.
    pub(crate) fn clash(&self, problem: &Problem<'_>, active: &[usize]) -> Option<Clash> {
        if let Some(nowhere) = self
            .set
            .iter()
            .position(|&s| self.sets[s as usize].is_empty())
        {
            return Some(Clash::Nowhere(nowhere as u32));
        }
        let k = problem.machine.len();
        let alone = active
            .iter()
            .find_map(|&index| match &problem.constraints[index] {
                Constraint::Apart { vertices, places } => self.crowded(index, vertices, places, k),
                Constraint::Count {
                    vertices,
                    places,
                    least,
                    most,
                } => {
                    let mut distinct = vertices.clone();
                    distinct.sort_unstable();
                    distinct.dedup();
                    let number = distinct.len() as u64;
                    let held = places.len() as u64;
                    let short = number < u64::from(*least) * held;
                    let all = places.iter().map(Vec::len).sum::<usize>() == k;
                    let long = all && number > u64::from(*most) * held;
                    (least > most || short || long).then_some(Clash::Number(index))
                }
                _ => None,
            });
        alone.or_else(|| pigeonhole::clash(self, problem, active))
    }

    /// Whether these vertices cannot be kept apart.
    fn crowded(
        &self,
        index: usize,
        vertices: &[u32],
        places: &[Vec<u32>],
        k: usize,
    ) -> Option<Clash> {
        let layer = layer(places, k);
        // Who may lie where nothing is kept apart is in nobody's way.
        let inside = |&root: &u32| {
            self.open(root)
                .iter()
                .all(|&b| layer[b as usize] != OUTSIDE)
        };
        if let Some(&root) = twice(vertices, &self.root).iter().find(|r| inside(r)) {
            return Some(Clash::ApartTogether(index, root));
        }
        let mut roots: Vec<u32> = vertices.iter().map(|&v| self.root[v as usize]).collect();
        roots.sort_unstable();
        roots.dedup();
        roots.retain(inside);
        let mut there = layer.clone();
        there.sort_unstable();
        there.dedup();
        there.retain(|&p| p != OUTSIDE);
        let (pinned, free): (Vec<u32>, Vec<u32>) =
            roots.iter().partition(|&&r| self.set[r as usize] != 0);
        let full = pinned.len() + free.len() > there.len();
        // Who is free takes what is left.
        (full || !self.distinct_places(&pinned, &layer)).then_some(Clash::TooFew(index))
    }

    /// Whether the groups can lie in pairwise different places: augmenting paths.
    fn distinct_places(&self, roots: &[u32], layer: &[u32]) -> bool {
        let k = layer.len();
        let mut taken = vec![usize::MAX; k];
        let mut place_of = vec![usize::MAX; roots.len()];
        for start in 0..roots.len() {
            let mut from = vec![usize::MAX; k];
            let mut queue = vec![start];
            let mut free = None;
            let mut next = 0;
            while let (Some(&g), None) = (queue.get(next), free) {
                next += 1;
                for &b in self.open(roots[g]) {
                    let place = layer[b as usize] as usize;
                    if from[place] == usize::MAX {
                        from[place] = g;
                        if taken[place] == usize::MAX {
                            free = Some(place);
                            break;
                        }
                        queue.push(taken[place]);
                    }
                }
            }
            let Some(mut place) = free else { return false };
            loop {
                let group = from[place];
                taken[place] = group;
                let before = std::mem::replace(&mut place_of[group], place);
                if group == start {
                    break;
                }
                place = before;
            }
        }
        true
    }

    fn finish(self, problem: &Problem<'_>) -> Groups {
        let (n, k) = (problem.graph.vertices(), problem.machine.len());
        let mut number = vec![u32::MAX; n];
        let mut count = 0;
        let mut of = vec![0; n];
        let mut set = Vec::new();
        for (v, place) in of.iter_mut().enumerate() {
            let root = self.root[v] as usize;
            if number[root] == u32::MAX {
                number[root] = count;
                count += 1;
                set.push(self.set[root]);
            }
            *place = number[root];
        }
        let mut sets: Vec<Vec<bool>> = self.sets.iter().map(|list| marks(list, k)).collect();
        let mut home = Vec::new();
        if problem.migration.is_some() {
            home = (count..count + k as u32).collect();
            count += k as u32;
            for b in 0..k as u32 {
                set.push(sets.len() as u32);
                sets.push(marks(&[b], k));
            }
        }
        if set.iter().all(|&s| s == 0) {
            set.clear();
            sets.truncate(1);
        }
        let mut apart: Vec<Vec<(u32, u32)>> = Vec::new();
        let mut layers = vec![layer(&[], k)];
        for constraint in problem.constraints {
            let Constraint::Apart { vertices, places } = constraint else {
                continue;
            };
            if !by_pairs(vertices) {
                continue;
            }
            let own = layer(places, k);
            let known = layers.iter().position(|l| *l == own);
            let number = known.unwrap_or(layers.len()) as u32;
            if known.is_none() {
                layers.push(own);
            }
            apart.resize(count as usize, Vec::new());
            for &a in vertices {
                let (a, others) = (of[a as usize], vertices.iter().map(|&b| of[b as usize]));
                let others = others.filter(|&b| b != a);
                apart[a as usize].extend(others.map(|b| (b, number)));
            }
        }
        for list in &mut apart {
            list.sort_unstable();
            list.dedup();
        }
        Groups {
            of,
            set,
            sets,
            apart,
            layers,
            home,
            count: count as usize,
        }
    }
}

/// The roots of several of the vertices, ascending.
pub(crate) fn twice(vertices: &[u32], root: &[u32]) -> Vec<u32> {
    let mut distinct = vertices.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let mut roots: Vec<u32> = distinct.into_iter().map(|v| root[v as usize]).collect();
    roots.sort_unstable();
    let mut twice: Vec<u32> = roots
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
        .collect();
    twice.dedup();
    twice
}

/// The first block of the place of each block; without places each block is one.
fn layer(places: &[Vec<u32>], k: usize) -> Vec<u32> {
    if places.is_empty() {
        return (0..k as u32).collect();
    }
    let mut layer = vec![OUTSIDE; k];
    for place in places {
        let first = place.iter().min();
        for &b in place {
            layer[b as usize] = *first.unwrap_or(&b);
        }
    }
    layer
}

fn marks(blocks: &[u32], k: usize) -> Vec<bool> {
    let mut marks = vec![false; k];
    blocks.iter().for_each(|&b| marks[b as usize] = true);
    marks
}

/// Sets of blocks by number, each but once.
struct Sets {
    list: Vec<Vec<u32>>,
    known: BTreeMap<Vec<u32>, u32>,
    met: BTreeMap<(u32, u32), u32>,
}

impl Sets {
    fn new(k: usize) -> Self {
        let all: Vec<u32> = (0..k as u32).collect();
        Self {
            list: vec![all.clone()],
            known: BTreeMap::from([(all, 0)]),
            met: BTreeMap::new(),
        }
    }

    fn number(&mut self, blocks: &[u32]) -> u32 {
        let mut blocks = blocks.to_vec();
        blocks.sort_unstable();
        blocks.dedup();
        if let Some(&known) = self.known.get(&blocks) {
            return known;
        }
        let next = self.list.len() as u32;
        self.known.insert(blocks.clone(), next);
        self.list.push(blocks);
        next
    }

    /// The set of the blocks in both.
    fn meet(&mut self, a: u32, b: u32) -> u32 {
        if a == 0 || a == b {
            return b;
        }
        if let Some(&known) = self.met.get(&(a, b)) {
            return known;
        }
        let other = &self.list[b as usize];
        let both = self.list[a as usize].iter().copied();
        let both: Vec<u32> = both.filter(|x| other.binary_search(x).is_ok()).collect();
        let met = self.number(&both);
        self.met.insert((a, b), met);
        met
    }
}
