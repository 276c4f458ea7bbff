//! Large neighbourhoods: part of the machine is emptied and filled anew.
//!
//! From outside, all blocks below one node of the machine are equally far. So what lies below it
//! can be divided anew without regard to the rest, and what is gained there is gained in the whole.
//! The best parts of many attempts come together in one mapping.

use super::anneal::{Best, Schedule, anneal_within, typical_of};
use super::state::State;
use crate::instance::Instance;
use crate::multilevel::initial::{Tries, section};
use crate::random::Random;

/// Members of one group of the machine, to be filled anew.
pub(crate) struct Region {
    /// Nodes of the machine with one parent.
    parts: Vec<u32>,
    blocks: Vec<u32>,
}

impl Region {
    /// Some members of a group of the given depth; `None` when there is none so deep.
    pub(crate) fn at(inst: &Instance, depth: u32, random: &mut Random) -> Option<Self> {
        let nodes = inst.shared.machine.nodes();
        let groups: Vec<usize> = (0..nodes.len())
            .filter(|&i| nodes[i].depth == depth && nodes[i].children.len() > 1)
            .collect();
        if groups.is_empty() {
            return None;
        }
        let mut parts = nodes[groups[random.below(groups.len())]].children.clone();
        random.shuffle(&mut parts);
        parts.truncate((2 + random.below(3)).min(parts.len()));
        let below = parts.iter().flat_map(|&p| &nodes[p as usize].blocks);
        let blocks = below.copied().collect();
        Some(Self { parts, blocks })
    }

    /// How deep groups of several members lie at most.
    pub(crate) fn depths(inst: &Instance) -> u32 {
        let nodes = inst.shared.machine.nodes().iter();
        let groups = nodes.filter(|n| n.children.len() > 1);
        groups.map(|n| n.depth + 1).max().unwrap_or(0)
    }

    /// Fills the region anew, then anneals in it. Ends with the better of both mappings, in the
    /// state and in `best`; returns the steps it took.
    pub(crate) fn refill(
        &self,
        state: &mut State<'_>,
        best: &mut Best,
        schedule: &Schedule,
        random: &mut Random,
    ) -> u64 {
        let inst = state.inst;
        let vertices: Vec<u32> = self
            .blocks
            .iter()
            .flat_map(|&b| state.members(b))
            .copied()
            .collect();
        let entries: usize = vertices.iter().map(|&v| 1 + inst.degree(v)).sum();
        let tries = Tries {
            coarsest: 2,
            rounds: 1,
        };
        let mut block = best.block.clone();
        let greed = if random.below(2) == 0 {
            0.0
        } else {
            random.unit()
        };
        let region = (vertices.clone(), self.parts.clone());
        section(inst, region, (tries, greed), &mut block, random);
        state.adopt(&block);
        let hot = typical_of(state, vertices.iter().copied()) * schedule.hot;
        let schedule = Schedule {
            steps: vertices.len() as u64 * schedule.steps,
            hot,
            cold: hot * schedule.cold,
            stop_at: schedule.stop_at,
        };
        let found = anneal_within(
            state,
            random,
            &schedule,
            vertices.iter().copied(),
            &self.blocks,
        );
        if !best.beats(&found) {
            *best = found;
        }
        state.adopt(&best.block);
        schedule.steps + 40 * entries as u64
    }
}
