//! A processor farm that draws the Mandelbrot set: `farm [WIDTH HEIGHT [FILE.png]]`.

mod mandelbrot;
mod order;
mod processes;
mod types;
mod wiring;

fn main() -> std::process::ExitCode {
    graphmap_runtime::main(wiring::network)
}
