//! Counts the ways to place queens on a board so that none attacks another: `tree [BOARD]`.

mod processes;
mod queens;
mod types;
mod wiring;

fn main() -> std::process::ExitCode {
    graphmap_runtime::main(wiring::network)
}
