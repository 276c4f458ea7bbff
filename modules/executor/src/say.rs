//! Text on standard error, without the lock of `eprintln!`.
//!
//! A process of the network may hold that lock for ever, and `eprintln!` panics if the text cannot
//! be written. Neither may keep a run from ending.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Prints a line, and ignores errors.
pub fn say(text: &str) {
    let _ = try_say(text);
}

/// Prints a line.
///
/// # Errors
/// Standard error cannot be written to.
pub fn try_say(text: &str) -> io::Result<()> {
    use std::os::fd::AsFd;
    let stderr = io::stderr().as_fd().try_clone_to_owned()?;
    // In one write, so that the lines of several OS processes stay whole.
    File::from(stderr).write_all(format!("{text}\n").as_bytes())
}

/// Runs `work` on a thread, and returns its result if it is there within `at_most`.
pub fn within<R: Send + 'static>(
    at_most: Duration,
    work: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    let (done, result) = mpsc::channel();
    let run = move || {
        let _ = done.send(work());
    };
    thread::Builder::new().spawn(run).ok()?;
    result.recv_timeout(at_most).ok()
}
