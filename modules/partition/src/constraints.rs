//! From the caller's constraints to groups of vertices that lie together, and the diagnosis of
//! constraints that contradict each other.

use crate::error::{Conflict, Error, Part};
use crate::problem::{Constraint, Problem};

/// Why no instance could be made; becomes an [`Error::Infeasible`].
pub(crate) type Contradiction = Box<Conflict>;

impl From<Contradiction> for Error {
    fn from(conflict: Contradiction) -> Self {
        Self::Infeasible(*conflict)
    }
}

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
        let tally = draft.impossible(problem);
        if let Some(clash) = tally {
            return Err(Box::new(explain(problem, &clash)));
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
    /// Vertices fixed to this block exceed its memory (or slots).
    Memory(u32),
    Slots(u32),
}

struct Draft {
    root: Vec<u32>,
    /// Allowed blocks by root.
    allowed: std::collections::BTreeMap<u32, Vec<bool>>,
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
        let mut allowed = std::collections::BTreeMap::new();
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
    fn impossible(&self, problem: &Problem<'_>) -> Option<Clash> {
        self.impossible_among(problem, &(0..problem.constraints.len()).collect::<Vec<_>>())
    }

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
        self.over_capacity(problem)
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

    fn over_capacity(&self, problem: &Problem<'_>) -> Option<Clash> {
        if self.allowed.is_empty() {
            return None;
        }
        let k = problem.machine.len();
        let (mut memory, mut count) = (vec![0_u64; k], vec![0_u64; k]);
        for v in 0..problem.graph.vertices() {
            let Some(set) = self.allowed.get(&self.root[v]) else {
                continue;
            };
            let mut blocks = set.iter().enumerate().filter(|s| *s.1).map(|s| s.0);
            if let (Some(only), None) = (blocks.next(), blocks.next()) {
                memory[only] += problem.graph.memory(v as u32);
                count[only] += 1;
            }
        }
        for (b, block) in problem.machine.blocks().iter().enumerate() {
            if block.memory.is_some_and(|most| memory[b] > most) {
                return Some(Clash::Memory(b as u32));
            }
            if block.slots.is_some_and(|most| count[b] > u64::from(most)) {
                return Some(Clash::Slots(b as u32));
            }
        }
        None
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
            let mut known = std::collections::BTreeMap::new();
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

/// Reduces a contradiction to constraints none of which can be left out.
fn explain(problem: &Problem<'_>, clash: &Clash) -> Conflict {
    let clashes = |active: &[usize]| Draft::new(problem, active).impossible_among(problem, active);
    let mut active = suspects(problem, clash);
    if clashes(&active).is_none() {
        active = (0..problem.constraints.len()).collect();
    }
    // Leave out what is not needed; few constraints touch one group, so the square is small.
    if active.len() <= 2000 {
        let mut at = 0;
        while at < active.len() {
            let mut fewer = active.clone();
            fewer.remove(at);
            if clashes(&fewer).is_some() {
                active = fewer;
            } else {
                at += 1;
            }
        }
    }
    let last = clashes(&active);
    let mut parts: Vec<Part> = active.iter().map(|&i| Part::Constraint(i)).collect();
    let reason = match last.as_ref().unwrap_or(clash) {
        Clash::Nowhere(v) => {
            format!("what vertex {v} must lie together with is pinned to blocks that share none")
        }
        Clash::ApartTogether(_) => "vertices are kept apart and together at once".to_owned(),
        Clash::TooFewBlocks(_) => {
            "more vertices are kept apart than there are blocks they may lie in".to_owned()
        }
        Clash::Number(i) => number(&problem.constraints[*i], problem.machine.len()),
        Clash::Memory(b) => {
            parts.push(Part::Memory(*b));
            format!("what is pinned to block {b} exceeds its memory")
        }
        Clash::Slots(b) => {
            parts.push(Part::Slots(*b));
            format!("more vertices are pinned to block {b} than it has slots")
        }
    };
    Conflict {
        parts,
        proved: true,
        reason,
    }
}

/// Why a `Count` constraint alone cannot be met.
fn number(constraint: &Constraint, k: usize) -> String {
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
    if u64::from(*most) * (places as u64) < n as u64 && places == k {
        format!("{n} vertices are too many for {places} blocks with at most {most} each")
    } else {
        format!("{n} vertices are too few for {places} blocks with at least {least} each")
    }
}

/// Constraints that can have to do with a clash: those that reach its vertices over `Together`.
fn suspects(problem: &Problem<'_>, clash: &Clash) -> Vec<usize> {
    let n = problem.graph.vertices();
    let mut reached = vec![false; n];
    let seeds: &[u32] = match clash {
        Clash::Nowhere(v) => std::slice::from_ref(v),
        Clash::ApartTogether(i) | Clash::TooFewBlocks(i) => match &problem.constraints[*i] {
            Constraint::Apart { vertices } => vertices,
            _ => &[],
        },
        Clash::Number(i) => return vec![*i],
        Clash::Memory(_) | Clash::Slots(_) => return (0..problem.constraints.len()).collect(),
    };
    seeds.iter().for_each(|&v| reached[v as usize] = true);
    let mut taken = vec![false; problem.constraints.len()];
    loop {
        let mut grew = false;
        for (index, constraint) in problem.constraints.iter().enumerate() {
            let vertices: &[u32] = match constraint {
                Constraint::Together { vertices } => vertices,
                Constraint::Pin { vertex, .. } => std::slice::from_ref(vertex),
                _ => continue,
            };
            if !taken[index] && vertices.iter().any(|&v| reached[v as usize]) {
                taken[index] = true;
                grew = true;
                vertices.iter().for_each(|&v| reached[v as usize] = true);
            }
        }
        if !grew {
            break;
        }
    }
    if let Clash::ApartTogether(i) | Clash::TooFewBlocks(i) = clash {
        taken[*i] = true;
    }
    (0..taken.len()).filter(|&i| taken[i]).collect()
}
