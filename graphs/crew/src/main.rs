//! A farm whose helpers come and go: `crew [NUMBERS] [STEPS]`.

mod processes;
mod types;
mod wiring;

fn main() -> std::process::ExitCode {
    graphmap_runtime::main(wiring::network)
}

/// Returns the number at argument `at`, or `otherwise` if that argument is missing.
fn argument(at: usize, otherwise: u64) -> Result<u64, String> {
    let Some(argument) = std::env::args().nth(at) else {
        return Ok(otherwise);
    };
    let number = argument.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{argument}` is no number above 0"))
}

/// Returns the count of numbers to try: the first argument, 1000 by default.
fn numbers() -> Result<u64, String> {
    argument(1, 1000)
}

/// Returns the number of Collatz steps to exceed: the second argument, 110 by default.
fn steps() -> Result<u64, String> {
    argument(2, 110)
}

/// Returns the number of Collatz steps from `number` to 1. A step halves an even number, and
/// replaces an odd number `n` by `3n + 1`.
fn collatz(mut number: u64) -> u64 {
    let mut steps = 0;
    while number > 1 {
        number = match number % 2 {
            0 => number / 2,
            _ => 3 * number + 1,
        };
        steps += 1;
    }
    steps
}
