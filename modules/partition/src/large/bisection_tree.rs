//! A binary tree over the blocks of the machine, and the parts into which a network is divided so
//! far.

use std::sync::Arc;

use super::limits::{Limits, Totals};
use crate::instance::Instance;
use crate::machine::Machine;

/// A set of adjacent blocks that is treated as one, or a single block.
#[derive(Debug)]
struct Half {
    /// The two halves, or `None` for a single block.
    halves: Option<[u32; 2]>,
    blocks: Vec<u32>,
    /// Sum of the load bounds of the blocks.
    room: i64,
    /// Exponent of the slack that this half may use while it is a part.
    slack: f64,
    /// Load bound of this half while it is a part: its share of the load, and its part of the
    /// slack.
    bound: i64,
}

/// A binary tree over the blocks of an instance, root first. Groups of the machine are kept
/// together.
#[derive(Debug)]
pub(crate) struct BisectionTree<'a> {
    pub(super) inst: &'a Instance,
    halves: Vec<Half>,
    /// Constraints other than loads.
    totals: Option<Totals>,
}

impl<'a> BisectionTree<'a> {
    /// Builds the tree. `slack_share`, from 0 to 1, is the share of the slack that the uppermost
    /// parts may use, whose cuts are the most expensive. Single blocks always have all of it.
    pub(crate) fn new(inst: &'a Instance, slack_share: f64) -> Self {
        let machine = &inst.shared.machine;
        let mut halves: Vec<Half> = Vec::new();
        // Machine nodes of each half, in order of creation, so that parents precede their children.
        let mut members: Vec<Vec<u32>> = vec![vec![0]];
        while let Some(nodes) = members.get_mut(halves.len()) {
            let nodes = machine.members_of(std::mem::take(nodes));
            let blocks = machine.blocks_of(&nodes);
            let pair = (nodes.len() > 1).then(|| {
                let (left, right) = nodes.split_at(middle(machine, &nodes));
                let first = members.len() as u32;
                members.extend([left.to_vec(), right.to_vec()]);
                [first, first + 1]
            });
            let room = inst.room(&blocks);
            halves.push(Half {
                halves: pair,
                blocks,
                room,
                slack: 1.0,
                bound: room,
            });
        }
        let mut height = vec![0_u32; halves.len()];
        for i in (0..halves.len()).rev() {
            if let Some([a, b]) = halves[i].halves {
                height[i] = 1 + height[a as usize].max(height[b as usize]);
            }
        }
        let total = inst.total_load() as f64;
        let all = halves[0].room.max(1) as f64;
        let slack = (all / total.max(1.0)).max(1.0);
        let tall = f64::from(height[0] + 1);
        let divisible = halves
            .iter_mut()
            .zip(height)
            .filter(|(_, height)| *height > 0);
        for (half, height) in divisible {
            let share = total * half.room as f64 / all;
            half.slack = 1.0 - (1.0 - slack_share) * f64::from(height) / tall;
            let bound = (share * slack.powf(half.slack)).max(share.ceil()) as i64;
            half.bound = bound.min(half.room);
        }
        Self {
            inst,
            halves,
            totals: Totals::of(inst),
        }
    }

    fn of(&self, half: u32) -> &Half {
        &self.halves[half as usize]
    }

    /// Returns the two halves of a half if their distance minus the collocated one is at least
    /// `least`. Returns `None` otherwise, and for a single block.
    fn halves(&self, half: u32, least: i64) -> Option<[u32; 2]> {
        let pair = self.of(half).halves?;
        let [a, b] = pair.map(|h| self.of(h).blocks[0]);
        (self.inst.distance(a, b) >= least).then_some(pair)
    }
}

/// Returns the index that divides two or more nodes into two sequences with about equal numbers of
/// blocks. Panics if there are fewer than two nodes.
pub(super) fn middle(machine: &Machine, nodes: &[u32]) -> usize {
    let blocks = |&node: &u32| machine.nodes()[node as usize].blocks.len();
    let total: usize = nodes.iter().map(blocks).sum();
    let mut before = 0;
    let off = |&at: &usize| {
        before += blocks(&nodes[at - 1]);
        (2 * before).abs_diff(total)
    };
    (1..nodes.len()).min_by_key(off).expect("two nodes")
}

/// The halves among which a network is currently divided, in the order of their blocks, and their
/// distances. If every part is a single block, its number is the number of the block.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// Half of the tree that each part is.
    half: Vec<u32>,
    /// Distances minus the distance of collocated processes, row by row.
    distance: Vec<i64>,
    /// Load bound of each part.
    pub(crate) bound: Vec<i64>,
    /// Other limits of the parts.
    pub(crate) limits: Option<Arc<Limits>>,
}

impl Parts {
    fn of(tree: &BisectionTree<'_>, half: Vec<u32>) -> Self {
        let inst = tree.inst;
        let halves: Vec<&Half> = half.iter().map(|&h| tree.of(h)).collect();
        let blocks: Vec<u32> = halves.iter().map(|h| h.blocks[0]).collect();
        let mut distance = Vec::with_capacity(half.len() * half.len());
        for &from in &blocks {
            match inst.has_table() {
                true => {
                    let row = inst.distances(from);
                    distance.extend(blocks.iter().map(|&to| row[to as usize]));
                }
                false => distance.extend(blocks.iter().map(|&to| inst.distance(from, to))),
            }
        }
        let limits = tree.totals.as_ref().map(|totals| {
            let parts = halves.iter().map(|h| (&h.blocks[..], h.slack));
            Arc::new(Limits::new(inst, totals, &parts.collect::<Vec<_>>()))
        });
        Self {
            bound: halves.iter().map(|h| h.bound).collect(),
            half,
            distance,
            limits,
        }
    }

    /// Returns one part that contains all blocks.
    pub(crate) fn whole(tree: &BisectionTree<'_>) -> Self {
        Self::of(tree, vec![0])
    }

    /// Returns one part for each block, numbered like the blocks.
    pub(crate) fn blocks(tree: &BisectionTree<'_>) -> Self {
        let mut leaves: Vec<u32> = (0..tree.halves.len() as u32).collect();
        leaves.retain(|&h| tree.of(h).halves.is_none());
        leaves.sort_unstable_by_key(|&h| tree.of(h).blocks[0]);
        Self::of(tree, leaves)
    }

    pub(crate) fn len(&self) -> usize {
        self.bound.len()
    }

    /// Returns the distances from a part to all parts, each minus the collocated one. The distance
    /// to itself is 0.
    #[inline]
    pub(crate) fn distances(&self, part: u32) -> &[i64] {
        let k = self.bound.len();
        &self.distance[part as usize * k..(part as usize + 1) * k]
    }

    /// Returns true if some part has halves whose distance minus the collocated one is at least
    /// `least`.
    pub(crate) fn divisible(&self, tree: &BisectionTree<'_>, least: i64) -> bool {
        let mut halves = self.half.iter();
        halves.any(|&h| tree.halves(h, least).is_some())
    }

    /// Returns the blocks of a part.
    pub(super) fn blocks_in<'a>(&self, tree: &'a BisectionTree<'_>, part: u32) -> &'a [u32] {
        &tree.of(self.half[part as usize]).blocks
    }

    /// Halves every part whose halves have a distance, minus the collocated one, of at least
    /// `least`. Also returns, for each old part, its first new part, and whether the next new part
    /// is its second half.
    pub(crate) fn halved(&self, tree: &BisectionTree<'_>, least: i64) -> (Self, Vec<(u32, bool)>) {
        let mut half = Vec::new();
        let mut heirs = Vec::new();
        for &h in &self.half {
            let pair = tree.halves(h, least);
            heirs.push((half.len() as u32, pair.is_some()));
            match pair {
                Some(pair) => half.extend(pair),
                None => half.push(h),
            }
        }
        (Self::of(tree, half), heirs)
    }

    /// Returns the sum of the load bounds of the blocks of a part.
    pub(crate) fn room(&self, tree: &BisectionTree<'_>, part: u32) -> i64 {
        tree.of(self.half[part as usize]).room
    }
}
