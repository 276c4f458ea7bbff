//! A search with a time limit does the work of a search without one, and of a search with less
//! time. So a time limit, or a longer one, never gives a worse mapping. These tests count steps
//! instead of time, so that they do not depend on a clock.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{Options, Stages, prices};
use crate::error::Error;
use crate::strategy::rounds::VIRTUAL;
use crate::watch::Watch;

#[allow(dead_code, reason = "not all of it is needed here")]
#[path = "../../../tests/common/mod.rs"]
mod common;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(3600);

/// Number of steps after which a search with a time limit has done all the work of one without.
const BOTH: u64 = 40_000_000;

/// Returns the factor by which the bounds are raised, and the cost of the mapping. Returns `None`
/// if there is no mapping. With `time`, the search ends after this number of steps, and half of its
/// time has passed before it begins.
fn found(case: &common::Case, time: Option<u64>, threads: usize) -> Option<(Option<f64>, i64)> {
    let problem = common::problem(case);
    let options = Options {
        time: time.map(|_| LONG),
        steps: 1_000_000,
        threads: NonZeroUsize::new(threads).unwrap(),
        ..Options::default()
    };
    VIRTUAL.set(time);
    let found = (|| {
        let mut stages = Stages::new(&problem, &options)?;
        stages.bound_loads()?;
        if time.is_some() {
            stages.budget.start = Instant::now() - LONG / 2;
            stages.bounding_took = LONG / 2;
        }
        let found = stages.search()?;
        Ok((stages.raised, stages.inst.cost(&found.block)))
    })();
    VIRTUAL.set(None);
    match found {
        Ok(found) => Some(found),
        Err(Error::Infeasible(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Checks that the second result is not worse than the first.
fn no_worse(
    before: Option<(Option<f64>, i64)>,
    after: Option<(Option<f64>, i64)>,
) -> Result<(), TestCaseError> {
    match (before, after) {
        (None, _) | (Some((Some(_), _)), Some((None, _))) => {}
        (Some((was, before)), Some((is, after))) => {
            prop_assert_eq!(was, is, "other bounds");
            prop_assert!(after <= before, "{} after {}", after, before);
        }
        (Some(_), None) => prop_assert!(false, "nothing found"),
    }
    Ok(())
}

/// Checks that a search with a time limit finds nothing worse than one without.
fn compared(seed: u64) -> Result<(), TestCaseError> {
    let case = common::case(seed);
    no_worse(found(&case, None, 1), found(&case, Some(BOTH), 1))
}

/// Covers a bug: with a time limit, searches at other prices took more steps, and found a mapping
/// that costs more.
#[test]
fn other_prices_are_tried_alike_with_a_time_limit() {
    compared(14_068_813_179_000_353_712).unwrap();
}

/// Checks that the watch gets only costs at the requested price.
#[test]
fn watch_gets_only_costs_at_the_requested_price() {
    let found: usize = (0..40)
        .map(|seed| {
            let case = common::case(seed);
            let Some((old, _)) = &case.old else {
                return 0;
            };
            let watch = Arc::new(Watch::new(Arc::default()));
            let options = Options {
                watch: Some(Arc::clone(&watch)),
                ..Options::default()
            };
            let problem = common::problem(&case);
            let Ok(stages) = Stages::new(&problem, &options) else {
                return 0;
            };
            let old = stages.in_instance(|v| old[v]);
            let found = prices::others(&problem, &stages.inst, &stages.budget, &old);
            assert_eq!(watch.best(), None);
            found.map_or(0, |found| found.concat().len())
        })
        .sum();
    assert!(found > 10);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(5)
    })]

    #[test]
    fn with_a_time_nothing_worse_is_found_than_without(seed in any::<u64>().no_shrink()) {
        compared(seed)?;
    }

    #[test]
    fn with_more_time_nothing_worse_is_found(seed in any::<u64>().no_shrink()) {
        let case = common::case(seed);
        let threads = 1 + (seed % 3) as usize;
        let mut before = None;
        for steps in [1, 50_000, 100_000, 300_000, 700_000, 2_000_000, 6_000_000] {
            let after = found(&case, Some(steps), threads);
            no_worse(before, after)?;
            before = after;
        }
    }
}
