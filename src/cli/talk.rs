//! What is said on standard error, and data on standard output.

use super::visible;
use std::io::{self, IsTerminal, Write};

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

/// Writes data to standard output, as it is.
///
/// # Errors
/// Whatever keeps it from being written.
pub(crate) fn put(data: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(data).and_then(|()| out.flush())
}
