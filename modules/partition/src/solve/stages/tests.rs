//! A search with a time does what one without does, and then more: nobody gets a worse mapping from
//! saying a time. Up to where the clock begins to count, so that no test does.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{Options, Stages};
use crate::error::Error;
use crate::strategy::rounds::STEPS_ONLY;

#[allow(dead_code, reason = "not all of it is needed here")]
#[path = "../../../tests/common/mod.rs"]
mod common;

/// Longer than any test.
const LONG: Duration = Duration::from_secs(3600);

/// By what factor the bounds are raised, and what the search finds; `None` where there is no mapping.
/// With a time, half of it has gone by before the search.
fn found(case: &common::Case, time: Option<Duration>) -> Option<(Option<f64>, i64)> {
    let problem = common::problem(case);
    let options = Options {
        time,
        steps: 1_000_000,
        ..Options::default()
    };
    let found = (|| {
        let mut stages = Stages::new(&problem, &options)?;
        stages.bound_loads()?;
        if let Some(time) = time {
            stages.budget.start = Instant::now() - time / 2;
            stages.bounding_took = time / 2;
        }
        let found = stages.search()?;
        Ok((stages.raised, stages.inst.cost(&found.block)))
    })();
    match found {
        Ok(found) => Some(found),
        Err(Error::Infeasible(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Whether nothing worse is found in a problem with a time than without.
fn compared(seed: u64) -> Result<(), TestCaseError> {
    let case = common::case(seed);
    let without = found(&case, None);
    STEPS_ONLY.set(true);
    let with = found(&case, Some(LONG));
    STEPS_ONLY.set(false);
    match (without, with) {
        (None, _) | (Some((Some(_), _)), Some((None, _))) => {}
        (Some((was, before)), Some((is, after))) => {
            prop_assert_eq!(was, is, "other bounds");
            prop_assert!(after <= before, "{} with a time, {} without", after, before);
        }
        (Some(_), None) => prop_assert!(false, "nothing found with a time"),
    }
    Ok(())
}

/// Where searches at other prices of moves took more steps with a time, and found what is dearer.
#[test]
fn other_prices_are_tried_no_otherwise_with_a_time() {
    compared(14_068_813_179_000_353_712).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(8)
    })]

    #[test]
    fn with_a_time_nothing_worse_is_found_than_without(seed in any::<u64>().no_shrink()) {
        compared(seed)?;
    }
}
