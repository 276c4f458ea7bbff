//! Large tokens in networks of several OS processes that share memory. The program of these tests
//! is this file, as in `os_processes.rs`.
#![cfg(not(miri))]

use crate::common::cases::network;
use crate::common::itself::{Itself, code, ends, run};
use crate::common::seeds;
use graphmap_runtime::Exit;

/// This file as a program.
const ITSELF: Itself = Itself(module_path!());

#[test]
#[ignore = "run by `an_encoder_that_gives_something_else_each_time_loses_no_token` and the others"]
fn program() {
    run(network);
}

/// Runs a case with and without single copy, on one and two schedulers. Checks the exit code and
/// the printed texts.
#[track_caller]
fn assert_ends(case: &str, exit: Exit, told: &[&str]) {
    for single_copy in ["0", "1"] {
        for schedulers in ["1", "2"] {
            let variables = [
                ("GRAPHMAP_SINGLE_COPY", single_copy),
                ("GRAPHMAP_SCHEDULERS", schedulers),
            ];
            let (out, err) = ITSELF.start(case, 2, &variables);
            let all = format!("{case} {single_copy} {schedulers}: {out}{err}");
            assert!(out.contains(&code(exit)), "{all}");
            for told in told {
                assert!(out.contains(told) || err.contains(told), "{told}: {all}");
            }
        }
    }
}

#[test]
fn an_encoder_that_gives_something_else_each_time_loses_no_token() {
    assert_ends("inconstant", Exit::Ok, &["read all"]);
}

#[test]
fn ends_in_a_token_go_when_it_has_been_sent() {
    assert_ends("ends", Exit::Ok, &["all have ended"]);
}

#[test]
fn ends_in_a_token_go_also_while_a_run_within_waits_for_them() {
    assert_ends("ends in a nested run", Exit::Ok, &["all have ended"]);
}

#[test]
fn a_token_may_run_a_network_when_it_is_dropped() {
    assert_ends("dropped", Exit::Ok, &["all have run"]);
}

#[test]
fn a_large_token_that_cannot_be_read_ends_the_run() {
    for (number, why) in [
        ("0", "a better token"),
        ("1", "not again"),
        ("2", "expected"),
    ] {
        let case = format!("cut:{number}");
        assert_ends(
            &case,
            Exit::Failed,
            &["bob (rank 1", "alice.out -> bob.in", why],
        );
    }
}

#[test]
fn tokens_of_all_shapes_arrive_as_they_do_in_one_os_process() {
    for seed in seeds(4, 0) {
        let case = format!("of all shapes:{seed}");
        let (one, err) = ITSELF.start(&case, 1, &[]);
        assert!(one.contains(&code(Exit::Ok)), "{case}: {one}{err}");
        for (os_processes, schedulers, single_copy) in
            [(2, "1", "0"), (3, "2", "0"), (2, "2", "1"), (3, "1", "1")]
        {
            let variables = [
                ("GRAPHMAP_SINGLE_COPY", single_copy),
                ("GRAPHMAP_SCHEDULERS", schedulers),
            ];
            let (out, err) = ITSELF.start(&case, os_processes, &variables);
            let told = format!("{case} {os_processes} {schedulers} {single_copy}: {out}{err}");
            assert!(out.contains(&code(Exit::Ok)), "{told}");
            assert_eq!(ends(&out), ends(&one), "{told}");
        }
    }
}
