//! The graphmap command. All its code is in the library, so that others can build their own
//! command.

use std::process::ExitCode;

fn main() -> ExitCode {
    graphmap::Tool::new().main()
}
