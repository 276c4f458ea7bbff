//! Waiting for the launcher to read the output of this OS process.

use std::thread;
use std::time::{Duration, Instant};

/// Time for the launcher to read the output before the job is ended.
pub(crate) const FORWARDING: Duration = Duration::from_millis(500);
/// Interval between checks of the pipes.
const LOOK: Duration = Duration::from_millis(1);

/// Blocks until the readers of standard output and standard error have read all of it, but at most
/// for `at_most`. Does not block for files that cannot be queried.
///
/// A launcher that is asked to end the job may end without reading the remaining output of the OS
/// processes. It would be lost, including the cause of the failure.
pub(crate) fn wait_until_read(at_most: Duration) {
    let start = Instant::now();
    while is_unread() && start.elapsed() < at_most {
        thread::sleep(LOOK);
    }
}

/// Returns true if the kernel reports unread bytes for standard output or standard error, as for a
/// pipe whose reader has not read all of it. Files that cannot be queried have no unread bytes.
fn is_unread() -> bool {
    let unread = [
        rustix::io::ioctl_fionread(std::io::stdout()),
        rustix::io::ioctl_fionread(std::io::stderr()),
    ];
    unread.iter().any(|bytes| matches!(bytes, Ok(1..)))
}
