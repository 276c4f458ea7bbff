//! Multiplication of matrices on a mesh of processes: `matmul [SIZE]`.

mod matrix;
mod processes;
mod types;
mod wiring;

fn main() -> std::process::ExitCode {
    graphmap_runtime::main(wiring::network)
}
