//! Sorting by merging, in a network of networks: `sort [COUNT]`.

mod processes;
mod types;
mod wiring;

fn main() -> std::process::ExitCode {
    graphmap_runtime::main(wiring::network)
}
