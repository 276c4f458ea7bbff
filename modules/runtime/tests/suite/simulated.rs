//! Networks in several OS processes, on a link on which anything may be late, against what they must come to.
//!
//! `GRAPHMAP_FUZZ_RUNS=1000000 cargo test --release --test suite simulated::` goes on for longer; a failure names its seed, and
//! `GRAPHMAP_FUZZ_SEED` begins there.
#![forbid(unsafe_code)]
#![cfg(not(miri))]
#![allow(clippy::print_stdout)] // the seed of a failure

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crate::common::script::Script;
use crate::common::simulated::{run_forged, run_simulated};
use crate::common::{BOTH, Both, Log, Random, accounted, flows, program};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Options, RunError, Sequence, Stopped};

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

const TURNS: u64 = 100;

/// Two that send each other a number in turn.
fn back_and_forth() -> Network {
    let mut net = Network::new("back", "back.dot");
    net.payload(rt::format_of!(u64));
    let first = |mut p: Both<u64>| async move {
        for turn in 0..TURNS {
            p.outs[0].write(turn).await?;
            assert_eq!(p.ins[0].read().await, Some(turn + 1));
        }
        Ok::<(), Stopped>(())
    };
    let second = |mut p: Both<u64>| async move {
        while let Some(number) = p.ins[0].read().await {
            p.outs[0].write(number + 1).await?;
        }
        Ok::<(), Stopped>(())
    };
    let a = net.kind("a", Names::Listed(&["a"]), "0", BOTH, first);
    let b = net.kind("b", Names::Listed(&["b"]), "1", BOTH, second);
    for (from, to) in [(a, b), (b, a)] {
        net.channels::<u64>(Channels {
            capacity: 1,
            ..Channels::new((from, 1), (to, 0), "0", "0")
        });
    }
    net
}

/// Who answers gives room back in the same frame.
#[test]
fn an_answer_is_one_frame() {
    let report = run_simulated(back_and_forth, &Options::new(), 2, 1).unwrap();
    for scheduler in &report.schedulers {
        let frames = scheduler.frames.unwrap();
        // What is said besides, of ends and the like, is not said for each.
        assert!((TURNS..TURNS + 20).contains(&frames), "{frames}");
    }
}

/// Frames of tokens, with credit and without, that are cut short: what comes is an error, and nothing waits.
#[test]
fn tokens_that_are_cut_short_end_the_run() {
    let (whole, cut) = (Cell::new(0), Cell::new(0));
    seeds(300, |seed| {
        let forged = run_forged(
            back_and_forth,
            &Options::new(),
            2,
            seed,
            |random, header, bytes| {
                if matches!(header.kind, 1 | 11) && random.below(100) == 0 {
                    bytes.truncate(random.below(bytes.len() as u64) as usize);
                }
            },
        );
        match forged {
            Ok(_) => whole.set(whole.get() + 1),
            Err(error) => {
                let error = error.to_string();
                assert!(
                    error.contains("cannot be read") || error.contains("ends before the credit"),
                    "{error}"
                );
                cut.set(cut.get() + 1);
            }
        }
    });
    assert!(whole.get() > 0 && cut.get() > 100);
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
