//! The machine as halves of halves down to single blocks, and the parts that a network is in while
//! it is being divided.

use std::sync::Arc;

use super::limits::{Limits, Part, Totals};
use crate::instance::Instance;

/// A set of neighbouring blocks that is treated as one, or a single block.
#[derive(Clone, Debug)]
pub(crate) struct Half {
    /// The two halves; none for a single block.
    pub(crate) halves: Option<[u32; 2]>,
    /// A block in it.
    pub(crate) block: u32,
    /// Sum of the load bounds of its blocks.
    pub(crate) room: i64,
    /// Most load it should hold while it is a part: its share, and some of the slack.
    bound: i64,
    /// Its blocks, and the exponent of the slack that it may use up.
    blocks: Vec<u32>,
    slack: f64,
}

/// A binary tree over the blocks, root first. Groups of the machine stay together.
#[derive(Clone, Debug)]
pub(crate) struct BisectionTree {
    halves: Vec<Half>,
    /// What is kept beside the loads.
    totals: Option<Arc<Totals>>,
    /// The limits of the whole, likewise.
    limits: Option<Arc<Limits>>,
}

impl BisectionTree {
    /// `slack_share` from 0 to 1: how much of the slack the uppermost parts, whose cuts are the most expensive,
    /// may use up; single blocks always have all of it.
    pub(crate) fn new(inst: &Instance, total: i64, slack_share: f64) -> Self {
        let machine = &inst.shared.machine;
        let nodes = machine.nodes();
        let mut halves: Vec<Half> = Vec::new();
        // Machine nodes of each half, in order of creation: parents before children.
        let mut members: Vec<Vec<u32>> = vec![vec![0]];
        let mut at = 0;
        while at < members.len() {
            let parts = machine.members_of(std::mem::take(&mut members[at]));
            let blocks = machine.blocks_of(&parts);
            let room = inst.room(&blocks);
            let pair = (parts.len() > 1).then(|| {
                let cut = middle(inst, &parts);
                let first = members.len() as u32;
                members.push(parts[..cut].to_vec());
                members.push(parts[cut..].to_vec());
                [first, first + 1]
            });
            halves.push(Half {
                halves: pair,
                block: nodes[parts[0] as usize].blocks[0],
                room,
                bound: room,
                blocks,
                slack: 1.0,
            });
            at += 1;
        }
        let mut height = vec![0_u32; halves.len()];
        for i in (0..halves.len()).rev() {
            if let Some([a, b]) = halves[i].halves {
                height[i] = 1 + height[a as usize].max(height[b as usize]);
            }
        }
        let all = halves[0].room.max(1) as f64;
        let slack = (all / total.max(1) as f64).max(1.0);
        let tall = f64::from(height[0] + 1);
        for (half, height) in halves.iter_mut().zip(height) {
            let share = total as f64 * half.room as f64 / all;
            let part = 1.0 - (1.0 - slack_share) * f64::from(height) / tall;
            half.slack = part;
            let bound = (share * slack.powf(part)).max(share.ceil()) as i64;
            half.bound = if height == 0 {
                half.room
            } else {
                bound.min(half.room)
            };
        }
        let mut halving = Self {
            halves,
            totals: Totals::of(inst),
            limits: None,
        };
        halving.limits = halving.limits(inst, &[0]);
        halving
    }

    /// The limits of some halves beside those of the load.
    fn limits(&self, inst: &Instance, halves: &[u32]) -> Option<Arc<Limits>> {
        let totals = self.totals.as_deref()?;
        let part = |&h: &u32| Part {
            blocks: &self.of(h).blocks,
            slack: self.of(h).slack,
        };
        let parts: Vec<Part<'_>> = halves.iter().map(part).collect();
        Some(Arc::new(Limits::new(inst, totals, &parts)))
    }

    fn of(&self, half: u32) -> &Half {
        &self.halves[half as usize]
    }
}

/// Where to divide the parts into two runs of about equally many blocks.
pub(super) fn middle(inst: &Instance, parts: &[u32]) -> usize {
    let nodes = inst.shared.machine.nodes();
    let blocks = |p: &u32| nodes[*p as usize].blocks.len();
    let total: usize = parts.iter().map(blocks).sum();
    let off = |below: usize| (2 * below).abs_diff(total);
    let mut below = 0;
    let mut best = (usize::MAX, 1);
    for (i, part) in parts[..parts.len() - 1].iter().enumerate() {
        below += blocks(part);
        if off(below) < best.0 {
            best = (off(below), i + 1);
        }
    }
    best.1
}

/// The halves that a network is divided among at some time, with their distances.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// Which half each part is.
    half: Vec<u32>,
    /// Distances beyond the collocated one, row by row.
    distance: Vec<i64>,
    /// Most load of each.
    pub(crate) bound: Vec<i64>,
    /// What else they may hold.
    pub(crate) limits: Option<Arc<Limits>>,
}

impl Parts {
    /// All in one.
    pub(crate) fn whole(halving: &BisectionTree) -> Self {
        Self {
            half: vec![0],
            distance: vec![0],
            bound: vec![halving.of(0).room],
            limits: halving.limits.clone(),
        }
    }

    /// One part for each block, numbered as the blocks are, with these bounds.
    pub(crate) fn blocks(inst: &Instance, bound: Vec<i64>) -> Self {
        let k = inst.k();
        let pairs = (0..k as u32).flat_map(|a| (0..k as u32).map(move |b| (a, b)));
        Self {
            half: Vec::new(),
            distance: pairs.map(|(a, b)| inst.distance(a, b)).collect(),
            bound,
            limits: None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bound.len()
    }

    /// Distances from a part to all.
    #[inline]
    pub(crate) fn distances(&self, part: u32) -> &[i64] {
        let k = self.bound.len();
        &self.distance[part as usize * k..(part as usize + 1) * k]
    }

    /// Distance between the halves of a part; `None` for a single block.
    fn gap(&self, inst: &Instance, halving: &BisectionTree, half: u32) -> Option<i64> {
        let [a, b] = halving.of(half).halves?;
        Some(inst.distance(halving.of(a).block, halving.of(b).block))
    }

    /// Whether some part has halves that are at least so far from each other.
    pub(crate) fn divisible(&self, inst: &Instance, halving: &BisectionTree, least: i64) -> bool {
        let gaps = self.half.iter().map(|&h| self.gap(inst, halving, h));
        gaps.flatten().any(|gap| gap >= least)
    }

    /// The block that each part stands for, or begins with.
    pub(crate) fn block_of(&self, halving: &BisectionTree) -> Vec<u32> {
        self.half.iter().map(|&h| halving.of(h).block).collect()
    }

    /// The blocks that a part stands for.
    pub(super) fn blocks_in<'a>(&self, halving: &'a BisectionTree, part: u32) -> &'a [u32] {
        &halving.of(self.half[part as usize]).blocks
    }

    /// Every part halved whose halves are at least so far from each other. Also gives, for each old part, its first new one and
    /// whether the next one is its second half.
    pub(crate) fn halved(
        &self,
        inst: &Instance,
        halving: &BisectionTree,
        least: i64,
    ) -> (Self, Vec<(u32, bool)>) {
        let mut half = Vec::new();
        let mut heirs = Vec::new();
        for &h in &self.half {
            let first = half.len() as u32;
            match (halving.of(h).halves, self.gap(inst, halving, h)) {
                (Some(pair), Some(gap)) if gap >= least => half.extend(pair),
                _ => half.push(h),
            }
            heirs.push((first, half.len() as u32 == first + 2));
        }
        let block = |&h: &u32| halving.of(h).block;
        let blocks: Vec<u32> = half.iter().map(block).collect();
        let mut distance = Vec::with_capacity(half.len() * half.len());
        for &a in &blocks {
            match inst.has_table() {
                true => {
                    let row = inst.distances(a);
                    distance.extend(blocks.iter().map(|&b| row[b as usize]));
                }
                false => distance.extend(blocks.iter().map(|&b| inst.distance(a, b))),
            }
        }
        let bound = half.iter().map(|&h| halving.of(h).bound).collect();
        let next = Self {
            limits: halving.limits(inst, &half),
            half,
            distance,
            bound,
        };
        (next, heirs)
    }

    /// Sum of the load bounds of the blocks of a part.
    pub(crate) fn room(&self, halving: &BisectionTree, part: u32) -> i64 {
        halving.of(self.half[part as usize]).room
    }
}
