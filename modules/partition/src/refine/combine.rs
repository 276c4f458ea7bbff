//! Combination of two mappings: keeps their common parts, and searches the rest.
//!
//! Vertices that channels join and that are together in both mappings become one vertex (as in
//! Sanders and Schulz, "Distributed Evolutionary Graph Partitioning", 2012). The small instance
//! that remains contains both mappings and all their mixtures. It is annealed, starting from the
//! first mapping.

use std::time::Instant;

use super::anneal::{Best, annealed};
use super::state::State;
use crate::clusters::{lifted, lowered};
use crate::instance::Instance;
use crate::multilevel::coarsen::may_join;
use crate::random::Random;

/// Combines two mappings. Returns a mapping that is not worse than `first`, and the number of steps
/// that the work counts as. `other` contains the block of each vertex.
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
