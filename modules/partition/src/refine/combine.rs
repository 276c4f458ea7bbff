//! What two mappings agree on is kept, the rest is searched.
//!
//! Vertices joined by channels that lie together in both mappings become one (as in Sanders and
//! Schulz, \"Distributed Evolutionary Graph Partitioning\", 2012). The small instance that is left
//! holds both mappings and all mixtures of them; it is annealed from the better one on.

use std::time::Instant;

use super::anneal::{Best, annealed};
use super::state::State;
use crate::clusters::{lifted, lowered};
use crate::instance::Instance;
use crate::multilevel::coarsen::may_join;
use crate::random::Random;

/// A mapping from two: no worse than the first. Returns the steps it took with it.
pub(crate) fn combine(
    inst: &Instance,
    first: &Best,
    other: &[u32],
    stop_at: Option<Instant>,
    random: &mut Random,
) -> (Best, u64) {
    let (map, clusters) = inst.components(|v, u| {
        let together = |block: &[u32]| block[u as usize] == block[v as usize];
        together(&first.block) && together(other) && may_join(inst, v, u)
    });
    let coarse = inst.contract(&map, clusters);
    let block = lifted(&map, clusters, &first.block);
    let warmth = 0.05 + 0.4 * random.unit();
    let steps = (clusters as u64 * 150).clamp(2_000, 100_000);
    let found = annealed(&coarse, block, (steps, warmth, 0.03), stop_at, random);
    let spent = steps + 8 * inst.targets.len() as u64;
    if !found.beats(first) {
        return (first.clone(), spent);
    }
    let found = State::new(inst, lowered(&map, &found.block));
    (Best::of(&found), spent)
}
