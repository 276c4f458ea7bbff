//! A farm whose helpers come and go: `crew [NUMBERS] [STEPS]`.

mod processes;
mod types;
mod wiring;

fn main() -> std::process::ExitCode {
    graphmap_runtime::main(wiring::network)
}

/// A number among the program's arguments, or what it is without.
fn argument(at: usize, otherwise: u64) -> Result<u64, String> {
    let Some(argument) = std::env::args().nth(at) else {
        return Ok(otherwise);
    };
    let number = argument.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{argument}` is no number above 0"))
}

/// How many numbers there are to be tried.
fn numbers() -> Result<u64, String> {
    argument(1, 1000)
}

/// How many steps of Collatz a number is looked for that takes more.
fn steps() -> Result<u64, String> {
    argument(2, 110)
}

/// How often a number is halved, or tripled and made one more, until it is 1.
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
