//! Messages on standard error, and data on standard output.

use crate::visible;
use rustix::fd::OwnedFd;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Writes text to standard error, with its control characters escaped. Errors are ignored.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(visible::text(text).as_bytes());
}

/// Writes text to standard error as [`say`] does, but keeps colours.
pub(crate) fn say_coloured(text: &str) {
    let _ = io::stderr().write_all(coloured(text).as_bytes());
}

/// Replaces the last line on standard error, which must be a terminal.
pub(crate) fn say_over(line: &str) {
    let _ = io::stderr().write_all(format!("\r\x1b[K{}", visible::text(line)).as_bytes());
}

/// Returns true if standard error is a terminal.
pub(crate) fn on_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Writes text for people to standard output, with its control characters escaped.
///
/// # Errors
/// Returns an error if the text cannot be written.
pub(crate) fn show(text: &str) -> io::Result<()> {
    put(visible::text(text).as_bytes())
}

/// Writes data to standard output. On a terminal, control characters are escaped.
///
/// # Errors
/// Returns an error if the data cannot be written.
pub(crate) fn put(data: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let written = match out.is_terminal() {
        true => out.write_all(visible::text(&String::from_utf8_lossy(data)).as_bytes()),
        false => out.write_all(data),
    };
    written.and_then(|()| out.flush())
}

/// Returns standard output and standard error as files, for the output of programs.
///
/// # Errors
/// Returns an error if there are not enough file descriptors.
pub(crate) fn streams() -> io::Result<[File; 2]> {
    let out = io::stdout().as_fd().try_clone_to_owned()?;
    let error = io::stderr().as_fd().try_clone_to_owned()?;
    Ok([out.into(), error.into()])
}

/// Whether the buffer of C's standard output may contain text.
static USED: AtomicBool = AtomicBool::new(false);

/// While this exists, standard output goes to `/dev/null`.
///
/// METIS prints a message if a part of its recursion has no vertices left, which happens with heavy
/// processes and several limits. The buffer of C's standard output is written when it is full and
/// when this OS process exits. Standard output is therefore redirected while METIS may run, and
/// again when all other output is written.
pub(crate) struct Muffled {
    ours: OwnedFd,
}

impl Muffled {
    /// Redirects standard output to `/dev/null` until the result is dropped. Writes buffered output
    /// first. Returns `None` if there is no standard output, or if it cannot be redirected.
    pub(crate) fn begin() -> Option<Muffled> {
        io::stdout().flush().ok()?;
        let ours = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3).ok()?;
        USED.store(true, Ordering::Relaxed);
        nowhere().then_some(Muffled { ours })
    }
}

impl Drop for Muffled {
    fn drop(&mut self) {
        // If this fails, the next write to standard output reports it.
        let _ = rustix::stdio::dup2_stdout(&self.ours);
    }
}

/// Redirects standard output to `/dev/null` if the buffer of C's standard output may contain text,
/// because that buffer is written at exit. Must be called before exit, when all output is written.
pub(crate) fn no_more() {
    if USED.load(Ordering::Relaxed) {
        nowhere();
    }
}

fn nowhere() -> bool {
    let nowhere = File::options().write(true).open("/dev/null");
    nowhere.is_ok_and(|file| rustix::stdio::dup2_stdout(&file).is_ok())
}

/// Escapes control characters except the escape sequences for colours.
fn coloured(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        shown += &visible::text(&rest[..at]);
        let inside = &rest[at + 2..];
        let numbers = |c: char| c.is_ascii_digit() || c == ';';
        let end = inside.find(|c| !numbers(c)).unwrap_or(inside.len());
        match inside[end..].starts_with('m') {
            true => {
                shown += &rest[at..at + 2 + end + 1];
                rest = &inside[end + 1..];
            }
            false => {
                shown += &visible::text("\u{1b}");
                rest = &rest[at + 1..];
            }
        }
    }
    shown + &visible::text(rest)
}

/// Returns true if standard output is a pipe whose reader has closed it. Returns false if its state
/// is unknown.
pub(crate) fn is_unread() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let left = PollFlags::ERR | PollFlags::HUP;
    poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().intersects(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stay_and_nothing_else() {
        let own = "\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m: a\n";
        assert_eq!(coloured(own), own);
        for (raw, shown) in [
            ("\u{1b}[2J\u{1b}[1m", "\\u{1b}[2J\u{1b}[1m"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{1b}[", "\\u{1b}["),
            ("\u{1b}[1", "\\u{1b}[1"),
            ("\u{1b}\u{1b}[1m", "\\u{1b}\u{1b}[1m"),
            ("\u{9b}1m\u{202e}", "\\u{9b}1m\\u{202e}"),
        ] {
            assert_eq!(coloured(raw), shown);
        }
    }
}
