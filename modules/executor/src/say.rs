//! Words on standard error, whoever holds its lock, and whether or not anybody takes them.
//!
//! `eprintln!` waits for a lock that a process of the network may hold for ever, and panics where nothing can be
//! written. What a run has to say must not keep it from ending as it should.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Says it, and ends the line. What cannot be written is left.
pub fn say(text: &str) {
    let _ = try_say(text);
}

/// As [`say`], and whether it could be written.
pub fn try_say(text: &str) -> io::Result<()> {
    // At once, so that the lines of several OS processes stay together.
    stream()?.write_all(format!("{text}\n").as_bytes())
}

/// As [`say`], but nobody waits for longer than that.
pub fn say_within(text: String, at_most: Duration) {
    let _ = within(at_most, move || say(&text));
}

/// Does something, and waits for that no longer than so long: what came of it, if it is done by then.
pub fn within<R: Send + 'static>(
    at_most: Duration,
    work: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    within_while(at_most, || false, work)
}

/// As [`within`], and as much longer as `is_busy` says each time that the time is over.
pub fn within_while<R: Send + 'static>(
    at_most: Duration,
    is_busy: impl Fn() -> bool,
    work: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    let (done, is_done) = mpsc::channel();
    let run = move || {
        let _ = done.send(work());
    };
    thread::Builder::new().spawn(run).ok()?;
    loop {
        match is_done.recv_timeout(at_most) {
            Err(RecvTimeoutError::Timeout) if is_busy() => {}
            came => return came.ok(),
        }
    }
}

fn stream() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stderr().as_fd().try_clone_to_owned().map(File::from)
}
