//! What this OS process has printed, on its way to the launcher.

use std::thread;
use std::time::{Duration, Instant};

/// How long the launcher has to read what was printed before the job is ended.
pub(crate) const FORWARDING: Duration = Duration::from_millis(500);
/// How often is looked whether a pipe has been read.
const LOOK: Duration = Duration::from_millis(1);

/// Waits until whoever reads standard output and standard error has all of it, or for a time. A launcher that is told to
/// end the job may end before it has looked once more at what the OS processes say, which then is lost: the cause too.
pub(crate) fn wait_until_read(at_most: Duration) {
    let start = Instant::now();
    while is_unread() && start.elapsed() < at_most {
        thread::sleep(LOOK);
    }
}

/// Whether something is in a pipe. Of what cannot be asked that, a file for one, nobody needs to read anything.
fn is_unread() -> bool {
    let unread = [
        rustix::io::ioctl_fionread(std::io::stdout()),
        rustix::io::ioctl_fionread(std::io::stderr()),
    ];
    unread.iter().any(|bytes| matches!(bytes, Ok(1..)))
}
