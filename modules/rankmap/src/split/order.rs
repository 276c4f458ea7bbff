//! A set in the order of keys, without an array of its members if the keys have a simple order.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::build::Builder;
use crate::error::Error;
use crate::map::RankMap;
use crate::progression::Progression;

/// Largest number of different keys for which the set is walked once for each key.
const KEYS: usize = 16;
/// Number of bytes that runs may take beyond a byte a member.
const HELD: u64 = 64 << 10;

/// Consecutive members whose keys do not descend, or whose keys strictly descend.
#[derive(Clone, Copy)]
struct Run {
    from: u32,
    last: u32,
    descends: bool,
}

/// Returns the members of the ascending map `set` in ascending order of their keys. Members with
/// equal keys keep their order. `key` returns the key of a member.
///
/// The set is walked once for each key if there are at most [`KEYS`] different keys. Keys that
/// ascend or descend in `r` runs, with a small `r`, are merged in `O(n log r)`. Otherwise the
/// members are sorted in an array, in `O(n log n)` and with four bytes a member.
///
/// Returns an error only if `key` returns different values for the same member.
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

/// Returns the runs of keys, as positions in `set`, in ascending order. Returns `None` if they
/// would take more space than one byte a member plus [`HELD`].
fn runs(set: &RankMap, key: &dyn Fn(u32) -> i64) -> Option<Vec<Run>> {
    let most = (set.len() + HELD) / size_of::<(Run, Reverse<(i64, u32, usize)>)>() as u64;
    let mut runs: Vec<Run> = Vec::new();
    let mut before = 0;
    for (index, rank) in (0..).zip(set.iter()) {
        let key = key(rank);
        let (from, last) = (index, index);
        let full = runs.len() as u64 == most;
        match runs.last_mut() {
            // The second member determines the direction of the run.
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

/// Merges all runs: gives the members in ascending order of key, each as a progression of one term.
/// Of equal keys, the first in the set comes first. `runs` must be the result of [`runs`] for this
/// set.
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
