//! A program for the tests. Runs the network that its first argument names: `NAME` or
//! `NAME:NUMBER`.
#![allow(clippy::print_stdout)]

// The tests of the runtime use all of this module.
#[allow(dead_code)]
#[path = "../../runtime/tests/suite/common/mod.rs"]
mod common;

use std::process::ExitCode;

fn main() -> ExitCode {
    let case = std::env::args().nth(1).unwrap_or_default();
    let (name, number) = case.split_once(':').unwrap_or((&case, "0"));
    let number = number.parse().unwrap_or(0);
    graphmap_link_mpi::main(|| common::cases::network(name, number))
}
