//! Waiting for the launcher to read the output of this OS process.

use std::thread;
use std::time::{Duration, Instant};

/// Time for the launcher to read the output before the job is ended.
pub(crate) const FORWARDING: Duration = Duration::from_millis(500);
/// Interval between checks of the pipes.
const LOOK: Duration = Duration::from_millis(1);

/// Waits until the reader of standard output and standard error has read all of it, but at most for
/// `at_most`. A launcher that is asked to end the job may end without reading the remaining output
/// of the OS processes. It would be lost, including the cause of the failure.
pub(crate) fn wait_until_read(at_most: Duration) {
    let start = Instant::now();
    while is_unread() && start.elapsed() < at_most {
        thread::sleep(LOOK);
    }
}

/// Returns true if a pipe contains unread bytes. Other files, such as regular ones, cannot be
/// queried and have no reader to wait for.
fn is_unread() -> bool {
    let unread = [
        rustix::io::ioctl_fionread(std::io::stdout()),
        rustix::io::ioctl_fionread(std::io::stderr()),
    ];
    unread.iter().any(|bytes| matches!(bytes, Ok(1..)))
}
