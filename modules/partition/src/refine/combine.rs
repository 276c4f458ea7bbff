//! What two mappings agree on is kept, the rest is searched.
//!
//! Vertices joined by channels that lie together in both mappings become one (as in Sanders and
//! Schulz, \"Distributed Evolutionary Graph Partitioning\", 2012). The small instance that is left
//! holds both mappings and all mixtures of them; it is annealed from the better one on.

use std::time::Instant;

use super::anneal::{Best, Schedule, anneal, typical};
use super::state::State;
use crate::clusters::{lifted, lowered};
use crate::instance::Instance;
use crate::multilevel::coarsen::may_join;
use crate::random::Random;

/// Clusters of vertices joined in both mappings: the cluster of each vertex and their number.
fn common(inst: &Instance, a: &[u32], b: &[u32]) -> (Vec<u32>, usize) {
    let n = inst.len();
    let mut map = vec![u32::MAX; n];
    let mut clusters = 0;
    let mut stack = Vec::new();
    for root in 0..n as u32 {
        if map[root as usize] != u32::MAX {
            continue;
        }
        map[root as usize] = clusters;
        stack.push(root);
        while let Some(v) = stack.pop() {
            for (u, _) in inst.row(v) {
                let both = a[u as usize] == a[v as usize] && b[u as usize] == b[v as usize];
                if both && map[u as usize] == u32::MAX && may_join(inst, v, u) {
                    map[u as usize] = clusters;
                    stack.push(u);
                }
            }
        }
        clusters += 1;
    }
    (map, clusters as usize)
}

/// A mapping from two: no worse than the first. Returns the steps it took with it.
pub(crate) fn combine(
    inst: &Instance,
    first: &Best,
    other: &[u32],
    stop_at: Option<Instant>,
    random: &mut Random,
) -> (Best, u64) {
    let (map, clusters) = common(inst, &first.block, other);
    let coarse = inst.contract(&map, clusters);
    let mut state = State::new(&coarse, lifted(&map, clusters, &first.block));
    let hot = typical(&state) * (0.05 + 0.4 * random.unit());
    let steps = (clusters as u64 * 150).clamp(2_000, 100_000);
    let schedule = Schedule::new(steps, hot, 0.03, stop_at);
    let found = anneal(&mut state, random, &schedule);
    let spent = steps + 8 * inst.targets.len() as u64;
    if !found.beats(first) {
        return (first.clone(), spent);
    }
    (
        Best::of(&State::new(inst, lowered(&map, &found.block))),
        spent,
    )
}
