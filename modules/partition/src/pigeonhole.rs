//! Contradictions that follow from counting alone: some blocks must hold more than they can, or a
//! group is larger than any place. The tested sets of blocks are those that vertices are confined
//! to, places that share a limit, and all blocks. The time is linear in the vertices.

use std::collections::BTreeMap;

use crate::clusters::distinct;
use crate::draft::{Clash, Draft};
use crate::problem::{Constraint, Problem};
use crate::quota::{NO_LIMIT, Quantity, Quota};

/// Most sets of several blocks that are compared pairwise.
const COMPARED: usize = 1000;

/// Tests all limits except load, which is not a hard rule. Returns the first contradiction, or
/// `None`. `active` contains the indices of the constraints to test, from which `draft` must have
/// been made.
pub(crate) fn clash(draft: &Draft, problem: &Problem<'_>, active: &[usize]) -> Option<Clash> {
    let confined = Confined::new(draft);
    let quotas = Quota::all(problem, active);
    let mut sizes = vec![0; problem.graph.vertices()];
    quotas[1..].iter().find_map(|quota| {
        let mut own = vec![0; draft.sets.len()];
        let mut met = Vec::new();
        quota.each(problem, |v, size| {
            let root = draft.root[v as usize];
            own[draft.set[root as usize] as usize] += size;
            if sizes[root as usize] == 0 {
                met.push(root);
            }
            sizes[root as usize] += size;
        });
        let large = confined.large(draft, quota, &met, &sizes);
        met.iter().for_each(|&root| sizes[root as usize] = 0);
        large
            .map(|root| Clash::TooLarge(quota.of, root))
            .or_else(|| confined.over(draft, quota, &own))
            .or_else(|| under(draft, problem, quota, &own))
    })
}

/// Returns blocks that must hold more load than the balance limit allows, and the factor between
/// that load and the limit. Chooses, among the sets of blocks that pins leave to groups, the set
/// with the largest factor. Returns `None` if no factor is above 1.
pub(crate) fn overload(draft: &Draft, problem: &Problem<'_>) -> Option<(Clash, f64)> {
    let confined = Confined::new(draft);
    let load = &Quota::all(problem, &[])[0];
    let mut own = vec![0; draft.sets.len()];
    load.each(problem, |v, size| {
        own[draft.set[draft.root[v as usize] as usize] as usize] += size;
    });
    let factor = |set: usize| {
        let room = load.room(&draft.sets[set]).unwrap_or(NO_LIMIT);
        confined.needed(set, &own) as f64 / room.max(1) as f64
    };
    let most = (1..draft.sets.len()).max_by(|&a, &b| factor(a).total_cmp(&factor(b)))?;
    let over = || Clash::OverLimit(Quantity::Load, draft.sets[most].clone());
    (factor(most) > 1.0).then(|| (over(), factor(most)))
}

/// Returns the factor by which `Count` constraints force the load bounds up, at least 1. Each place
/// must hold at least the load of the `least` lightest vertices. If every place holds `most`
/// vertices, the blocks outside all places must hold the rest.
pub(crate) fn counted(problem: &Problem<'_>) -> f64 {
    let bounds = problem.load_bounds();
    let mut factor = 1.0_f64;
    for constraint in problem.constraints {
        let Constraint::Count {
            vertices,
            places,
            least,
            most,
        } = constraint
        else {
            continue;
        };
        let distinct = distinct(vertices).into_iter();
        let mut loads: Vec<u64> = distinct.map(|v| problem.graph.load(v)).collect();
        loads.sort_unstable();
        let lightest =
            |count: usize| -> u128 { loads.iter().take(count).map(|&load| u128::from(load)).sum() };
        let mut counts = |load: u128, room: u128| {
            factor = factor.max(load as f64 / room.max(1) as f64);
        };
        let wanted = lightest(*least as usize);
        let mut rest = bounds.clone();
        for place in places {
            let room = |&b: &u32| u128::from(std::mem::take(&mut rest[b as usize]));
            counts(wanted, place.iter().map(room).sum());
        }
        let taken = (*most as usize).saturating_mul(places.len());
        let left = loads.len().saturating_sub(taken);
        counts(
            lightest(left),
            rest.iter().map(|&bound| u128::from(bound)).sum(),
        );
    }
    factor
}

/// Sets of blocks that vertices are confined to.
struct Confined {
    /// Sets that are contained in each set, including itself.
    within: Vec<Vec<u32>>,
}

impl Confined {
    fn new(draft: &Draft) -> Self {
        let sets = &draft.sets;
        let mut alone = BTreeMap::new();
        let mut several = Vec::new();
        for (i, set) in sets.iter().enumerate().skip(1) {
            match set[..] {
                [block] => {
                    alone.insert(block, i as u32);
                }
                _ => several.push(i),
            }
        }
        let mut within: Vec<Vec<u32>> = (0..sets.len() as u32).map(|i| vec![i]).collect();
        within[0] = (0..sets.len() as u32).collect();
        if several.len() > COMPARED {
            return Self { within };
        }
        for &i in &several {
            let inside = sets[i].iter().filter_map(|block| alone.get(block));
            within[i].extend(inside);
            let others = several.iter().filter(|&&j| {
                let smaller = sets[j].len() < sets[i].len() && !sets[j].is_empty();
                let both = || sets[j].iter().all(|b| sets[i].binary_search(b).is_ok());
                j != i && smaller && both()
            });
            within[i].extend(others.map(|&j| j as u32));
        }
        Self { within }
    }

    /// Returns the sum that must be in the set of blocks with this index. `own` contains the sum of
    /// the vertices confined to each set.
    fn needed(&self, set: usize, own: &[i64]) -> i64 {
        self.within[set].iter().map(|&s| own[s as usize]).sum()
    }

    /// Returns a clash if some blocks must hold more of the quantity than their limit. `own`
    /// contains the sum of the vertices confined to each set.
    fn over(&self, draft: &Draft, quota: &Quota, own: &[i64]) -> Option<Clash> {
        let too_full = |&set: &usize| {
            let room = quota.room(&draft.sets[set]);
            room.is_some_and(|room| self.needed(set, own) > room)
        };
        if let Some(set) = (0..draft.sets.len()).find(too_full) {
            return Some(Clash::OverLimit(quota.of, draft.sets[set].clone()));
        }
        // Sums vertices that are pinned to different blocks of one place, such as a host. The place
        // itself need not be the set of a pin.
        let mut inside: BTreeMap<u32, i64> = BTreeMap::new();
        for (set, &size) in draft.sets.iter().zip(own).filter(|s| *s.1 > 0) {
            let place = quota.place[set[0] as usize];
            if set.iter().all(|&b| quota.place[b as usize] == place) {
                *inside.entry(place).or_insert(0) += size;
            }
        }
        let full = |(place, size): (&u32, &i64)| *size > quota.upper[*place as usize];
        let (place, _) = inside.iter().find(|e| full(*e))?;
        let all = 0..quota.place.len() as u32;
        let blocks = all.filter(|&b| quota.place[b as usize] == *place);
        Some(Clash::OverLimit(quota.of, blocks.collect()))
    }

    /// Returns the lowest root of the groups in `met` that are too large for every place that they
    /// are allowed in. `sizes` contains the size of each group, by root.
    fn large(&self, draft: &Draft, quota: &Quota, met: &[u32], sizes: &[i64]) -> Option<u32> {
        let roomiest = |set: &Vec<u32>| {
            let rooms = set.iter();
            let rooms = rooms.map(|&b| quota.upper[quota.place[b as usize] as usize]);
            rooms.max().unwrap_or(0)
        };
        let most: Vec<i64> = draft.sets.iter().map(roomiest).collect();
        let large = |&&root: &&u32| sizes[root as usize] > most[draft.set[root as usize] as usize];
        met.iter().filter(large).min().copied()
    }
}

/// Returns a clash if a place of a `Count` constraint requires more vertices than are allowed in
/// it. Returns `None` for any other quota.
fn under(draft: &Draft, problem: &Problem<'_>, quota: &Quota, own: &[i64]) -> Option<Clash> {
    let Quantity::Vertices(index) = quota.of else {
        return None;
    };
    let Constraint::Count { places, least, .. } = &problem.constraints[index] else {
        return None;
    };
    if *least == 0 {
        return None;
    }
    let mut reach: BTreeMap<u32, i64> = BTreeMap::new();
    for (set, &size) in draft.sets.iter().zip(own).filter(|s| *s.1 > 0) {
        for place in quota.places(set) {
            *reach.entry(place).or_insert(0) += size;
        }
    }
    let short = places.iter().find(|place| {
        let first = place.iter().min();
        let near = first.and_then(|first| reach.get(first)).unwrap_or(&0);
        *near < i64::from(*least)
    })?;
    Some(Clash::BelowLimit(index, short.clone()))
}
