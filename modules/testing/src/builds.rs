//! How tests run Cargo, and how many random cases they try.

use std::env;
use std::process::Command;

/// Makes the builds of a command, which is Cargo or starts it, as cheap as a test allows:
/// unoptimised, without debug information and incremental compilation. Returns the command.
pub fn build_cheaply(command: &mut Command) -> &mut Command {
    for (variable, value) in [
        ("CARGO_INCREMENTAL", "0"),
        ("CARGO_PROFILE_DEV_DEBUG", "none"),
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
    ] {
        command.env(variable, value);
    }
    command
}

/// Returns the number of cases that a random test tries: `PROPTEST_CASES`, as in tests that use
/// proptest, or `few` if it is not set.
///
/// # Panics
///
/// If `PROPTEST_CASES` is not a number.
pub fn cases(few: u64) -> u64 {
    match env::var("PROPTEST_CASES") {
        Ok(cases) => cases.parse().expect("PROPTEST_CASES is a number"),
        Err(_) => few,
    }
}
