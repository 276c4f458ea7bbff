//! What is said on standard error, and data on standard output.

use crate::visible;
use rustix::fd::OwnedFd;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Writes to standard error what no terminal obeys; if nobody listens, that is no reason to fail.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(visible::text(text).as_bytes());
}

/// As [`say`], of text that we have coloured.
pub(crate) fn say_coloured(text: &str) {
    let _ = io::stderr().write_all(visible::coloured(text).as_bytes());
}

/// Whether standard error is a terminal.
pub(crate) fn on_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Writes text for people to standard output: what no terminal obeys.
///
/// # Errors
/// Whatever keeps it from being written.
pub(crate) fn show(text: &str) -> io::Result<()> {
    put(visible::text(text).as_bytes())
}

/// Writes data to standard output: as it is into a file or a pipe, and what no terminal obeys on a
/// terminal, where somebody looks at it.
///
/// # Errors
/// Whatever keeps it from being written.
pub(crate) fn put(data: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let written = match out.is_terminal() {
        true => out.write_all(visible::text(&String::from_utf8_lossy(data)).as_bytes()),
        false => out.write_all(data),
    };
    written.and_then(|()| out.flush())
}

/// Whether something may wait in C's buffer.
static USED: AtomicBool = AtomicBool::new(false);

/// While it lives, what is written on standard output goes nowhere.
///
/// METIS prints where a part of its recursion runs out of vertices, as heavy processes and several limits
/// make it do. What C prints waits in a buffer of C's own, which is written when it is full and when we exit: so
/// standard output leads nowhere while METIS may run, and again when all that we had to say is written.
pub(crate) struct Muffled {
    ours: OwnedFd,
}

impl Muffled {
    /// Begins; where there is no standard output, nothing is to be done.
    pub(crate) fn begin() -> Option<Muffled> {
        io::stdout().flush().ok()?;
        let ours = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3).ok()?;
        USED.store(true, Ordering::Relaxed);
        nowhere().then_some(Muffled { ours })
    }
}

impl Drop for Muffled {
    fn drop(&mut self) {
        // It was there a moment ago; if it is not, writing on it will tell.
        let _ = rustix::stdio::dup2_stdout(&self.ours);
    }
}

/// Before we exit, when everything is written: what waits in C's buffer goes nowhere.
pub(crate) fn no_more() {
    if USED.load(Ordering::Relaxed) {
        nowhere();
    }
}

fn nowhere() -> bool {
    let nowhere = File::options().write(true).open("/dev/null");
    nowhere.is_ok_and(|file| rustix::stdio::dup2_stdout(&file).is_ok())
}
