//! Translates constraints into groups of vertices, and finds contradictions that need no search.

use crate::clusters::{distinct, in_order, lifted, lowered, marks, number};
use crate::draft::{Clash, Draft, NO_PLACE, layer, repeated_roots};
use crate::pigeonhole;
use crate::problem::{Constraint, Problem};
use crate::quota::{Quota, by_pairs};

/// Groups of vertices that must be together, with the blocks that pins leave to them.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Group of each vertex. Empty if each vertex is its own group.
    pub(crate) of: Vec<u32>,
    /// Index into `sets`, by group. Empty if no group is confined.
    pub(crate) set: Vec<u32>,
    /// Sets of blocks. The first one contains all blocks.
    pub(crate) sets: Vec<Vec<bool>>,
    /// Groups that each group must be apart from, each with a layer. Empty if there are none.
    pub(crate) apart: Vec<Vec<(u32, u32)>>,
    /// First block of the place of each block, by layer. In the first layer each block is a place.
    pub(crate) layers: Vec<Vec<u32>>,
    /// First of the groups that stand for the blocks of an old mapping. They have no load, and each
    /// is pinned to its block.
    pub(crate) home: u32,
    pub(crate) count: usize,
}

impl Groups {
    pub(crate) fn new(problem: &Problem<'_>) -> Result<Self, Clash> {
        let (n, k) = (problem.graph.vertices(), problem.machine.len());
        if problem.constraints.is_empty()
            && problem.migration.is_none()
            && Quota::all(problem, &[]).len() == 1
        {
            // Without constraints, with load as the only limit, each vertex is a group.
            return Ok(Self {
                sets: vec![vec![true; k]],
                layers: vec![layer(&[], k)],
                count: n,
                ..Self::default()
            });
        }
        let all: Vec<usize> = (0..problem.constraints.len()).collect();
        let draft = Draft::new(problem, &all);
        if let Some(clash) = clash(&draft, problem, &all) {
            return Err(clash);
        }
        let mut of = draft.root.clone();
        let mut count = in_order(&mut of, n) as u32;
        let mut set = lifted(&of, count as usize, &lowered(&draft.root, &draft.set));
        let mut sets: Vec<Vec<bool>> = draft.sets.iter().map(|list| marks(list, k)).collect();
        let home = count;
        if problem.migration.is_some() {
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
            if let Constraint::Apart { vertices, places } = constraint
                && by_pairs(vertices)
            {
                let number = number(&mut layers, layer(places, k)) as u32;
                apart.resize(count as usize, Vec::new());
                let groups = lowered(vertices, &of);
                for &a in &groups {
                    let others = groups.iter().filter(|&&b| b != a);
                    apart[a as usize].extend(others.map(|&b| (b, number)));
                }
            }
        }
        for list in &mut apart {
            list.sort_unstable();
            list.dedup();
        }
        Ok(Self {
            of,
            set,
            sets,
            apart,
            layers,
            home,
            count: count as usize,
        })
    }
}

/// Returns the first contradiction that needs no search, or `None` if none is found. Considers the
/// limits of the machine, and only the constraints with the indices in `active`. `draft` must have
/// been made from the same constraints. `None` does not mean that a mapping exists.
pub(crate) fn clash(draft: &Draft, problem: &Problem<'_>, active: &[usize]) -> Option<Clash> {
    let empty = |&set: &u32| draft.sets[set as usize].is_empty();
    if let Some(nowhere) = draft.set.iter().position(empty) {
        return Some(Clash::NoBlock(nowhere as u32));
    }
    let k = problem.machine.len();
    let mut rules = active.iter().map(|&i| (i, &problem.constraints[i]));
    let alone = rules.find_map(|(index, constraint)| match constraint {
        Constraint::Apart { vertices, places } => crowded(draft, index, vertices, places, k),
        Constraint::Count {
            vertices,
            places,
            least,
            most,
        } => {
            let number = distinct(vertices).len() as u64;
            let held = places.len() as u64;
            let short = number < u64::from(*least) * held;
            let all = places.iter().map(Vec::len).sum::<usize>() == k;
            let long = all && number > u64::from(*most) * held;
            (least > most || short || long).then_some(Clash::Number(index))
        }
        _ => None,
    });
    alone.or_else(|| pigeonhole::clash(draft, problem, active))
}

/// Returns a clash if these vertices cannot be kept apart. It is [`Clash::ApartTogether`] if two of
/// them are in one group that is not allowed outside the places. It is [`Clash::TooFew`] if the
/// groups cannot be in different places. `index` is the index of the constraint, and `k` is the
/// number of blocks. Considers only the groups of `draft` and their allowed blocks.
fn crowded(
    draft: &Draft,
    index: usize,
    vertices: &[u32],
    places: &[Vec<u32>],
    k: usize,
) -> Option<Clash> {
    let layer = layer(places, k);
    // Groups that are allowed outside all places do not take one.
    let inside = |&root: &u32| {
        let mut open = draft.open(root).iter();
        open.all(|&b| layer[b as usize] != NO_PLACE)
    };
    if let Some(&root) = repeated_roots(vertices, &draft.root)
        .iter()
        .find(|r| inside(r))
    {
        return Some(Clash::ApartTogether(index, root));
    }
    let mut roots = distinct(&lowered(vertices, &draft.root));
    roots.retain(inside);
    let mut there = distinct(&layer);
    there.retain(|&p| p != NO_PLACE);
    let (pinned, free): (Vec<u32>, Vec<u32>) =
        roots.iter().partition(|&&r| draft.set[r as usize] != 0);
    let full = pinned.len() + free.len() > there.len();
    // Free groups get the places that the pinned ones leave.
    (full || !distinct_places(draft, &pinned, &layer)).then_some(Clash::TooFew(index))
}

/// Returns true if the groups can be in pairwise different places. Searches augmenting paths. Each
/// block that is open to a group must be in a place. Otherwise the call panics.
fn distinct_places(draft: &Draft, roots: &[u32], layer: &[u32]) -> bool {
    let k = layer.len();
    let mut taken = vec![usize::MAX; k];
    let mut place_of = vec![usize::MAX; roots.len()];
    for start in 0..roots.len() {
        let mut from = vec![usize::MAX; k];
        let mut open = vec![start];
        let mut place = 'search: loop {
            let Some(g) = open.pop() else { return false };
            for &b in draft.open(roots[g]) {
                let place = layer[b as usize] as usize;
                if from[place] == usize::MAX {
                    from[place] = g;
                    if taken[place] == usize::MAX {
                        break 'search place;
                    }
                    open.push(taken[place]);
                }
            }
        };
        // Each group on the path gets the place that was reached from it. The first group had none.
        while place != usize::MAX {
            let group = from[place];
            taken[place] = group;
            place = std::mem::replace(&mut place_of[group], place);
        }
    }
    true
}
