//! From the caller's constraints to groups of vertices that lie together, and the diagnosis of
//! constraints that contradict each other.

use std::collections::BTreeMap;

use crate::diagnose::reduce;
use crate::error::{Conflict, Part};
use crate::problem::{Constraint, Problem};

/// Why no instance could be made; [`explain`] says it.
#[derive(Debug)]
pub(crate) struct Contradiction(Clash);

/// Groups of vertices that must lie together, with what the pins leave of the blocks.
#[derive(Debug)]
pub(crate) struct Groups {
    /// Group of each vertex.
    pub(crate) of: Vec<u32>,
    /// Index of the set of blocks of each group; empty when all are free.
    pub(crate) set: Vec<u32>,
    /// Sets of blocks, the first is all.
    pub(crate) sets: Vec<Vec<bool>>,
    /// Groups each group must keep apart from; empty when none.
    pub(crate) apart: Vec<Vec<u32>>,
    /// A weightless group fixed to each block, where an old mapping pulls; empty without one.
    pub(crate) home: Vec<u32>,
    count: usize,
}

impl Groups {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn new(problem: &Problem<'_>) -> Result<Self, Contradiction> {
        let all: Vec<usize> = (0..problem.constraints.len()).collect();
        let draft = Draft::new(problem, &all);
        if let Some(clash) = draft.impossible_among(problem, &all) {
            return Err(Contradiction(clash));
        }
        Ok(draft.finish(problem))
    }
}

/// A contradiction as first met; not yet minimal.
#[derive(Debug, PartialEq, Eq)]
enum Clash {
    /// The pins of this group leave no block.
    Nowhere(u32),
    /// An `Apart` constraint holds two vertices of one group.
    ApartTogether(usize),
    /// An `Apart` constraint has more groups than its vertices have blocks.
    TooFewBlocks(usize),
    /// A `Count` constraint cannot be met by the number of its vertices.
    Number(usize),
    /// What must lie in these blocks exceeds their memory together (or their slots).
    Memory(Vec<u32>),
    Slots(Vec<u32>),
    /// More of a `Count` constraint's vertices must lie in these blocks than they hold.
    Held(usize, Vec<u32>),
    /// This group needs more memory than any block has in which it may lie.
    Large(u32),
}

struct Draft {
    root: Vec<u32>,
    /// Allowed blocks by root.
    allowed: BTreeMap<u32, Vec<bool>>,
}

/// Sets of blocks that vertices are confined to.
struct Confined {
    /// By root.
    of: Vec<u32>,
    list: Vec<Vec<bool>>,
    /// The sets within each, itself included.
    within: Vec<Vec<usize>>,
}

fn find(root: &mut [u32], mut v: u32) -> u32 {
    while root[v as usize] != v {
        root[v as usize] = root[root[v as usize] as usize];
        v = root[v as usize];
    }
    v
}

impl Draft {
    fn new(problem: &Problem<'_>, active: &[usize]) -> Self {
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
        let mut allowed = BTreeMap::new();
        for &index in active {
            if let Constraint::Pin { vertex, blocks } = &problem.constraints[index] {
                let set = allowed
                    .entry(root[*vertex as usize])
                    .or_insert_with(|| vec![true; k]);
                let mut pinned = vec![false; k];
                blocks.iter().for_each(|&b| pinned[b as usize] = true);
                set.iter_mut().zip(pinned).for_each(|(s, p)| *s &= p);
            }
        }
        Self { root, allowed }
    }

    /// The first contradiction that needs no search.
    fn impossible_among(&self, problem: &Problem<'_>, active: &[usize]) -> Option<Clash> {
        let k = problem.machine.len();
        for (&group, set) in &self.allowed {
            if !set.contains(&true) {
                return Some(Clash::Nowhere(group));
            }
        }
        for &index in active {
            match &problem.constraints[index] {
                Constraint::Apart { vertices } => {
                    let mut distinct = vertices.clone();
                    distinct.sort_unstable();
                    distinct.dedup();
                    let mut groups: Vec<u32> =
                        distinct.iter().map(|&v| self.root[v as usize]).collect();
                    groups.sort_unstable();
                    groups.dedup();
                    if groups.len() < distinct.len() {
                        return Some(Clash::ApartTogether(index));
                    }
                    if !self.distinct_blocks(&groups, k) {
                        return Some(Clash::TooFewBlocks(index));
                    }
                }
                Constraint::Count {
                    vertices,
                    blocks,
                    least,
                    most,
                } => {
                    let mut distinct = vertices.clone();
                    distinct.sort_unstable();
                    distinct.dedup();
                    let mut places = blocks.clone();
                    places.sort_unstable();
                    places.dedup();
                    let number = distinct.len() as u64;
                    let places = places.len() as u64;
                    let short = number < u64::from(*least) * places;
                    let long = places == k as u64 && number > u64::from(*most) * places;
                    if least > most || short || long {
                        return Some(Clash::Number(index));
                    }
                }
                _ => {}
            }
        }
        self.over_capacity(problem, active)
    }

    /// Whether the groups can lie in pairwise different blocks: augmenting paths.
    fn distinct_blocks(&self, groups: &[u32], k: usize) -> bool {
        if groups.len() > k {
            return false;
        }
        let mut taken = vec![usize::MAX; k];
        for start in 0..groups.len() {
            let mut from = vec![usize::MAX; k];
            let mut queue = vec![start];
            let mut free = None;
            let mut next = 0;
            while let (Some(&g), None) = (queue.get(next), free) {
                next += 1;
                for b in 0..k {
                    let open = self.allowed.get(&groups[g]).is_none_or(|set| set[b]);
                    if open && from[b] == usize::MAX {
                        from[b] = g;
                        if taken[b] == usize::MAX {
                            free = Some(b);
                            break;
                        }
                        queue.push(taken[b]);
                    }
                }
            }
            let Some(mut block) = free else { return false };
            loop {
                let group = from[block];
                let before = taken.iter().position(|&t| t == group);
                taken[block] = group;
                match before {
                    Some(b) if group != start => block = b,
                    _ => break,
                }
            }
        }
        true
    }

    /// The pigeonhole principle: what must lie in a set of blocks is more than they take. Only the
    /// sets that groups are confined to are tried, and all blocks.
    fn over_capacity(&self, problem: &Problem<'_>, active: &[usize]) -> Option<Clash> {
        let (n, k) = (problem.graph.vertices(), problem.machine.len());
        let sets = self.confined(n, k);
        let blocks = problem.machine.blocks();
        let list = |set: &[bool]| (0..k as u32).filter(|&b| set[b as usize]).collect();
        // By set: what must lie in it, and what it takes where that is limited everywhere.
        let over = |size: &dyn Fn(u32) -> u64, room: &dyn Fn(usize) -> Option<u64>| {
            let mut own = vec![0_u64; sets.list.len()];
            for v in 0..n {
                own[sets.of[self.root[v] as usize] as usize] += size(v as u32);
            }
            sets.list.iter().enumerate().find(|(s, set)| {
                let rooms = (0..k).filter(|&b| set[b]).map(room);
                let room = rooms.sum::<Option<u64>>();
                let needed: u64 = sets.within[*s].iter().map(|&i| own[i]).sum();
                room.is_some_and(|room| needed > room)
            })
        };
        if problem.graph.has_memory() {
            let mut memory = vec![0_u64; n];
            for v in 0..n {
                memory[self.root[v] as usize] += problem.graph.memory(v as u32);
            }
            let roomiest = |set: &Vec<bool>| {
                let rooms = (0..k).filter(|&b| set[b]);
                let room = rooms.map(|b| blocks[b].memory.unwrap_or(u64::MAX));
                room.max().unwrap_or(0)
            };
            let most: Vec<u64> = sets.list.iter().map(roomiest).collect();
            let large = (0..n).find(|&v| memory[v] > most[sets.of[v] as usize]);
            if let Some(root) = large {
                return Some(Clash::Large(root as u32));
            }
            let over = over(&|v| problem.graph.memory(v), &|b| blocks[b].memory);
            if let Some((_, set)) = over {
                return Some(Clash::Memory(list(set)));
            }
        }
        if let Some((_, set)) = over(&|_| 1, &|b| blocks[b].slots.map(u64::from)) {
            return Some(Clash::Slots(list(set)));
        }
        for &index in active {
            if let Constraint::Count {
                vertices,
                blocks,
                most,
                ..
            } = &problem.constraints[index]
            {
                let mut held = vec![false; n];
                vertices.iter().for_each(|&v| held[v as usize] = true);
                let mut limited = vec![false; k];
                blocks.iter().for_each(|&b| limited[b as usize] = true);
                let size = |v: u32| u64::from(held[v as usize]);
                let room = |b: usize| limited[b].then_some(u64::from(*most));
                if let Some((_, set)) = over(&size, &room) {
                    return Some(Clash::Held(index, list(set)));
                }
            }
        }
        None
    }

    /// The sets of blocks that groups are confined to; the first is all.
    fn confined(&self, n: usize, k: usize) -> Confined {
        let all = vec![true; k];
        let mut list = vec![all.clone()];
        let mut known = BTreeMap::from([(all, 0)]);
        let mut of = vec![0; n];
        for (&root, set) in &self.allowed {
            let next = list.len() as u32;
            let index = *known.entry(set.clone()).or_insert(next);
            if index == next {
                list.push(set.clone());
            }
            of[root as usize] = index;
        }
        let inside = |a: usize, b: usize| {
            let few = list.len() <= 64;
            a == b || b == 0 || few && (0..k).all(|i| list[b][i] || !list[a][i])
        };
        let sets = 0..list.len();
        let within = sets
            .clone()
            .map(|b| sets.clone().filter(|&a| inside(a, b)).collect())
            .collect();
        Confined { of, list, within }
    }

    fn finish(mut self, problem: &Problem<'_>) -> Groups {
        let (n, k) = (problem.graph.vertices(), problem.machine.len());
        let mut number = vec![u32::MAX; n];
        let mut count = 0;
        let mut of = vec![0; n];
        for (v, place) in of.iter_mut().enumerate() {
            let root = self.root[v] as usize;
            if number[root] == u32::MAX {
                number[root] = count;
                count += 1;
            }
            *place = number[root];
        }
        let mut home = Vec::new();
        if problem.migration.is_some() {
            home = (count..count + k as u32).collect();
            count += k as u32;
        }
        let mut sets = vec![vec![true; k]];
        let mut set = Vec::new();
        if !self.allowed.is_empty() || !home.is_empty() {
            set = vec![0; count as usize];
            let mut known = BTreeMap::new();
            for (b, &group) in home.iter().enumerate() {
                let only: Vec<bool> = (0..k).map(|c| c == b).collect();
                set[group as usize] = sets.len() as u32;
                known.insert(only.clone(), sets.len() as u32);
                sets.push(only);
            }
            for (root, allowed) in std::mem::take(&mut self.allowed) {
                let index = *known.entry(allowed.clone()).or_insert_with(|| {
                    sets.push(allowed);
                    sets.len() as u32 - 1
                });
                set[number[root as usize] as usize] = index;
            }
        }
        let mut apart = Vec::new();
        for constraint in problem.constraints {
            if let Constraint::Apart { vertices } = constraint {
                apart.resize(count as usize, Vec::new());
                for &a in vertices {
                    let (a, others) = (of[a as usize], vertices.iter().map(|&b| of[b as usize]));
                    apart[a as usize].extend(others.filter(|&b| b != a));
                }
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
            home,
            count: count as usize,
        }
    }
}

/// Reduces a contradiction to constraints none of which can be left out for the same to be seen:
/// without a search, that is, so that fewer may do.
pub(crate) fn explain(problem: &Problem<'_>, met: Contradiction) -> Conflict {
    let clashes = |active: &[usize]| Draft::new(problem, active).impossible_among(problem, active);
    let mut active: Vec<usize> = (0..problem.constraints.len())
        .filter(|&i| !matches!(problem.constraints[i], Constraint::Prefer { .. }))
        .collect();
    reduce(&mut active, |fewer| clashes(fewer).is_some());
    let mut parts: Vec<Part> = active.iter().map(|&i| Part::Constraint(i)).collect();
    let blocks = |blocks: &[u32]| match blocks {
        [b] => format!("block {b}"),
        _ => format!("{} blocks", blocks.len()),
    };
    let reason = match clashes(&active).unwrap_or(met.0) {
        Clash::Nowhere(v) => {
            format!("what vertex {v} must lie together with is pinned to blocks that share none")
        }
        Clash::ApartTogether(_) => "vertices are kept apart and together at once".to_owned(),
        Clash::TooFewBlocks(_) => {
            "more vertices are kept apart than there are blocks they may lie in".to_owned()
        }
        Clash::Number(i) => number(&problem.constraints[i]),
        Clash::Memory(full) => {
            parts.extend(full.iter().map(|&b| Part::Memory(b)));
            format!(
                "what must lie in {} exceeds the memory there",
                blocks(&full)
            )
        }
        Clash::Slots(full) => {
            parts.extend(full.iter().map(|&b| Part::Slots(b)));
            format!(
                "more vertices must lie in {} than have a slot there",
                blocks(&full)
            )
        }
        Clash::Held(_, full) => {
            format!(
                "more vertices must lie in {} than may be held there",
                blocks(&full)
            )
        }
        Clash::Large(v) => {
            parts.push(Part::Vertex(v));
            let draft = Draft::new(problem, &active);
            let all = 0..problem.machine.len() as u32;
            let open = all.filter(|&b| draft.allowed.get(&v).is_none_or(|set| set[b as usize]));
            parts.extend(open.map(Part::Memory));
            format!(
                "vertex {v} (with what lies together with it) exceeds the memory of every block it may lie in"
            )
        }
    };
    // Pins, groups and one list of what is apart are judged exactly here; more takes a search.
    let how_many = |test: &dyn Fn(&Constraint) -> bool| {
        let constraints = active.iter().map(|&i| &problem.constraints[i]);
        constraints.filter(|c| test(c)).count()
    };
    let apart = how_many(&|c| matches!(c, Constraint::Apart { .. }));
    let count = how_many(&|c| matches!(c, Constraint::Count { .. }));
    let minimal = parts.len() == 1 || parts.len() == active.len() && apart < 2 && count == 0;
    Conflict {
        parts,
        proved: true,
        minimal,
        reason,
    }
}

/// Why a `Count` constraint alone cannot be met.
fn number(constraint: &Constraint) -> String {
    let Constraint::Count {
        vertices,
        blocks,
        least,
        most,
    } = constraint
    else {
        return "the least or most of a kind cannot be met by its number".to_owned();
    };
    let (n, places) = (vertices.len(), blocks.len());
    let many = match n {
        1 => "1 vertex is".to_owned(),
        _ => format!("{n} vertices are"),
    };
    let each = |word: &str, count: u32| match places {
        1 => format!("{many} too {word} {count}"),
        _ => format!("{many} too {word} {count} in each of {places} blocks"),
    };
    if (n as u64) < u64::from(*least) * places as u64 {
        each("few for at least", *least)
    } else {
        each("many for at most", *most)
    }
}
