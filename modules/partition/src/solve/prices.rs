//! What is found where moves cost more or less than they do.
//!
//! A high price makes every move but the best look bad, so that a search stays in the first valley it
//! meets; at another price it goes elsewhere, and what it finds there may be cheaper at the price asked.

use std::time::Instant;

use crate::budget::Budget;
use crate::error::Error;
use crate::instance::Instance;
use crate::problem::{LARGEST_COST, Migration, Problem};
use crate::random::Random;
use crate::strategy::{Context, auto};
use crate::tuning::time::{PRICED, PRICES, SHARE};

/// Short searches of the same problem at other prices, from the mapping that is to be left.
pub(super) fn others(
    problem: &Problem<'_>,
    inst: &Instance,
    budget: &Budget<'_>,
    old: &[u32],
) -> Result<Vec<Vec<u32>>, Error> {
    let mut found = Vec::new();
    let Some(migration) = problem.migration.filter(|_| auto::is_small(inst)) else {
        return Ok(found);
    };
    let all: u128 = migration.cost.iter().map(|&c| u128::from(c)).sum();
    let bounds: Vec<i64> = (0..inst.k()).map(|b| inst.load_bound(b)).collect();
    for (times, part) in PRICES {
        if all * u128::from(times) * u128::from(problem.machine.diameter()) > LARGEST_COST / 4 {
            continue;
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
        let other = other.with_load_bounds(&bounds);
        let brief = Budget {
            start: Instant::now(),
            time: budget.time.map(|t| t.mul_f64(SHARE)),
            steps: PRICED,
            ..*budget
        };
        let mut context = Context::new(&other, brief, Random::new(times), vec![old.to_vec()]);
        found.push(auto::run(&mut context)?.block);
    }
    Ok(found)
}
