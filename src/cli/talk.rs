//! What is said on standard error, and data on standard output.

use std::io::{self, IsTerminal, Write};

/// Writes to standard error; if nobody listens, that is no reason to fail.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Whether standard error is a terminal.
pub(crate) fn on_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Writes data to standard output.
///
/// # Errors
/// Whatever keeps it from being written.
pub(crate) fn put(data: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(data).and_then(|()| out.flush())
}
