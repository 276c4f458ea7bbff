//! Moves between two parts at a time: passes of Fiduccia and Mattheyses over the boundary of each
//! pair of adjacent parts. With two parts, the gain of a neighbour changes by a known amount. So a
//! step is cheap, and a search can go far along a boundary before it gains.

use std::collections::BinaryHeap;

use super::mapping::Mapping;
use crate::multilevel::passes::side_to_leave;
use crate::random::Random;
use crate::tuning::large::{LENGTH, PATIENCE};

/// Memory that the searches of one call share. The vectors before `search` are indexed by vertex.
struct PairSearch<'m, 'a> {
    mapping: &'m mut Mapping<'a>,
    gain: Vec<i64>,
    /// Search in which the gain was last computed.
    seen: Vec<u32>,
    /// Search in which the vertex has moved.
    moved: Vec<u32>,
    search: u32,
    /// Parts of the current search.
    pair: [u32; 2],
    /// Number of edges visited.
    visited: usize,
    heaps: [BinaryHeap<(i64, u32, u32)>; 2],
    trail: Vec<u32>,
}

/// Refines every pair of adjacent parts, in up to `rounds` rounds. After the first round, only
/// pairs of which a part has changed are refined. The search ends when every edge was visited
/// `times` times on average, or when the time is over. The cost rises only where load bounds are
/// restored.
pub(crate) fn refine(mapping: &mut Mapping<'_>, rounds: usize, times: usize, random: &mut Random) {
    let (n, k) = (mapping.level.len(), mapping.parts.len());
    let mut state = PairSearch {
        mapping,
        gain: vec![0; n],
        seen: vec![0; n],
        moved: vec![0; n],
        search: 0,
        pair: [0; 2],
        visited: 0,
        heaps: [BinaryHeap::new(), BinaryHeap::new()],
        trail: Vec::new(),
    };
    let most = times * (n + state.mapping.level.arcs());
    let mut active = vec![true; k];
    for _ in 0..rounds {
        let borders = borders(state.mapping, &active);
        let mut runs: Vec<&[(u64, u32)]> = borders.chunk_by(|a, b| a.0 == b.0).collect();
        random.shuffle(&mut runs);
        active.fill(false);
        for run in runs {
            if state.visited > most || state.mapping.is_late() {
                return;
            }
            let key = run[0].0;
            state.pair = [(key >> 32) as u32, key as u32];
            if state.between(run, random) {
                state.pair.iter().for_each(|&p| active[p as usize] = true);
            }
        }
        if !active.contains(&true) {
            break;
        }
    }
}

/// Returns the vertices that have a neighbour in another part, by pair of parts, in order of pairs
/// and vertices. Omits pairs of which neither part is active. A vertex occurs once for each such
/// pair. The upper half of a key is the lower part, and the lower half is the other part.
fn borders(mapping: &Mapping<'_>, active: &[bool]) -> Vec<(u64, u32)> {
    let mut borders: Vec<(u64, u32)> = Vec::new();
    // Last vertex that was found to have a neighbour in a part, by part.
    let mut last = vec![u32::MAX; mapping.parts.len()];
    for v in 0..mapping.level.len() as u32 {
        let here = mapping.part[v as usize];
        for &u in mapping.level.around(v) {
            let there = mapping.part[u as usize];
            if there != here
                && last[there as usize] != v
                && (active[here as usize] || active[there as usize])
            {
                last[there as usize] = v;
                let key = (u64::from(here.min(there)) << 32) | u64::from(here.max(there));
                borders.push((key, v));
            }
        }
    }
    borders.sort_unstable();
    borders
}

impl PairSearch<'_, '_> {
    fn over(&self) -> i64 {
        self.mapping.over(self.pair[0]) + self.mapping.over(self.pair[1])
    }

    /// Searches between the two parts in `pair`, starting with the vertices in `border`. Undoes the
    /// moves after the best state. Returns true if it changed the mapping.
    fn between(&mut self, border: &[(u64, u32)], random: &mut Random) -> bool {
        let pair = self.pair;
        self.search += 1;
        self.trail.clear();
        self.heaps.iter_mut().for_each(BinaryHeap::clear);
        for &(_, v) in border {
            self.touch(v, random);
        }
        let apart = self.mapping.parts.distances(pair[0])[pair[1] as usize];
        let patience = PATIENCE + border.len() / LENGTH;
        let mut best = (self.over(), 0_i64);
        let (mut sum, mut keep) = (0_i64, 0_usize);
        while self.trail.len() <= keep + patience {
            let Some(side) = self.next() else {
                break;
            };
            let (gain, _, v) = self.heaps[side].pop().expect("a heap that was looked at");
            let to = pair[1 - side];
            self.moved[v as usize] = self.search;
            if !self.mapping.allows(v, to) {
                continue;
            }
            self.mapping.shift(v, to);
            self.trail.push(v);
            sum -= gain;
            let now = (self.over(), sum);
            if now < best {
                best = now;
                keep = self.trail.len();
            }
            let level = self.mapping.level;
            self.visited += level.degree(v);
            self.mapping.work += 1 + level.degree(v);
            for (u, weight) in level.row(v) {
                let (at, p) = (u as usize, self.mapping.part[u as usize]);
                let fixed = u < self.mapping.fixed;
                if fixed || self.moved[at] == self.search || (p != pair[0] && p != pair[1]) {
                    continue;
                }
                if self.seen[at] != self.search {
                    self.touch(u, random);
                    continue;
                }
                let change = 2 * weight * apart;
                self.gain[at] += if p == to { -change } else { change };
                let entry = (self.gain[at], random.next() as u32 >> 8, u);
                self.heaps[usize::from(p == pair[1])].push(entry);
            }
        }
        for &v in self.trail[keep..].iter().rev() {
            let from = pair[usize::from(self.mapping.part[v as usize] == pair[0])];
            self.mapping.shift(v, from);
        }
        keep > 0
    }

    /// Computes the gain of a vertex and adds the vertex to the search. Does nothing if the vertex
    /// is in neither part of the pair, or cannot move.
    fn touch(&mut self, v: u32, random: &mut Random) {
        let mapping = &mut *self.mapping;
        let here = mapping.part[v as usize];
        let side = usize::from(here == self.pair[1]);
        if here != self.pair[side] || mapping.stays(v) {
            return;
        }
        let [near, far] = [here, self.pair[1 - side]].map(|p| mapping.parts.distances(p));
        self.visited += mapping.level.degree(v);
        mapping.work += 1 + mapping.level.degree(v);
        let gain = |(u, w): (u32, i64)| {
            let p = mapping.part[u as usize] as usize;
            w * (near[p] - far[p])
        };
        let gain = mapping.level.row(v).map(gain).sum();
        self.gain[v as usize] = gain;
        self.seen[v as usize] = self.search;
        self.heaps[side].push((gain, random.next() as u32 >> 8, v));
    }

    /// Returns the side (0 or 1) from which the next vertex moves, or `None` if no vertex can move.
    /// Drops entries that are out of date from the heaps.
    fn next(&mut self) -> Option<usize> {
        for heap in &mut self.heaps {
            let stale = |&(gain, _, v): &(i64, u32, u32)| {
                self.moved[v as usize] == self.search || self.gain[v as usize] != gain
            };
            while heap.peek().is_some_and(stale) {
                heap.pop();
            }
        }
        let top = self.heaps.each_ref().map(|heap| Some(heap.peek()?.0));
        side_to_leave(top, self.pair.map(|p| self.mapping.spare(p)))
    }
}
