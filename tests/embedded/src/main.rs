//! Prints a sum of squares.

mod processes;
mod wiring {
    include!(concat!(env!("OUT_DIR"), "/wiring.rs"));
}

fn main() -> std::process::ExitCode {
    graphmap_runtime::main(wiring::network)
}
