//! The fast Fourier transform on a butterfly of processes: `fft [SIGNALS]`.

mod complex;
mod processes;
mod types;
mod wiring;

fn main() -> std::process::ExitCode {
    graphmap_runtime::main(wiring::network)
}
