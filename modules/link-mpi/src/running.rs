//! A file by which OS process 0 signals that the program runs, and that it has ended.
//!
//! A launcher may return 0 although its job has not ended: `mpiexec` of MPICH does so when a signal
//! ends it. So the parent of the launcher may pass the name of an existing file to OS process 0
//! only. OS process 0 appends a byte to it at the start, appends another one when all OS processes
//! have initialised MPI, and removes it when the program ends without an error. On a host without
//! the file, nothing happens.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Variable with the name of the file.
const VARIABLE: &str = "GRAPHMAP_RUNNING";

/// Appends a byte to the file. Returns true on success, and false if the file does not exist or
/// cannot be written.
fn write(file: &Path) -> bool {
    let opened = OpenOptions::new().append(true).open(file);
    opened.and_then(|mut sign| sign.write_all(b"1")).is_ok()
}

/// The file, if this OS process has signalled its start.
pub(crate) struct Running(Option<PathBuf>);

impl Running {
    /// Signals that the program has begun, if `GRAPHMAP_RUNNING` names an existing file. Otherwise,
    /// the other functions have no effect.
    pub(crate) fn begin() -> Running {
        let file = env::var_os(VARIABLE).map(PathBuf::from);
        Running(file.filter(|file| write(file)))
    }

    /// Signals that all OS processes have initialised MPI, if the start was signalled. Errors are
    /// ignored.
    pub(crate) fn joined(&self) {
        if let Some(file) = &self.0 {
            // If this fails, only the exit code of the launcher is available.
            write(file);
        }
    }

    /// Signals that the program ends without an error, by removing the file, if the start was
    /// signalled. Errors are ignored.
    pub(crate) fn end(self) {
        if let Some(file) = self.0 {
            // If this fails, the end looks like a failure.
            let _ = fs::remove_file(file);
        }
    }
}
