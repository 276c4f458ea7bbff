//! Selects the search for an instance: [`super::small`] for small ones, [`crate::large`] for large
//! ones.

use std::time::Instant;

use super::start::start;
use super::{Context, Found, rounds};
use crate::budget::Budget;
use crate::error::Error;
use crate::feasibility::is_feasible;
use crate::instance::Instance;
use crate::large::{self, TimeUse};
use crate::random::Random;
use crate::refine::anneal::annealed;
use crate::refine::rebalance::repair_rules;
use crate::tuning::large::GOOD_PER_FAST;
use crate::tuning::small::{NETWORK, TABLE};

pub(crate) fn run_fast(context: &mut Context<'_>) -> Result<Found, Error> {
    if is_small(context.inst) {
        return run(context);
    }
    Ok(divided(context, &large::FAST).into())
}

/// Returns a mapping from the engine for large networks, or the cheapest known mapping if the time
/// is too short for that. If no mapping is known, the engine first tries to finish within the time.
/// If that fails, it ignores the time limit. A result that breaks a rule is repaired as far as
/// possible.
fn divided(context: &mut Context<'_>, effort: &large::Effort) -> Vec<u32> {
    let (inst, budget) = (context.inst, context.budget);
    let random = &mut context.random;
    let initial_solutions = || context.initial_solutions.iter();
    let cheapest = || initial_solutions().min_by_key(|block| inst.cost(block));
    let known = budget.time.and_then(|_| cheapest());
    // The time that is left may be too short for a good mapping. This is estimated from the
    // duration of a mapping with little effort.
    let is_short = || {
        let both = context.hurried.zip(budget.stop_at());
        both.is_some_and(|(hurried, end)| Instant::now() + hurried * GOOD_PER_FAST > end)
    };
    let map = |effort, time_use, random: &mut Random| {
        large::map(inst, effort, (&budget, time_use), random)
    };
    let found = match (budget.time, known) {
        (None, _) if context.initial_solutions.is_empty() => None,
        (None, _) => map(effort, TimeUse::Once, random),
        (_, None) => map(effort, TimeUse::FillBySize, random),
        // A mapping with little effort counts even if it is only partly done, provided that it is
        // cheaper than the known one.
        (_, Some(_)) if effort.cycles == 0 && !budget.is_over() => {
            let found = map(effort, TimeUse::FillBySize, random);
            found.or_else(|| map(effort, TimeUse::Once, random))
        }
        // The time suffices for several mappings with little effort.
        (_, Some(known)) if is_short() => large::restarts(inst, known, &budget, random),
        (_, Some(known)) => map(effort, TimeUse::All(Some(known)), random),
    };
    let least = || known.or_else(cheapest).cloned();
    let known = found.or_else(least);
    let mut block = known.unwrap_or_else(|| large::map_in_full(inst, effort, random));
    if !inst.is_plain() && !is_feasible(inst, &block) {
        repair_rules(inst, &mut block);
    }
    block
}

/// Runs a short search without proofs, and returns its mapping as the initial solution of other
/// strategies. The mapping may be infeasible.
pub(crate) fn brief(context: &mut Context<'_>) -> Vec<u32> {
    let inst = context.inst;
    if inst.k() == 1 {
        return vec![0; inst.len()];
    }
    if !is_small(inst) {
        return divided(context, &large::GOOD);
    }
    let random = &mut context.random;
    let initial_solutions =
        (0..4).filter_map(|number| start(inst, number, (true, true), None, random));
    let best = initial_solutions
        .map(|start| start.0)
        .reduce(|best, found| {
            let better = found.beats(&best);
            if better { found } else { best }
        });
    best.map(|b| b.block).unwrap_or_default()
}

/// Improves a mapping that satisfies all rules, at most until `stop_at`. The result satisfies them
/// too.
pub(crate) fn touch_up(
    inst: &Instance,
    block: Vec<u32>,
    stop_at: Option<Instant>,
    random: &mut Random,
) -> Vec<u32> {
    if is_small(inst) {
        annealed(inst, block, (200_000, 0.3, 0.01), stop_at, random).block
    } else {
        large::improve(inst, block, &Budget::until(stop_at), random)
    }
}

/// Returns true if the instance gets the search for small networks, in which all steps are counted.
pub(crate) fn is_small(inst: &Instance) -> bool {
    inst.has_table() && inst.len().saturating_mul(inst.k()) <= TABLE && inst.len() <= NETWORK
}

pub(crate) fn run(context: &mut Context<'_>) -> Result<Found, Error> {
    if context.inst.k() == 1 {
        return Ok(vec![0; context.inst.len()].into());
    }
    if is_small(context.inst) {
        return Ok(rounds::search(context));
    }
    context.budget.time = context.budget.time.map(|t| t.mul_f64(context.patience));
    Ok(divided(context, &large::GOOD).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feasibility::is_feasible;
    use crate::graph::{Channel, Graph};
    use crate::machine::Machine;
    use crate::pack;
    use crate::problem::Problem;

    /// Checks that the deadline ends a search whose budget has too many steps.
    #[test]
    fn a_search_in_steps_ends_by_its_deadline() {
        let channels = (0..60).map(|v| Channel {
            from: v,
            to: (v * 7 + 1) % 60,
            traffic: 1,
        });
        let graph = Graph::new(vec![1; 60], &channels.collect::<Vec<_>>()).unwrap();
        let machine = Machine::regular(&[(4, 1), (2, 10)]).unwrap();
        let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        let budget = Budget {
            steps: u64::MAX / 2,
            deadline: Some(Instant::now()),
            ..Budget::until(None)
        };
        let start: Vec<u32> = (0..60).map(|v| v % 8).collect();
        let mut context = Context::new(&inst, budget, Random::new(1), vec![start.clone()]);
        let found = run(&mut context).unwrap();
        assert_eq!(found.block, start);
    }

    /// Checks that the result is the cheapest known mapping if the time is over at the start.
    #[test]
    fn a_pass_over_a_large_network_begins_nothing_when_its_time_is_over() {
        let channels = (1..30_000).map(|v| Channel {
            from: v - 1,
            to: v,
            traffic: 1,
        });
        let graph = Graph::new(vec![1; 30_000], &channels.collect::<Vec<_>>()).unwrap();
        let machine = Machine::regular(&[(4, 1), (2, 10)]).unwrap();
        let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        let budget = Budget::until(Some(Instant::now()));
        let dealt: Vec<u32> = (0..30_000).map(|v| v % 8).collect();
        let in_order: Vec<u32> = (0..30_000).map(|v| v / 3_750).collect();
        let initial_solutions = vec![dealt, in_order.clone()];
        let mut context = Context::new(&inst, budget, Random::new(1), initial_solutions);
        assert_eq!(run_fast(&mut context).unwrap().block, in_order);
    }

    #[test]
    fn touch_up_lowers_the_cost_and_stays_feasible() {
        // A ring of pairs, with loads that fill the blocks completely in only a few ways.
        let loads: Vec<u64> = (0..60).map(|v| 10 + v % 7 * 9).collect();
        let channels = (0..60).map(|v| Channel {
            from: v,
            to: (v + 1) % 60,
            traffic: 1 + u64::from(v % 2) * 20,
        });
        let graph = Graph::new(loads, &channels.collect::<Vec<_>>()).unwrap();
        let machine = Machine::regular(&[(4, 1), (2, 10)]).unwrap();
        let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        let mut random = Random::new(3);
        let packed = pack::pack(&inst, &mut random, pack::Effort::of(100_000));
        assert!(packed.feasible());
        let before = inst.cost(&packed.block);
        let block = touch_up(&inst, packed.block, None, &mut random);
        assert!(is_feasible(&inst, &block));
        let after = inst.cost(&block);
        assert!(after * 2 < before, "{after} of {before}");
    }
}
