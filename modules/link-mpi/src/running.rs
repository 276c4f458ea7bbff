//! A sign of OS process 0 that the program runs, and that it has come to its end.
//!
//! A launcher may end with 0 although its job was not over: `mpiexec` of MPICH does when a signal ends it. So what has started the
//! launcher may name a file that exists, to OS process 0 alone. That writes a byte to it when it begins, another when all have begun
//! MPI, and removes it when the program ends well. On a host that does not have the file nothing is done.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The variable that names the file.
const VARIABLE: &str = "GRAPHMAP_RUNNING";

/// Adds a byte to the file, and returns true if that was possible.
fn write(file: &Path) -> bool {
    let opened = OpenOptions::new().append(true).open(file);
    opened.and_then(|mut sign| sign.write_all(b"1")).is_ok()
}

/// That this OS process has said that it has begun.
pub(crate) struct Running(Option<PathBuf>);

impl Running {
    /// Says that the program has begun, if there is a file to say so.
    pub(crate) fn begin() -> Running {
        let file = env::var_os(VARIABLE).map(PathBuf::from);
        Running(file.filter(|file| write(file)))
    }

    /// Says that all OS processes have begun MPI.
    pub(crate) fn joined(&self) {
        if let Some(file) = &self.0 {
            // Without it the launcher's code is all that there is.
            write(file);
        }
    }

    /// Says that the program ends well.
    pub(crate) fn end(self) {
        if let Some(file) = self.0 {
            // Without the file the launcher's code is all that there is.
            let _ = fs::remove_file(file);
        }
    }
}
