//! Moves that lower traffic times distance. Sweeps make only moves that gain. Searches start at one
//! vertex of a boundary, accept losses, and are then undone back to their best state.

use std::collections::BinaryHeap;

use super::mapping::Mapping;
use crate::random::Random;
use crate::tuning::large::{FEW, VISITS};

/// Moves load out of parts that are over their bounds, as far as possible. It makes the moves with
/// the highest gain per load first. Ends early if the time is over.
pub(crate) fn unload(mapping: &mut Mapping<'_>) {
    let level = mapping.level;
    relieve(mapping, |m, p| m.over(p) > 0, |v| level.load[v as usize]);
}

/// Moves vertices out of parts for which `over` is true, as far as possible. It makes the moves
/// with the highest gain per `size` first. Vertices of size 0 do not move. Ends early if the time
/// is over.
pub(crate) fn relieve(
    mapping: &mut Mapping<'_>,
    over: impl Fn(&Mapping<'_>, u32) -> bool,
    size: impl Fn(u32) -> i64,
) {
    let k = mapping.parts.len() as u32;
    let crowded: Vec<bool> = (0..k).map(|p| over(mapping, p)).collect();
    if !crowded.contains(&true) {
        return;
    }
    let level = mapping.level;
    let key = |best: (i64, u32), v: u32| (best.0.saturating_mul(256) / size(v).max(1), v);
    let mut heap = BinaryHeap::new();
    for v in 0..level.len() as u32 {
        if mapping.is_late() {
            return;
        }
        if crowded[mapping.part[v as usize] as usize] && size(v) > 0 {
            heap.extend(mapping.best(v).map(|best| key(best, v)));
        }
    }
    let mut widened = false;
    let most = mapping.work + VISITS * (level.len() + level.arcs());
    while !mapping.is_late() {
        let Some(wanted @ (_, v)) = heap.pop() else {
            // Moves at boundaries did not suffice, so that all vertices of these parts may move to
            // any part.
            if widened || !(0..k).any(|p| over(mapping, p)) {
                return;
            }
            widened = true;
            for v in 0..level.len() as u32 {
                if over(mapping, mapping.part[v as usize]) && size(v) > 0 {
                    heap.extend(mapping.anywhere(v).map(|best| key(best, v)));
                }
            }
            continue;
        };
        let here = mapping.part[v as usize];
        if !over(mapping, here) {
            continue;
        }
        let found = if widened {
            mapping.anywhere(v)
        } else {
            mapping.best(v)
        };
        let Some(found) = found else { continue };
        let now = key(found, v);
        if now < wanted {
            heap.push(now);
            continue;
        }
        mapping.shift(v, found.1);
        for &u in level.around(v) {
            if mapping.part[u as usize] == here
                && !widened
                && size(u) > 0
                && (mapping.work < most || level.degree(u) <= FEW)
            {
                heap.extend(mapping.best(u).map(|best| key(best, u)));
            }
        }
    }
}

/// Sweeps over the boundary and makes each gaining move at once, and moves without a gain that make
/// the loads more even. The neighbours of a vertex that moved with a gain are visited again in the
/// next round. Ends after `rounds` rounds, or if the time is over.
pub(crate) fn sweep(mapping: &mut Mapping<'_>, rounds: usize, random: &mut Random) {
    let level = mapping.level;
    let n = level.len();
    let mut now: Vec<u32> = (0..n as u32).filter(|&v| mapping.at_boundary(v)).collect();
    let mut next: Vec<u32> = Vec::new();
    let mut queued = vec![false; n];
    random.shuffle(&mut now);
    for _ in 0..rounds {
        if now.is_empty() {
            break;
        }
        for &v in &now {
            if mapping.is_late() {
                return;
            }
            queued[v as usize] = false;
            let here = mapping.part[v as usize];
            let Some((gain, to)) = mapping.best(v) else {
                continue;
            };
            let evens = gain == 0
                && mapping.load[here as usize] > mapping.load[to as usize] + level.load[v as usize];
            if gain > 0 || evens {
                mapping.shift(v, to);
                for &u in level.around(v) {
                    if gain > 0 && !queued[u as usize] && mapping.part[u as usize] != to {
                        queued[u as usize] = true;
                        next.push(u);
                    }
                }
            }
        }
        std::mem::swap(&mut now, &mut next);
        next.clear();
    }
}

/// Makes one pass of local searches from every vertex at a boundary, in random order. Returns the
/// gain of the pass, which is not negative.
///
/// A search ends `patience` moves after its best state. The pass ends after a limited number of
/// edge visits, because dense networks, in which all parts are adjacent, would take too long.
pub(crate) fn search(mapping: &mut Mapping<'_>, patience: usize, random: &mut Random) -> i64 {
    let level = mapping.level;
    let n = level.len();
    let mut seeds: Vec<u32> = (0..n as u32).filter(|&v| mapping.at_boundary(v)).collect();
    random.shuffle(&mut seeds);
    let mut heap = BinaryHeap::new();
    // Moves of the current search: vertex, and its previous part.
    let mut trail: Vec<(u32, u32)> = Vec::new();
    // Vertices that have moved in this pass. They do not move again.
    let mut done = vec![false; n];
    let mut gained = 0;
    mapping.visited = 0;
    let most = 8 * (n + level.arcs());
    for seed in seeds {
        if mapping.visited > most || mapping.is_late() {
            break;
        }
        if done[seed as usize] {
            continue;
        }
        heap.clear();
        trail.clear();
        heap.extend(mapping.best(seed).map(|(gain, _)| (gain, 0, seed)));
        let (mut sum, mut best, mut keep) = (0, 0, 0);
        while let Some((gain, _, v)) = heap.pop() {
            if done[v as usize] {
                continue;
            }
            let Some((now, there)) = mapping.best(v) else {
                continue;
            };
            if now < gain {
                heap.push((now, random.next() as u32 >> 8, v));
                continue;
            }
            trail.push((v, mapping.part[v as usize]));
            mapping.shift(v, there);
            done[v as usize] = true;
            sum += now;
            if sum > best {
                (best, keep) = (sum, trail.len());
            } else if trail.len() - keep > patience {
                break;
            }
            for &u in level.around(v) {
                if !done[u as usize]
                    && let Some((gain, _)) = mapping.best(u)
                {
                    heap.push((gain, random.next() as u32 >> 8, u));
                }
            }
        }
        for &(v, from) in trail[keep..].iter().rev() {
            mapping.shift(v, from);
        }
        gained += best;
    }
    gained
}
