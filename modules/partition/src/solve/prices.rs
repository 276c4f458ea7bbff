//! What is found where moves cost more or less than they do.
//!
//! A high price makes every move but the best look bad, so that a search stays in the first valley it
//! meets; at another price it goes elsewhere, and what it finds there may be cheaper at the price asked.

use std::time::Instant;

use crate::budget::{Budget, is_past, partway};
use crate::error::Error;
use crate::instance::Instance;
use crate::problem::{LARGEST_COST, Migration, Problem};
use crate::random::Random;
use crate::strategy::{Context, auto};
use crate::tuning::time::{PRICED, PRICES, PRICING, SHARE, STEP};
use crate::watch::Watch;

/// What short searches find of the same problem at other prices, from the mapping that is to be left: in
/// steps, the same with a time and without one; and in a share of the time, where that is more.
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
    // What is found costs something else at the price asked.
    let unseen = budget.watch.map(Watch::unseen);
    let budget = &Budget {
        watch: unseen.as_ref(),
        ..*budget
    };
    let all: u128 = migration.cost.iter().map(|&c| u128::from(c)).sum();
    let share = budget.time.map(|t| t.mul_f64(SHARE));
    // Such a search takes what it takes, which for a time may be too much.
    let (begun, end) = (Instant::now(), partway(budget.stop_at(), PRICING));
    // A search at another price that takes longer may find what is dearer at the price asked: what
    // is done without a time is done with one, too, unless that is too short for it.
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
        // The rules are those of the problem, which has an instance.
        let Ok((other, _)) = Instance::new(&other) else {
            continue;
        };
        // They differ in nothing but the weights of edges.
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
