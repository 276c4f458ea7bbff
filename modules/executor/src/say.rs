//! Text on standard error, without the lock of `eprintln!`.
//!
//! A process of the network may hold that lock indefinitely, and `eprintln!` panics if the text
//! cannot be written. Neither may keep a run from ending.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Prints `text` and a newline to standard error, without the lock of `eprintln!`. Ignores errors.
pub fn say(text: &str) {
    let _ = try_say(text);
}

/// Prints `text` and a newline to standard error, without the lock of `eprintln!`.
///
/// # Errors
/// Returns an error if standard error cannot be written, or if its file descriptor cannot be
/// duplicated.
pub fn try_say(text: &str) -> io::Result<()> {
    use std::os::fd::AsFd;
    let stderr = io::stderr().as_fd().try_clone_to_owned()?;
    // One write keeps the line whole when several OS processes print.
    File::from(stderr).write_all(format!("{text}\n").as_bytes())
}

/// Runs `work` on a new thread and blocks until its result is available, at most for `at_most`.
///
/// Returns `None` if the time is over, if `work` panics, or if the thread cannot be started. If the
/// time is over, `work` continues on its thread and its result is dropped.
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
