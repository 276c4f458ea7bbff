//! Heat that spreads over a plate, cut into a grid of blocks: `stencil [SIZE STEPS [unchecked]]`.

mod plate;
mod processes;
mod types;
mod wiring;

fn main() -> std::process::ExitCode {
    graphmap_runtime::main(wiring::network)
}
