//! The random programs of the tests, as a program of its own: `RANKS DIRECTORY SPECIFICATION`.

use std::process::ExitCode;

#[path = "../tests/random/mod.rs"]
mod random;

fn main() -> ExitCode {
    let ranks = std::env::args().nth(1).and_then(|ranks| ranks.parse().ok());
    mpi::main(ranks.unwrap_or(0), random::job::rank)
}
