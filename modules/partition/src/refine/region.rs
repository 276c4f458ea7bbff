//! Large neighbourhoods: clusters in a part of the machine are moved, then smaller clusters, down
//! to single vertices.
//!
//! From outside, all blocks below one node of the machine are at the same distance. So a gain among
//! some members of a group, without regard to the rest, is a gain of the whole mapping. In this way
//! the best parts of many attempts are combined in one mapping.

use std::time::Instant;

use super::anneal::{Best, Schedule, anneal_within, typical};
use super::state::State;
use crate::clusters::{in_order, lifted, lowered, marks};
use crate::instance::Instance;
use crate::multilevel::coarsen::{matching, may_join};
use crate::random::Random;

/// Blocks of some members of one group of the machine.
pub(crate) struct Region(Vec<u32>);

/// Clusters of a region. The rest of the network is fixed, as one vertex for each block outside.
struct Level {
    inst: Instance,
    /// Cluster of each vertex of the level below.
    map: Vec<u32>,
    block: Vec<u32>,
    /// Number of vertices inside. Those from here on are outside.
    inner: usize,
}

impl Region {
    /// Selects two to four members of a random group with several members at the given depth.
    /// Returns `None` if there is no such group.
    pub(crate) fn at(inst: &Instance, depth: u32, random: &mut Random) -> Option<Self> {
        let machine = &inst.shared.machine;
        let groups = machine.groups_at(depth);
        if groups.is_empty() {
            return None;
        }
        let mut parts = groups[random.below(groups.len())].children.clone();
        random.shuffle(&mut parts);
        parts.truncate((2 + random.below(3)).min(parts.len()));
        Some(Self(machine.blocks_of(&parts)))
    }

    /// Returns the region of all blocks.
    pub(crate) fn whole(inst: &Instance) -> Self {
        Self((0..inst.k() as u32).collect())
    }

    /// Returns one more than the largest depth of a group with several members, or 0 if there is no
    /// such group.
    pub(crate) fn depths(inst: &Instance) -> u32 {
        let nodes = inst.shared.machine.nodes().iter();
        let groups = nodes.filter(|n| n.children.len() > 1);
        groups.map(|n| n.depth + 1).max().unwrap_or(0)
    }

    /// Creates the level of the single vertices in the region. `block` contains the block of each
    /// vertex. For each other block with vertices, it has one vertex that represents these.
    fn cut_out(&self, inst: &Instance, block: &[u32]) -> Level {
        let inside = marks(&self.0, inst.k());
        let mut map = vec![u32::MAX; inst.len()];
        let mut places = Vec::new();
        for (v, &b) in block.iter().enumerate() {
            if inside[b as usize] {
                map[v] = places.len() as u32;
                places.push(b);
            }
        }
        let inner = places.len();
        let mut anchor = vec![u32::MAX; inst.k()];
        for (v, &b) in block.iter().enumerate() {
            if !inside[b as usize] {
                let slot = &mut anchor[b as usize];
                if *slot == u32::MAX {
                    *slot = places.len() as u32;
                    places.push(b);
                }
                map[v] = *slot;
            }
        }
        Level {
            inst: inst.contract(&map, places.len()),
            map,
            block: places,
            inner,
        }
    }

    /// Improves the mapping inside the region, with `effort` steps for each vertex and level.
    /// Returns the best mapping that it found, which may be worse than `best`, and the number of
    /// steps.
    pub(crate) fn improve(
        &self,
        inst: &Instance,
        best: &Best,
        effort: u64,
        stop_at: Option<Instant>,
        random: &mut Random,
    ) -> (Best, u64) {
        let mut level = self.cut_out(inst, &best.block);
        let mut spent = inst.targets.len() as u64 + 20 * level.inst.targets.len() as u64;
        let room = self.0.iter().map(|&b| inst.load_bound(b as usize));
        let heaviest = room.min().unwrap_or(0) / 4;
        let depth = random.below(4);
        let mut finer = Vec::new();
        while finer.len() < depth
            && let Some(coarse) = coarsen(&level, heaviest, random)
        {
            finer.push(std::mem::replace(&mut level, coarse));
        }
        let warmth = 0.02 + 0.4 * random.unit() * random.unit();
        loop {
            let mut state = State::new(&level.inst, level.block);
            let vertices = || 0..level.inner as u32;
            let warmth = match finer.is_empty() {
                true => warmth * 0.7,
                false => warmth,
            };
            let hot = typical(&state, vertices()) * warmth;
            let schedule = Schedule::new(effort * level.inner as u64, hot, 0.04, stop_at);
            spent += schedule.steps;
            let mut found = anneal_within(&mut state, random, &schedule, vertices(), &self.0);
            found.block = lowered(&level.map, &found.block);
            let Some(below) = finer.pop() else {
                return (found, spent);
            };
            level = Level {
                block: found.block,
                ..below
            };
        }
    }
}

fn coarsen(fine: &Level, heaviest: i64, random: &mut Random) -> Option<Level> {
    let inst = &fine.inst;
    // Vertices outside are not joined.
    let block = |v: u32| fine.block[..fine.inner].get(v as usize);
    let may_join = |v, u| block(v).is_some() && block(v) == block(u) && may_join(inst, v, u);
    let (mut map, clusters) = matching(inst, |v| inst.load(v), heaviest, may_join, random);
    if clusters * 20 > inst.len() * 19 {
        return None;
    }
    // Clusters inside get the first numbers, in their order.
    in_order(&mut map, clusters);
    let last = map[..fine.inner].iter().max();
    Some(Level {
        inst: inst.contract(&map, clusters),
        block: lifted(&map, clusters, &fine.block),
        inner: last.map_or(0, |&last| last as usize + 1),
        map,
    })
}
