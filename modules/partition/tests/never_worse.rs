//! Nobody gets a worse mapping from asking for more: of more steps, or of `auto` where a plain rule
//! would have done. Random networks with random rules, machines and bounds; in steps, not clocks.

mod common;

use common::{Case, case, problem, run, within};
use graphmap_partition::{Constraint, Solution};
use proptest::prelude::*;

/// Whether loads are light, and all that limits an OS process.
fn asks_metis(case: &Case) -> bool {
    let limited =
        |c: &Constraint| matches!(c, Constraint::Count { .. } | Constraint::Memory { .. });
    let blocks = case.machine.blocks();
    let free = blocks
        .iter()
        .all(|b| b.memory.is_none() && b.slots.is_none());
    let loads = (0..case.graph.vertices() as u32).map(|v| case.graph.load(v));
    let heaviest = loads.max().unwrap_or(0);
    let least = problem(case).load_bounds().into_iter().min().unwrap_or(0);
    free && !case
        .constraints
        .iter()
        .any(|c| limited(c) || matches!(c, Constraint::Together { .. }))
        && heaviest > 0
        && heaviest <= least / 8
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(
            std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
        )
    })]

    #[test]
    fn more_steps_never_give_a_worse_mapping(seed in any::<u64>().no_shrink()) {
        let case = case(seed);
        let mut before: Option<Solution> = None;
        for steps in [1, 40_000, 70_000, 200_000] {
            let found = run(&case, "auto", steps, seed % 4);
            if let Some(before) = &before {
                let found = found.as_ref();
                prop_assert!(found.is_some(), "nothing any more after {steps} steps");
                let found = found.unwrap();
                match (before.raised, found.raised) {
                    (None, Some(factor)) => prop_assert!(false, "{steps} steps: raised by {factor}"),
                    (Some(_), None) => {}
                    (was, is) => {
                        prop_assert_eq!(was, is, "{} steps: other bounds", steps);
                        let (was, is) = (before.minimised, found.minimised);
                        prop_assert!(is <= was, "{steps} steps: {is} after {was}");
                    }
                }
            }
            before = found;
        }
    }

    #[test]
    fn auto_is_never_costlier_than_another_strategy_within_the_same_bounds(seed in any::<u64>().no_shrink()) {
        let case = case(seed);
        for steps in [1, 100_000] {
            let found = run(&case, "auto", steps, seed % 4);
            for strategy in ["stack", "round-robin", "fast", "metis"] {
                // Where it might print, `auto` does not ask it.
                if strategy == "metis" && !asks_metis(&case) {
                    continue;
                }
                let Some(other) = run(&case, strategy, steps, seed % 4) else {
                    continue;
                };
                let Some(found) = &found else {
                    prop_assert!(false, "nothing found, and by {strategy}");
                    continue;
                };
                prop_assert!(
                    !within(&case, &other, found) || found.minimised <= other.minimised,
                    "{} of {strategy}, {} of auto after {steps} steps: {:?}",
                    other.minimised, found.minimised, found.log
                );
                let worse = found.raised.is_some() && other.evaluation.feasible();
                prop_assert!(!worse, "{strategy} keeps the bounds that were raised");
            }
        }
    }
}
