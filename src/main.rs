//! The graphmap command. All it does is in the library, so that others can build their own.

use std::process::ExitCode;

fn main() -> ExitCode {
    graphmap::Tool::new().main()
}
