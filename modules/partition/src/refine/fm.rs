//! Moves over the boundary between blocks, best first, undone back to the best point: for
//! instances too large for a table of costs. Costs follow from the few blocks a vertex touches.

use std::collections::BinaryHeap;

use crate::instance::Instance;
use crate::random::Random;

/// Connection of one vertex to the blocks around it.
struct Around {
    blocks: Vec<u32>,
    weight: Vec<i64>,
}

impl Around {
    fn of(&mut self, inst: &Instance, block: &[u32], v: u32) {
        for &b in &self.blocks {
            self.weight[b as usize] = 0;
        }
        self.blocks.clear();
        for (u, w) in inst.row(v) {
            let b = block[u as usize];
            if self.weight[b as usize] == 0 {
                self.blocks.push(b);
            }
            self.weight[b as usize] += w;
        }
    }

    /// Cost of the vertex's edges if it lay in a block.
    fn cost(&self, inst: &Instance, b: u32) -> i64 {
        self.blocks
            .iter()
            .map(|&c| self.weight[c as usize] * inst.distance(b, c))
            .sum()
    }
}

struct Search<'a> {
    inst: &'a Instance,
    load: Vec<i64>,
    around: Around,
}

impl Search<'_> {
    fn room(&self, v: u32, from: u32, to: u32) -> bool {
        let (inst, shared) = (self.inst, &self.inst.shared);
        inst.size_of(v).iter().enumerate().all(|(i, &size)| {
            let (out, into) = (shared.at(from as usize, i), shared.at(to as usize, i));
            if size == 0 {
                return true;
            }
            // Inside a place nothing changes; what is too full is to be left.
            if out == into {
                return self.load[out] <= shared.upper[out];
            }
            let leaves = shared.lower.is_empty() || self.load[out] - size >= shared.lower[out];
            self.load[into] + size <= shared.upper[into] && leaves
        })
    }

    fn overfull(&self, b: u32) -> bool {
        let shared = &self.inst.shared;
        let mut sums = (0..shared.dims).map(|i| shared.at(b as usize, i));
        sums.any(|at| self.load[at] > shared.upper[at])
    }

    fn shift(&mut self, block: &mut [u32], v: u32, to: u32) {
        let shared = &self.inst.shared;
        for (i, s) in self.inst.size_of(v).iter().enumerate() {
            self.load[shared.at(block[v as usize] as usize, i)] -= s;
            self.load[shared.at(to as usize, i)] += s;
        }
        block[v as usize] = to;
    }

    /// Best block to move to among those the vertex touches, with the gain.
    fn best(&mut self, block: &[u32], v: u32, any: bool) -> Option<(i64, u32)> {
        let inst = self.inst;
        let here = block[v as usize];
        self.around.of(inst, block, v);
        if !any && self.around.blocks.iter().all(|&b| b == here) {
            return None;
        }
        let now = self.around.cost(inst, here);
        let mut best: Option<(i64, u32)> = None;
        for i in 0..self.around.blocks.len() {
            let b = self.around.blocks[i];
            if b == here || !inst.may_lie(v, b) || !self.room(v, here, b) {
                continue;
            }
            if inst.clashes(v, b, block) > 0 {
                continue;
            }
            let gain = now - self.around.cost(inst, b);
            if best.is_none_or(|x| gain > x.0) {
                best = Some((gain, b));
            }
        }
        best
    }
}

/// Refines a mapping in place; first brings overfull blocks back into bounds as far as it can.
pub(crate) fn refine(inst: &Instance, block: &mut [u32], random: &mut Random) {
    let (k, d) = (inst.k(), inst.dims());
    let mut load = vec![0_i64; k * d];
    for (v, &b) in block.iter().enumerate() {
        for (i, s) in inst.size_of(v as u32).iter().enumerate() {
            load[inst.shared.at(b as usize, i)] += s;
        }
    }
    let around = Around {
        blocks: Vec::new(),
        weight: vec![0; k],
    };
    let mut search = Search { inst, load, around };
    unload(&mut search, block);
    for _ in 0..3 {
        if pass(&mut search, block, random) == 0 {
            break;
        }
    }
}

/// Moves vertices out of overfull blocks, cheapest per unit of load first.
fn unload(search: &mut Search<'_>, block: &mut [u32]) {
    let inst = search.inst;
    let k = inst.k() as u32;
    let crowded: Vec<bool> = (0..k).map(|b| search.overfull(b)).collect();
    if !crowded.contains(&true) {
        return;
    }
    let mut heap = BinaryHeap::new();
    let rate = |gain: i64, v: u32| gain * 1024 / inst.load(v).max(1);
    for v in 0..inst.len() as u32 {
        if crowded[block[v as usize] as usize]
            && let Some((gain, to)) = search
                .best(block, v, true)
                .or_else(|| anywhere(search, block, v))
        {
            heap.push((rate(gain, v), v, to));
        }
    }
    while let Some((key, v, _)) = heap.pop() {
        let here = block[v as usize];
        if !search.overfull(here) {
            continue;
        }
        let found = search
            .best(block, v, true)
            .or_else(|| anywhere(search, block, v));
        let Some((gain, to)) = found else { continue };
        if rate(gain, v) < key {
            heap.push((rate(gain, v), v, to));
            continue;
        }
        search.shift(block, v, to);
    }
}

/// The cheapest block with room, touched or not.
fn anywhere(search: &mut Search<'_>, block: &[u32], v: u32) -> Option<(i64, u32)> {
    let inst = search.inst;
    let here = block[v as usize];
    search.around.of(inst, block, v);
    let now = search.around.cost(inst, here);
    (0..inst.k() as u32)
        .filter(|&b| b != here && inst.may_lie(v, b) && search.room(v, here, b))
        .filter(|&b| inst.clashes(v, b, block) == 0)
        .map(|b| (now - search.around.cost(inst, b), b))
        .max_by_key(|&(gain, b)| (gain, std::cmp::Reverse(b)))
}

/// One pass: every vertex moves at most once. Returns what it gained.
fn pass(search: &mut Search<'_>, block: &mut [u32], random: &mut Random) -> i64 {
    let inst = search.inst;
    let n = inst.len();
    let mut heap: BinaryHeap<(i64, u64, u32, u32)> = BinaryHeap::new();
    for v in 0..n as u32 {
        if let Some((gain, to)) = search.best(block, v, false) {
            heap.push((gain, random.next() >> 40, v, to));
        }
    }
    let patience = (n / 100).clamp(100, 2000);
    let mut done = vec![false; n];
    let mut trail: Vec<(u32, u32)> = Vec::new();
    let (mut sum, mut best, mut keep) = (0_i64, 0_i64, 0_usize);
    while let Some((gain, _, v, to)) = heap.pop() {
        if done[v as usize] {
            continue;
        }
        match search.best(block, v, false) {
            Some((now, there)) if now != gain || there != to => {
                if now < gain {
                    heap.push((now, random.next() >> 40, v, there));
                    continue;
                }
                step(search, block, v, there, &mut trail);
                sum += now;
            }
            Some(_) => {
                step(search, block, v, to, &mut trail);
                sum += gain;
            }
            None => continue,
        }
        done[v as usize] = true;
        if sum > best {
            best = sum;
            keep = trail.len();
        } else if trail.len() - keep > patience {
            break;
        }
        for (u, _) in inst.row(v) {
            if !done[u as usize]
                && let Some((gain, to)) = search.best(block, u, false)
            {
                heap.push((gain, random.next() >> 40, u, to));
            }
        }
    }
    for &(v, from) in trail[keep..].iter().rev() {
        search.shift(block, v, from);
    }
    best
}

fn step(search: &mut Search<'_>, block: &mut [u32], v: u32, to: u32, trail: &mut Vec<(u32, u32)>) {
    trail.push((v, block[v as usize]));
    search.shift(block, v, to);
}
