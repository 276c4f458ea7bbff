//! Repairs violated constraints other than load bounds: pins, limits, and vertices to be kept
//! apart.
//!
//! A misplaced vertex moves to the cheapest part that allows it, even if that part is full. The
//! load bounds are then restored by the cheapest moves.

use std::collections::BinaryHeap;

use super::mapping::Mapping;
use super::refine::{relieve, unload};
use crate::tuning::large::{CANDIDATES, ROUNDS};

/// Reduces the violations, in at most [`ROUNDS`] rounds. Some violations may remain. Then load
/// bounds may be exceeded too.
pub(crate) fn repair(mapping: &mut Mapping<'_>) {
    for round in 0..ROUNDS {
        if mapping.violation() == 0 {
            break;
        }
        // In the last rounds, no vertex may move to a part without enough space.
        let fill = round + 2 < ROUNDS;
        scatter(mapping, fill);
        let limits = mapping.constraints.as_ref().map(|kept| kept.limits);
        for at in 0..limits.map_or(0, |limits| limits.sums.len()) {
            empty(mapping, at);
            gather(mapping, at, fill);
        }
        unload(mapping);
    }
}

/// Moves vertices that are in a part that is not open to them, or in a place with a vertex from
/// which they must be kept apart. Each moves to the cheapest part that allows it, if there is one.
/// If `fill` is true, load bounds are ignored.
fn scatter(mapping: &mut Mapping<'_>, fill: bool) {
    let all = 0..mapping.parts.len() as u32;
    for v in 0..mapping.level.len() as u32 {
        if mapping.is_misplaced(v)
            && let Some((_, to)) = mapping.cheapest(v, all.clone(), fill)
        {
            mapping.shift(v, to);
        }
    }
}

/// Moves vertices out of the parts of the sum with index `at`, as far as possible, until the sum is
/// not above its limit.
fn empty(mapping: &mut Mapping<'_>, at: usize) {
    let Some(kept) = mapping.constraints.as_ref().filter(|k| k.over(at) > 0) else {
        return;
    };
    let (held, dim) = (kept.held, kept.limits.sums[at].further);
    let over = |mapping: &Mapping<'_>, p: u32| {
        let kept = mapping.constraints.as_ref();
        kept.is_some_and(|k| k.at(p, dim) == at && k.over(at) > 0)
    };
    relieve(mapping, over, |v| held.further(v)[dim]);
}

/// Moves vertices into the parts of the sum with index `at`, the cheapest first, until it is not
/// below its limit. Tries at most about [`CANDIDATES`] vertices. If `fill` is true, load bounds are
/// ignored.
fn gather(mapping: &mut Mapping<'_>, at: usize, fill: bool) {
    let Some(kept) = mapping.constraints.as_ref().filter(|k| k.under(at) > 0) else {
        return;
    };
    let (held, dim) = (kept.held, kept.limits.sums[at].further);
    let mut here: Vec<u32> = (0..mapping.parts.len() as u32).collect();
    here.retain(|&p| kept.at(p, dim) == at);
    let outside =
        |v: &u32| held.further(*v)[dim] > 0 && kept.at(mapping.part[*v as usize], dim) != at;
    let all: Vec<u32> = (0..mapping.level.len() as u32).filter(outside).collect();
    let step = all.len().div_ceil(CANDIDATES).max(1);
    let mut heap = BinaryHeap::new();
    for &v in all.iter().step_by(step) {
        let found = mapping.cheapest(v, here.iter().copied(), fill);
        heap.extend(found.map(|(gain, to)| (gain, v, to)));
    }
    while let Some((gain, v, _)) = heap.pop() {
        if mapping
            .constraints
            .as_ref()
            .is_none_or(|k| k.under(at) == 0)
        {
            return;
        }
        let Some((now, to)) = mapping.cheapest(v, here.iter().copied(), fill) else {
            continue;
        };
        if now < gain {
            heap.push((now, v, to));
            continue;
        }
        mapping.shift(v, to);
    }
}
