//! Packing that hardly fits: what lies in two or three blocks is divided among them anew, in the
//! best of all ways, until nothing is over its limit.
//!
//! A block with too much, or any at all, is taken with one or two others at random; of divisions
//! that are equally good a random one is taken, so that what room there is wanders to where it is
//! wanted.

use std::time::Instant;

use crate::clusters::distinct;
use crate::instance::Instance;
use crate::random::Random;
use crate::tuning::divisions::{GO, THREE, TWO};

/// How long to pack: steps, and until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) steps: u64,
    pub(crate) stop_at: Option<Instant>,
}

impl Effort {
    /// So many steps, however long they take.
    pub(crate) fn of(steps: u64) -> Self {
        Self {
            steps,
            stop_at: None,
        }
    }
}

/// Divides until nothing is in excess (then the result is true) or so many divisions were tried.
pub(super) fn divide(
    inst: &Instance,
    block: &mut Vec<u32>,
    random: &mut Random,
    effort: Effort,
) -> bool {
    let mut bins = Bins::new(inst, std::mem::take(block));
    let mut spent = 0;
    let done = loop {
        let faulty = bins.faulty();
        let Some(&faulty) = faulty.get(random.below(faulty.len().max(1))) else {
            break true;
        };
        let late = effort.stop_at.is_some_and(|t| Instant::now() >= t);
        if spent >= effort.steps || inst.k() < 2 || late {
            break false;
        }
        let wanted = if inst.k() > 2 && random.below(2) == 0 {
            3
        } else {
            2
        };
        let mut chosen = vec![match random.below(2) {
            0 => faulty,
            _ => random.below(inst.k()) as u32,
        }];
        while chosen.len() < wanted {
            let other = random.below(inst.k()) as u32;
            if !chosen.contains(&other) {
                chosen.push(other);
            }
        }
        spent += bins.again(chosen, random).max(1);
    };
    *block = bins.block;
    done
}

struct Bins<'a> {
    inst: &'a Instance,
    block: Vec<u32>,
    load: Vec<i64>,
    members: Vec<Vec<u32>>,
}

impl<'a> Bins<'a> {
    fn new(inst: &'a Instance, block: Vec<u32>) -> Self {
        let mut members = vec![Vec::new(); inst.k()];
        (0..)
            .zip(&block)
            .for_each(|(v, &b)| members[b as usize].push(v));
        Self {
            inst,
            load: inst.sums(&block),
            members,
            block,
        }
    }

    fn add(&mut self, v: u32, b: u32, sign: i64) {
        for (i, s) in self.inst.size_of(v).iter().enumerate() {
            self.load[self.inst.shared.at(b as usize, i)] += sign * s;
        }
    }

    /// What is too much in a place, in parts of a share.
    fn over(&self, at: usize) -> f64 {
        let (shared, d) = (&self.inst.shared, self.inst.dims());
        (self.load[at] - shared.upper[at]).max(0) as f64 * shared.excess[at % d]
    }

    /// What is too little.
    fn under(&self, at: usize) -> f64 {
        let (shared, d) = (&self.inst.shared, self.inst.dims());
        let lower = shared.lower.get(at).copied().unwrap_or(0);
        (lower - self.load[at]).max(0) as f64 * shared.excess[at % d]
    }

    fn misplaced(&self, v: u32) -> bool {
        let b = self.block[v as usize];
        !self.inst.may_lie(v, b) || self.inst.clashes(v, b, &self.block) > 0
    }

    /// Blocks with too much, too little, or something that may not be there.
    fn faulty(&self) -> Vec<u32> {
        let (shared, d) = (&self.inst.shared, self.inst.dims());
        let wrong = |b: &u32| {
            let at = |i| shared.at(*b as usize, i);
            let sums = (0..d).any(|i| self.over(at(i)) + self.under(at(i)) > 0.0);
            let tied = !(self.inst.set.is_empty() && self.inst.apart.is_empty());
            sums || tied && self.members[*b as usize].iter().any(|&v| self.misplaced(v))
        };
        (0..self.inst.k() as u32).filter(wrong).collect()
    }

    /// Divides what lies in these blocks anew; returns how many divisions were looked at.
    fn again(&mut self, blocks: Vec<u32>, random: &mut Random) -> u64 {
        let (inst, d) = (self.inst, self.inst.dims());
        let mut free: Vec<u32> = blocks
            .iter()
            .flat_map(|&b| self.members[b as usize].iter().copied())
            .collect();
        random.shuffle(&mut free);
        let most = if blocks.len() == 2 { TWO } else { THREE };
        // What may not stay goes first.
        free.sort_by_key(|&v| !self.misplaced(v));
        free.truncate(most);
        let wrong = free.iter().any(|&v| self.misplaced(v));
        let weight = |v: u32| -> f64 {
            let sizes = inst.size_of(v).iter().zip(&inst.shared.excess);
            sizes.map(|(s, e)| *s as f64 * e).sum()
        };
        free.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)).then(a.cmp(&b)));
        let sums = |&b: &u32| (0..d).map(move |i| inst.shared.at(b as usize, i));
        let touched = distinct(&blocks.iter().flat_map(sums).collect::<Vec<_>>());
        let before = match wrong {
            true => f64::INFINITY,
            false => touched.iter().map(|&t| self.over(t) + self.under(t)).sum(),
        };
        let old: Vec<u32> = free.iter().map(|&v| self.block[v as usize]).collect();
        for (&v, &b) in free.iter().zip(&old) {
            self.add(v, b, -1);
            self.block[v as usize] = u32::MAX;
        }
        let mut go = Go {
            blocks,
            touched,
            best: before,
            division: old.clone(),
            ties: 1,
            looked: 0,
        };
        self.place(&free, 0, &mut go, random);
        for (&v, &b) in free.iter().zip(&go.division) {
            self.add(v, b, 1);
            self.block[v as usize] = b;
        }
        for ((&v, &from), &to) in free.iter().zip(&old).zip(&go.division) {
            if from != to {
                self.members[from as usize].retain(|&u| u != v);
                self.members[to as usize].push(v);
            }
        }
        go.looked
    }

    fn place(&mut self, free: &[u32], at: usize, go: &mut Go, random: &mut Random) {
        go.looked += 1;
        // What is too much stays too much, whatever follows.
        let over: f64 = go.touched.iter().map(|&t| self.over(t)).sum();
        if over > go.best || go.looked > GO {
            return;
        }
        let Some(&v) = free.get(at) else {
            let all = over + go.touched.iter().map(|&t| self.under(t)).sum::<f64>();
            go.ties = if all < go.best { 1 } else { go.ties + 1 };
            if all < go.best || all == go.best && random.below(go.ties) == 0 {
                go.best = all;
                go.division = free.iter().map(|&v| self.block[v as usize]).collect();
            }
            return;
        };
        for i in 0..go.blocks.len() {
            let b = go.blocks[i];
            if !self.inst.may_lie(v, b) || self.inst.clashes(v, b, &self.block) > 0 {
                continue;
            }
            self.add(v, b, 1);
            self.block[v as usize] = b;
            self.place(free, at + 1, go, random);
            self.block[v as usize] = u32::MAX;
            self.add(v, b, -1);
        }
    }
}

/// One search for a division.
struct Go {
    blocks: Vec<u32>,
    /// The sums that take part.
    touched: Vec<usize>,
    best: f64,
    division: Vec<u32>,
    /// Divisions met that are as good as the best.
    ties: usize,
    looked: u64,
}
