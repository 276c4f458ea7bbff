//! More steps never give a worse mapping, and `auto` is never worse than a simple rule. The
//! networks, rules, machines and bounds are random. The searches are limited by steps, not by time.

mod common;

use common::{Case, Dice, case, problem, run, sized, within};
use graphmap_partition::{Constraint, Solution};
use proptest::prelude::*;

/// Returns true if two processes of the largest size fit into each OS process, by load, memory and
/// slots.
fn asks_metis(case: &Case) -> bool {
    let limited =
        |c: &Constraint| matches!(c, Constraint::Count { .. } | Constraint::Memory { .. });
    let vertices = 0..case.graph.vertices() as u32;
    let largest = vertices.map(|v| case.graph.memory(v)).max().unwrap_or(0);
    let free = case.machine.blocks().iter().all(|b| {
        b.memory.is_none_or(|memory| largest <= memory / 2) && b.slots.is_none_or(|slots| slots > 1)
    });
    let loads = (0..case.graph.vertices() as u32).map(|v| case.graph.load(v));
    let heaviest = loads.max().unwrap_or(0);
    let least = problem(case).load_bounds().into_iter().min().unwrap_or(0);
    free && !case
        .constraints
        .iter()
        .any(|c| limited(c) || matches!(c, Constraint::Together { .. }))
        && heaviest > 0
        && heaviest <= least / 2
}

/// Checks that `auto` costs at most as much as each other strategy within the same bounds.
fn none_is_cheaper(case: &Case, steps: u64, seed: u64) -> Result<(), TestCaseError> {
    let found = run(case, "auto", steps, seed);
    for strategy in ["stack", "round-robin", "fast", "metis"] {
        // `auto` does not call METIS if METIS might print. METIS may not be compiled in.
        if strategy == "metis" && (cfg!(not(feature = "metis")) || !asks_metis(case)) {
            continue;
        }
        let Some(other) = run(case, strategy, steps, seed) else {
            continue;
        };
        let Some(found) = &found else {
            return Err(TestCaseError::fail(format!(
                "nothing found, and by {strategy}"
            )));
        };
        prop_assert!(
            !within(case, &other, found) || found.minimised <= other.minimised,
            "{} of {strategy}, {} of auto after {steps} steps: {:?}",
            other.minimised,
            found.minimised,
            found.log
        );
        let worse = found.raised.is_some() && other.evaluation.feasible();
        prop_assert!(!worse, "{strategy} keeps the bounds that were raised");
    }
    Ok(())
}

/// Checks that more steps of `auto` never give a mapping that costs more, or bounds that must be
/// raised if they were not with fewer steps.
fn none_is_worse(case: &Case, steps: &[u64], seed: u64) -> Result<(), TestCaseError> {
    let mut before: Option<Solution> = None;
    for &steps in steps {
        let found = run(case, "auto", steps, seed);
        if let Some(before) = &before {
            let Some(found) = &found else {
                return Err(TestCaseError::fail(format!(
                    "nothing any more after {steps} steps"
                )));
            };
            match (before.raised, found.raised) {
                (None, Some(factor)) => prop_assert!(false, "{steps} steps: raised by {factor}"),
                (Some(_), None) => {}
                _ => {
                    let (was, is) = (&before.limits, &found.limits);
                    prop_assert_eq!(was, is, "{} steps: other bounds", steps);
                    let (was, is) = (before.minimised, found.minimised);
                    prop_assert!(is <= was, "{steps} steps: {is} after {was}");
                }
            }
        }
        before = found;
    }
    Ok(())
}

/// Checks that concurrent calls do not change the result of METIS, whose random numbers come from a
/// state that all threads share.
#[cfg(feature = "metis")]
#[test]
fn metis_gives_the_same_beside_others() {
    let case = sized(&mut Dice(6_962_205_621_077_643_995), 2000);
    let cost = || run(&case, "metis", 1, 3).map(|found| found.minimised);
    let alone = cost();
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..10).map(|_| cost()).collect::<Vec<_>>()))
            .collect();
        for other in others {
            assert_eq!(other.join().unwrap(), vec![alone; 10]);
        }
    });
}

/// Covers a network on which no pass of this crate finds a mapping within the bounds, but METIS
/// does. The packed mapping costs less than that of METIS.
#[test]
fn packing_runs_even_if_metis_is_feasible() {
    let seed = 6_062_809_201_548_047_276;
    none_is_cheaper(&sized(&mut Dice(seed), 21_610), 100_000, seed % 4).unwrap();
}

/// Returns a configuration with `PROPTEST_CASES` networks (six if it is not set), divided by a
/// number.
fn cases(divisor: u32) -> ProptestConfig {
    let set = std::env::var("PROPTEST_CASES").ok();
    let cases: u32 = set.and_then(|cases| cases.parse().ok()).unwrap_or(6);
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases.div_ceil(divisor))
    }
}

proptest! {
    #![proptest_config(cases(1))]

    #[test]
    fn more_steps_never_give_a_worse_mapping(seed in any::<u64>().no_shrink()) {
        none_is_worse(&case(seed), &[1, 40_000, 70_000, 200_000], seed % 4)?;
    }

    #[test]
    fn auto_is_never_costlier_than_another_strategy_within_the_same_bounds(seed in any::<u64>().no_shrink()) {
        for steps in [1, 100_000] {
            none_is_cheaper(&case(seed), steps, seed % 4)?;
        }
    }
}

proptest! {
    #![proptest_config(cases(3))]

    /// Checks networks with more than 20,000 processes, which get the engine for large networks.
    #[test]
    fn large_networks_are_mapped_no_worse_for_more(seed in any::<u64>().no_shrink()) {
        let dice = &mut Dice(seed);
        let case = sized(dice, 20_001 + (seed % 7919) as u32);
        none_is_worse(&case, &[1, 100_000], seed % 4)?;
        none_is_cheaper(&case, 100_000, seed % 4)?;
    }
}
