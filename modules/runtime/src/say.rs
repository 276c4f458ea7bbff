//! Words on standard error, whoever holds its lock, and whether or not anybody takes them.
//!
//! `eprintln!` waits for a lock that a process of the network may hold for ever, and panics where nothing can be
//! written. What a run has to say must not keep it from ending as it should.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Says it, and ends the line. What cannot be written is left.
pub(crate) fn say(text: &str) {
    if let Ok(mut stream) = stream() {
        // At once, so that the lines of several OS processes stay together.
        let _ = stream.write_all(format!("{text}\n").as_bytes());
    }
}

/// As [`say`], but nobody waits for longer than that.
pub(crate) fn say_within(text: String, at_most: Duration) {
    within(at_most, move || say(&text));
}

/// Does something, and waits for that no longer than so long.
pub(crate) fn within(at_most: Duration, work: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let run = move || {
        work();
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(run).is_ok() {
        let _ = is_done.recv_timeout(at_most);
    }
}

#[cfg(unix)]
fn stream() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stderr().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(not(unix))]
fn stream() -> io::Result<io::Stderr> {
    Ok(io::stderr())
}
