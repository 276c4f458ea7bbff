//! Settings of tests: cheap builds with Cargo, and the number of random cases.

use std::env;
use std::process::Command;

/// Sets environment variables that make Cargo builds of a command cheap: no optimization, no debug
/// information, no incremental compilation. The command is Cargo, or starts it. Returns the
/// command.
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

/// Returns the number of cases that a random test tries: the value of `PROPTEST_CASES`, which
/// proptest uses too. Returns `few` if the variable is not set.
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
