//! A skip list with a process for each level: `skiplist [OPERATIONS]`.

mod list;
mod processes;
mod types;
mod wiring;

fn main() -> std::process::ExitCode {
    graphmap_runtime::main(wiring::network)
}

/// Returns the number of operations: the argument, 10,000 by default.
fn operations() -> Result<u64, String> {
    let Some(argument) = std::env::args().nth(1) else {
        return Ok(10_000);
    };
    let operations = argument.parse().ok().filter(|operations| *operations > 0);
    operations.ok_or_else(|| format!("`{argument}` is not a number above 0"))
}

/// Returns a number that depends on all bits of `n` (the finalizer of splitmix64).
fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
