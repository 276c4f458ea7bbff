//! Invalid values of the variables of a run. Each is reported once, at the start, in every mode.
//!
//! The program of these tests is this file, as in `os_processes.rs`.
#![cfg(not(miri))]

use std::collections::BTreeSet;
use std::process::Output;

use crate::common::bad_variables::{BAD, Bad};
use crate::common::cases::network;
use crate::common::itself::{CASE, Itself, code, run};
use graphmap_runtime as rt;
use rt::Exit;

/// This file as a program.
const ITSELF: Itself = Itself(module_path!());

#[test]
#[ignore = "run by `a_wrong_value_is_reported_once_in_every_mode`"]
fn program() {
    run(network);
}

/// One scheduler, two threads, and two OS processes.
const MODES: [&[(&str, &str)]; 3] = [
    &[],
    &[("GRAPHMAP_OS_PROCESSES", "2")],
    &[("GRAPHMAP_OS_PROCESSES", "2"), ("GRAPHMAP_LINK", "shm")],
];

#[test]
fn a_wrong_value_is_reported_once_in_every_mode() {
    for Bad(name, values) in BAD {
        for (value, mode) in values
            .iter()
            .flat_map(|value| MODES.map(|mode| (value, mode)))
        {
            let mut command = ITSELF.program();
            command.env(CASE, "stop").envs(mode.iter().copied());
            let Output { stdout, stderr, .. } = command.env(name, value).output().unwrap();
            let (out, err) = (
                String::from_utf8_lossy(&stdout),
                String::from_utf8_lossy(&stderr),
            );
            let shown = format!("{name}={value} {mode:?}: {out}{err}");
            assert!(out.contains(&code(Exit::Usage)), "{shown}");
            let errors: Vec<&str> = err
                .lines()
                .filter(|line| line.starts_with("error: "))
                .collect();
            assert_eq!(errors.len(), 1, "{shown}");
            assert!(errors[0].contains(name), "{shown}");
            let is_explained = [
                "expected",
                "cannot be",
                "cannot read",
                "cannot write",
                "the mapping",
            ]
            .iter()
            .any(|word| errors[0].contains(word));
            assert!(is_explained, "{shown}");
        }
    }
}

/// Checks that every documented variable is in the table.
#[test]
fn all_variables_have_wrong_values() {
    let text = include_str!("../../../executor/src/variables.md");
    let names = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let names = names
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name);
    let documented: BTreeSet<&str> = names.collect();
    let tested: BTreeSet<&str> = BAD.iter().map(|Bad(name, _)| *name).collect();
    assert_eq!(documented, tested);
}
