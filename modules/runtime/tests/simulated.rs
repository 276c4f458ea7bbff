//! Networks in several OS processes, on a link on which anything may be late, against what they must come to.
//!
//! `GRAPHMAP_FUZZ_RUNS=1000000 cargo test --release --test simulated` goes on for longer; a failure names its seed, and
//! `GRAPHMAP_FUZZ_SEED` begins there.
#![forbid(unsafe_code)]
#![cfg(not(miri))]
#![allow(clippy::print_stdout)] // the seed of a failure

mod common;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use common::script::Script;
use common::simulated::run_simulated;
use common::{Log, Random, accounted, flows, program};
use graphmap_runtime as rt;
use rt::{Options, RunError, Sequence};

/// Runs the seeds that are asked for; one that fails is told.
fn seeds(runs: u64, one: impl Fn(u64)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("GRAPHMAP_FUZZ_SEED").unwrap_or(0);
    for seed in first..first + number("GRAPHMAP_FUZZ_RUNS").unwrap_or(runs) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| one(seed))) {
            println!("seed {seed}");
            resume_unwind(panic);
        }
    }
}

/// Who ends, and what has become of it, is what a model without processes says; what is told of a block is what one
/// scheduler tells.
#[test]
fn standstills_are_found_and_none_is_false() {
    let (blocked, grown) = (Cell::new(0), Cell::new(0));
    seeds(2000, |seed| {
        let mut random = Random(!seed);
        let script = Arc::new(Script::new(seed));
        let log = Log::new();
        let alone = rt::run(script.network(log.adder()), &Options::new());
        let ends = log.sorted();
        let model = script.ends();
        let whole = model.len() == script.steps.len();
        assert_eq!(alone.is_ok(), whole, "one scheduler");
        // Some that a model ends wait for room that nobody will give: they are none in a cycle.
        assert!(ends.iter().all(|end| model.contains(end)));
        assert!(!whole || ends == model);
        let os_processes = 2 + random.below(3) as usize;
        let mapping =
            (0..script.steps.len()).map(|_| random.below(os_processes as u64).to_string());
        let mapping: Sequence = mapping.collect::<Vec<_>>().join(" ").parse().unwrap();
        let options = match random.below(2) {
            0 => Options::new().mapping(mapping),
            _ => Options::new(),
        };
        let several = run_simulated(
            || script.network(log.adder()),
            &options,
            os_processes,
            random.next(),
        );
        assert_eq!(log.sorted(), ends);
        match (alone, several) {
            (Ok(alone), Ok(several)) => {
                assert_eq!(alone.growths.len(), several.growths.len());
                grown.set(grown.get() + several.growths.len());
            }
            (Err(RunError::Blocked(alone)), Err(RunError::Blocked(several))) => {
                assert_eq!(several.processes, alone.processes);
                blocked.set(blocked.get() + 1);
            }
            (alone, several) => panic!("{alone:?} {several:?}"),
        }
    });
    // There was something to be found.
    assert!(blocked.get() > 0 && grown.get() > 0);
}

/// Programs in which nothing may block, and reads and writes are cancelled, tried again and woken from elsewhere.
#[test]
fn nothing_is_lost_on_a_late_link() {
    seeds(100, |seed| {
        let mut random = Random(!seed);
        let log = Log::new();
        let network = || accounted::network(program::program(seed), log.adder());
        rt::run(network(), &Options::new()).unwrap();
        let ends = log.sorted();
        for os_processes in [2, 3] {
            let seed = random.next();
            run_simulated(network, &Options::new(), os_processes, seed).unwrap();
            assert_eq!(log.sorted(), ends, "{os_processes}");
        }
    });
}

/// Ends of flow-controlled channels that open, ask, leave and close in any order, where what they tell each other is late.
#[test]
fn flow_controlled_channels_lose_nothing_on_a_late_link() {
    seeds(150, |seed| {
        let mut random = Random(!seed);
        let log = Log::new();
        let network = || flows::network(seed, log.adder());
        rt::run(network(), &Options::new()).unwrap();
        let total = log.take();
        for os_processes in [2, 3, 6] {
            let seed = random.next();
            run_simulated(network, &Options::new(), os_processes, seed).unwrap();
            assert_eq!(log.take(), total, "{os_processes}");
        }
    });
}
