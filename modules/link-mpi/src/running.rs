//! A sign of OS process 0 that the program runs, and that it has come to its end.
//!
//! A launcher may end with 0 although its job was not over: `mpiexec` of MPICH does when a signal ends it. So what has started the
//! launcher may name a file that exists. OS process 0 writes to it when it begins, and removes it when the program ends by
//! itself. On a host that does not have the file nothing is done.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

/// The variable that names the file.
const VARIABLE: &str = "GRAPHMAP_RUNNING";

/// The file, once this OS process has written to it.
static SIGN: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Says that OS process 0, which calls it, has begun.
pub(crate) fn begin() {
    let Some(file) = env::var_os(VARIABLE).map(PathBuf::from) else {
        return;
    };
    let opened = OpenOptions::new().append(true).open(&file);
    if opened.and_then(|mut sign| sign.write_all(b"1")).is_ok() {
        *SIGN.lock().unwrap_or_else(|error| error.into_inner()) = Some(file);
    }
}

/// Says that the program has come to its end, if it was said that it has begun.
pub(crate) fn end() {
    let file = SIGN
        .lock()
        .unwrap_or_else(|error| error.into_inner())
        .take();
    if let Some(file) = file {
        // Without the file the launcher's code is all that there is.
        let _ = fs::remove_file(file);
    }
}
