//! Initial solutions of a search for small networks. They are made by the engine for large
//! networks, or by cutting a vertex order into runs, and then annealed.

use std::time::Instant;

use crate::budget::{Budget, is_past};
use crate::feasibility::is_feasible;
use crate::instance::Instance;
use crate::large::{self, TimeUse};
use crate::multilevel::line;
use crate::random::Random;
use crate::refine::anneal::{Best, annealed};
use crate::refine::rebalance::repair_rules;
use crate::refine::state::State;
use crate::tuning::small::{COARSE, MAKING};

/// Creates an initial solution. Returns the solution, the number of annealing steps, and the number
/// of steps that the work before annealing counts as. Returns `None` if the time is over. The
/// solution may be infeasible.
///
/// `number` counts the initial solutions of a search, and selects the method. `lines` permits
/// mappings that are cut from vertex orders. `short` is true if the search plans with few steps per
/// vertex.
pub(super) fn start(
    inst: &Instance,
    number: usize,
    (lines, short): (bool, bool),
    stop_at: Option<Instant>,
    random: &mut Random,
) -> Option<(Best, u64, u64)> {
    let runs = (number < 6 && number.is_multiple_of(2) && lines).then(|| {
        let order = line::order(inst, number / 2, random);
        line::cut(inst, &order)
    });
    let (mut first, work) = match runs.flatten() {
        Some(block) => (block, inst.len() * inst.k()),
        None => {
            let long = number % 8 == 1 && inst.len() >= COARSE && inst.is_plain();
            let effort = match long {
                true if short => &large::BRIEF,
                true => &large::GOOD,
                // On meshes, halves of even load give boxes. Vertex orders are not good there.
                false if !lines && number % 4 >= 2 => &large::EVEN,
                // If a few heavy vertices raise the bound of all blocks, the others may fit into
                // one host. Only a bisection whose halves may be empty finds that.
                false if number > 2 && number % 2 == 1 => &large::UNEVEN,
                false => &large::FAST,
            };
            let budget = Budget::until(stop_at);
            let block = large::map(inst, effort, (&budget, TimeUse::Once), random)?;
            (block, MAKING * (inst.len() + inst.targets.len()))
        }
    };
    repair_rules(inst, &mut first);
    if is_past(stop_at) {
        return None;
    }
    // The temperature ranges from a slight improvement of the mapping to a search that forgets it.
    // Only small instances can afford the latter.
    let warmth = if inst.len() <= 100 {
        0.05 + 0.75 * random.unit()
    } else if number % 3 == 2 {
        0.05 + 0.5 * random.unit()
    } else {
        0.05
    };
    let steps = (inst.len() as u64 * 50).clamp(10_000, 50_000);
    let found = annealed(inst, first, (steps, warmth, 0.02), stop_at, random);
    Some((found, steps, work as u64))
}

/// Returns a mapping of the vertices, in the order of their numbers, in runs to the blocks. The
/// numbers of vertices in two blocks differ by at most 1. Ignores loads and rules.
pub(super) fn in_order(inst: &Instance) -> Vec<u32> {
    let (n, k) = (inst.len(), inst.k());
    (0..n).map(|v| (v * k / n) as u32).collect()
}

/// Wraps a mapping. If it is feasible, its cost is computed without the cost table.
pub(super) fn given(inst: &Instance, block: Vec<u32>) -> Best {
    match is_feasible(inst, &block) {
        true => Best {
            cost: inst.cost(&block),
            excess: 0.0,
            block,
        },
        false => Best::of(&State::new(inst, block)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Channel, Graph};
    use crate::machine::Machine;
    use crate::problem::Problem;

    /// Bounds as after one heavy vertex has raised the bound of all blocks.
    #[test]
    fn networks_that_fit_one_host_get_an_initial_solution_there() {
        let channels = (0..240).flat_map(|v| {
            [1, 7].map(|far| Channel {
                from: v,
                to: (v + far) % 240,
                traffic: 1,
            })
        });
        let graph = Graph::new(vec![1; 240], &channels.collect::<Vec<_>>()).unwrap();
        let machine = Machine::regular(&[(4, 1), (4, 100)]).unwrap();
        let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        let inst = inst.with_load_bounds(&[64; 16]);
        let mut random = Random::new(1);
        let mut hosts = |number| {
            let found = start(&inst, number, (true, true), None, &mut random);
            let mut hosts: Vec<u32> = found.unwrap().0.block.iter().map(|b| b / 4).collect();
            hosts.sort_unstable();
            hosts.dedup();
            hosts.len()
        };
        assert_eq!(hosts(3), 1);
        assert_eq!(hosts(5), 1);
    }
}
