//! A set in the order of keys, without writing its members out where the keys have an order of their own.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::build::Builder;
use crate::error::Error;
use crate::map::RankMap;
use crate::progression::Progression;

/// Up to so many different keys there is a walk through the set for each.
const KEYS: usize = 16;
/// What may be held of runs beside a byte a member.
const HELD: u64 = 64 << 10;

/// Ranks of the set whose keys do not descend; or do, each smaller than the one before.
#[derive(Clone, Copy)]
struct Run {
    from: u32,
    last: u32,
    descends: bool,
}

/// The members of an ascending map by their keys, equal ones in the order they are in.
///
/// Keys that ascend or descend in few runs are merged as they come, `O(n log r)` for `r` runs; of few different keys there
/// is a walk for each. Else the members are sorted in place, `O(n log n)` and four bytes a member while it lasts.
pub(super) fn ordered(
    builder: &Builder,
    set: &RankMap,
    key: &dyn Fn(u32) -> i64,
) -> Result<RankMap, Error> {
    if let Some(keys) = few_keys(set, key) {
        return builder.source(&|give| {
            for wanted in &keys {
                let of_it = set.iter().filter(|rank| key(*rank) == *wanted);
                of_it.for_each(|rank| give(Progression::valid(rank, 1, 1)));
            }
        });
    }
    if let Some(runs) = runs(set, key) {
        return builder.source(&|give| merged(set, key, &runs, give));
    }
    let mut members: Vec<u32> = set.iter().collect();
    members.sort_unstable_by_key(|rank| (key(*rank), *rank));
    builder.slice(&members)
}

fn few_keys(set: &RankMap, key: &dyn Fn(u32) -> i64) -> Option<BTreeSet<i64>> {
    let mut keys = BTreeSet::new();
    for rank in set.iter() {
        if keys.insert(key(rank)) && keys.len() > KEYS {
            return None;
        }
    }
    Some(keys)
}

/// The runs, unless these are many.
fn runs(set: &RankMap, key: &dyn Fn(u32) -> i64) -> Option<Vec<Run>> {
    let most = (set.len() + HELD) / size_of::<(Run, Reverse<(i64, u32, usize)>)>() as u64;
    let mut runs: Vec<Run> = Vec::new();
    let mut before = 0;
    for (index, rank) in (0..).zip(set.iter()) {
        let key = key(rank);
        let (from, last) = (index, index);
        let full = runs.len() as u64 == most;
        match runs.last_mut() {
            // The second says in which direction it goes.
            Some(run) if run.from == run.last => {
                (run.last, run.descends) = (index, key < before);
            }
            Some(run) if run.descends == (key < before) => run.last = index,
            _ if full => return None,
            _ => runs.push(Run {
                from,
                last,
                descends: false,
            }),
        }
        before = key;
    }
    Some(runs)
}

/// All runs at once, the smallest key next, of equal ones the first.
fn merged(
    set: &RankMap,
    key: &dyn Fn(u32) -> i64,
    runs: &[Run],
    give: &mut dyn FnMut(Progression),
) {
    let entry = |index: u32, run: usize| Reverse((key(set.at(index)), index, run));
    let mut heads = BinaryHeap::with_capacity(runs.len());
    for (run, is) in runs.iter().enumerate() {
        heads.push(entry(if is.descends { is.last } else { is.from }, run));
    }
    while let Some(Reverse((_, index, run))) = heads.pop() {
        give(Progression::valid(set.at(index), 1, 1));
        let is = &runs[run];
        let next = match is.descends {
            true => index.checked_sub(1).filter(|next| *next >= is.from),
            false => index.checked_add(1).filter(|next| *next <= is.last),
        };
        if let Some(next) = next {
            heads.push(entry(next, run));
        }
    }
}
