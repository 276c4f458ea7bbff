//! Short searches in which moves from the old mapping cost more or less than requested.
//!
//! At a high price nearly every move looks bad, so that a search stays in the first valley it
//! reaches. At another price it goes elsewhere. The mapping that it finds there may cost less at
//! the requested price.

use std::time::Instant;

use crate::budget::{Budget, is_past, partway};
use crate::error::Error;
use crate::instance::Instance;
use crate::problem::{LARGEST_COST, Migration, Problem};
use crate::random::Random;
use crate::strategy::{Context, auto};
use crate::tuning::time::{PRICED, PRICES, PRICING, SHARE, STEP};
use crate::watch::Watch;

/// Returns the mappings of short searches at other prices, all starting from the old mapping. The
/// first list is limited by steps, equally with and without a time limit. The second is limited by
/// a share of the time, if that allows for more. Prices at which a cost could get too large are
/// skipped. Both lists are empty for a large instance, and without a previous mapping. Returns the
/// first error of a search.
pub(super) fn others(
    problem: &Problem<'_>,
    inst: &Instance,
    budget: &Budget<'_>,
    old: &[u32],
) -> Result<[Vec<Vec<u32>>; 2], Error> {
    let (mut first, mut later) = (Vec::new(), Vec::new());
    let Some(migration) = problem.migration.filter(|_| auto::is_small(inst)) else {
        return Ok([first, later]);
    };
    // Costs at other prices have no meaning for the watch.
    let hidden = budget.watch.map(Watch::hidden);
    let budget = &Budget {
        watch: hidden.as_ref(),
        ..*budget
    };
    let all: u128 = migration.cost.iter().map(|&c| u128::from(c)).sum();
    let share = budget.time.map(|t| t.mul_f64(SHARE));
    // These searches are limited by steps, so a short time limit needs a deadline.
    let (begun, end) = (Instant::now(), partway(budget.stop_at(), PRICING));
    // A longer search at another price may find a mapping that costs more at the requested price.
    // So the searches by steps also run with a time limit, unless it is too short for them.
    let is_short = share.is_some_and(|t| t.as_nanos() <= u128::from(PRICED) * STEP);
    for (place, (times, part)) in (1..).zip(PRICES) {
        if all * u128::from(times) * u128::from(problem.machine.diameter()) > LARGEST_COST / 4 {
            continue;
        }
        let deadline = end.map(|end| begun + (end - begun) * place / PRICES.len() as u32);
        if is_past(deadline) {
            break;
        }
        let cost: Vec<u64> = migration.cost.iter().map(|c| c * times / part).collect();
        let other = Problem {
            migration: Some(Migration {
                cost: &cost,
                ..migration
            }),
            ..*problem
        };
        // This does not fail, because the rules are the same as at the requested price.
        let Ok((other, _)) = Instance::new(&other) else {
            continue;
        };
        // The instances differ only in the weights of edges.
        let other = Instance {
            graph: other.graph,
            ..inst.clone()
        };
        let search = |budget: Budget<'_>, random| {
            let mut context = Context::new(&other, budget, random, vec![old.to_vec()]);
            auto::run(&mut context).map(|found| found.block)
        };
        let timed = || Budget {
            start: Instant::now(),
            time: share,
            ..*budget
        };
        let random = Random::new(times);
        let brief = match is_short {
            true => timed(),
            false => Budget {
                time: None,
                steps: PRICED,
                deadline,
                ..*budget
            },
        };
        first.push(search(brief, random.clone())?);
        if share.is_some() && !is_short {
            later.push(search(timed(), random)?);
        }
    }
    Ok([first, later])
}
