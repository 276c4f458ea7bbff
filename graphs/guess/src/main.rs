//! Clients that guess numbers of a server: `guess [LIMIT]`.

mod processes;
mod types;
mod wiring;

fn main() -> std::process::ExitCode {
    graphmap_runtime::main(wiring::network)
}

/// Returns the exclusive upper bound of the numbers: the argument, a million by default.
fn limit() -> Result<u64, String> {
    let Some(argument) = std::env::args().nth(1) else {
        return Ok(1_000_000);
    };
    let limit = argument.parse().ok().filter(|limit| *limit > 0);
    limit.ok_or_else(|| format!("`{argument}` is no number above 0"))
}
