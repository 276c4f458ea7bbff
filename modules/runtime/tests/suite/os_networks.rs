//! Random networks in several OS processes that share memory, against one scheduler.
//!
//! A program is this very file, as in `os_processes.rs`.
#![cfg(not(miri))]

use std::sync::Arc;

use crate::common::cases::network;
use crate::common::itself::{Itself, code, ends, run};
use crate::common::script::Script;
use crate::common::shapes::shape;
use crate::common::{Log, Random};
use graphmap_runtime as rt;
use rt::Exit;

/// This file as a program.
const ITSELF: Itself = Itself(module_path!());

const SCHEDULERS: &str = "GRAPHMAP_SCHEDULERS";

#[test]
#[ignore = "run by `random_networks_compute_the_same` and the others"]
fn program() {
    run(network);
}

/// What the processes of a case become is the same in one OS process and in several, with so many schedulers each.
fn ends_alike(case: &str, several: &[(usize, u32)]) -> usize {
    let printed = |os_processes: usize, schedulers: u32| {
        let (out, err) = ITSELF.start(case, os_processes, &[(SCHEDULERS, &schedulers.to_string())]);
        assert!(
            out.contains(&code(Exit::Ok)),
            "{case} {os_processes} {schedulers}: {out}{err}"
        );
        out
    };
    let one = printed(1, 1);
    let alone = ends(&one);
    for &(os_processes, schedulers) in several {
        let several = printed(os_processes, schedulers);
        assert_eq!(ends(&several), alone, "{case} {os_processes} {schedulers}");
    }
    alone.len()
}

#[test]
fn random_networks_compute_the_same() {
    for seed in 0..25 {
        let ends = ends_alike(&format!("random:{seed}"), &[(2, 1), (5, 1), (2, 2)]);
        assert_eq!(ends as u64, shape(seed).processes);
    }
}

/// Programs of `fuzzed.rs`, in which reads and writes are cancelled and tried again.
#[test]
fn nothing_is_lost_among_os_processes() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: u64 = number("GRAPHMAP_FUZZ_SEED").unwrap_or(0);
    for seed in first..first + number("GRAPHMAP_FUZZ_RUNS").unwrap_or(25) {
        ends_alike(&format!("accounted:{seed}"), &[(2, 1), (3, 1), (2, 2)]);
    }
}

/// Networks of `simulated.rs`, over memory that is shared: who ends, and what becomes of it, is what one scheduler says; the others are
/// told as blocked, and by name. `GRAPHMAP_FUZZ_RUNS=10000` goes on for longer.
#[test]
fn standstills_are_found_and_none_is_false() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: u64 = number("GRAPHMAP_FUZZ_SEED").unwrap_or(0);
    let (mut whole, mut blocked) = (0, 0);
    for seed in first..first + number("GRAPHMAP_FUZZ_RUNS").unwrap_or(60) {
        let script = Arc::new(Script::new(seed));
        let log = Log::new();
        let alone = rt::run(script.network(log.adder()), &rt::Options::new());
        let ends = log.sorted();
        let mut random = Random(!seed);
        let os_processes = 2 + random.below(3) as usize;
        let schedulers = (1 + random.below(2)).to_string();
        let (out, err) = ITSELF.start(
            &format!("script:{seed}"),
            os_processes,
            &[(SCHEDULERS, &schedulers)],
        );
        let told = format!("{seed}, {os_processes} of {schedulers}: {out}{err}");
        let lines = out.lines().filter(|line| line.starts_with("end "));
        let mut lines: Vec<&str> = lines.collect();
        lines.sort_unstable();
        let ends: Vec<_> = ends
            .iter()
            .map(|(rank, state)| format!("end {rank} {state:016x}"))
            .collect();
        assert_eq!(lines, ends, "{told}");
        match alone {
            Ok(_) => {
                assert!(out.contains(&code(Exit::Ok)), "{told}");
                whole += 1;
            }
            Err(rt::RunError::Blocked(block)) => {
                assert!(out.contains(&code(Exit::Blocked)), "{told}");
                for process in block.cycle.iter().chain(&block.others) {
                    assert!(err.contains(&process.name), "{told}");
                }
                blocked += 1;
            }
            Err(other) => panic!("{told}: {other}"),
        }
    }
    assert!(whole > 0 && blocked > 0, "{whole} {blocked}");
}

/// Programs of `flow_networks.rs`, in which ends of flow-controlled channels come and go.
#[test]
fn flow_controlled_channels_are_the_same() {
    for seed in 0..25 {
        let ends = ends_alike(&format!("flows:{seed}"), &[(2, 1), (3, 1), (2, 2)]);
        assert_eq!(ends, 1);
    }
}
