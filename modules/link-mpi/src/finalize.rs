//! Ending MPI where its library cannot.
//!
//! MPICH 4.0.2 over the TCP of UCX 1.13 (Debian 12) hangs in `MPI_Finalize` about every second time from three hosts on, of
//! plain C programs too that do nothing but a barrier: an OS process waits, looking again and again, for
//! others to answer, which wait in a barrier of the launcher and do not look. Nothing is lost by then: all messages have
//! been received. So between hosts nobody calls it: each says to the launcher, in the words of its protocol (PMI 1),
//! that it is through, and ends. On one host it is called, and who is found like that all the same says that it
//! has come to the barrier and is through.

use std::fs;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::calls::{self, World};

/// Ending MPI takes a hundredth of this, and who waits for others in the barrier of the launcher sleeps.
const LATE: Duration = Duration::from_millis(400);
/// Who has worked for so much of that time (hundredths of a second, as the kernel counts) looks again and again, even
/// where it shares its core with many: who waits in the barrier does not work at all.
const BUSY: u64 = 2;

/// Ends MPI, in every OS process; this one is going to end with this code.
pub(crate) fn end(world: &mut World, code: u8, hosts: &[String]) {
    calls::over();
    if replaced(hosts) {
        world.leave_open();
        return;
    }
    let guard = watch(code);
    world.end();
    drop(guard);
}

/// Says to the launcher that this OS process is through with MPI, where the library must not be asked to end it: whether it
/// was said. All OS processes of a job come to the same answer.
fn replaced(hosts: &[String]) -> bool {
    let one_host = hosts.iter().all(|host| *host == hosts[0]);
    if one_host || !hangs(&calls::library()) {
        return false;
    }
    let Some(fd) = calls::launcher() else {
        return false;
    };
    calls::ask_launcher(fd, "cmd=finalize\n");
    true
}

/// Whether a library is known to hang: MPICH 4 may be over UCX.
fn hangs(library: &str) -> bool {
    let mut words = library.split([' ', ':']).filter(|word| !word.is_empty());
    let version = words.by_ref().last().unwrap_or_default();
    library.starts_with("MPICH") && version.starts_with("4.")
}

/// Watches over the end of MPI, which is going to begin, until what is returned is dropped.
fn watch(code: u8) -> Option<Sender<()>> {
    let fd = calls::launcher()?;
    let (ended, end) = mpsc::channel::<()>();
    let me = calls::thread();
    let watch = move || {
        loop {
            let before = worked(me);
            if end.recv_timeout(LATE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            if let (Some(before), Some(after)) = (before, worked(me))
                && after.saturating_sub(before) >= BUSY
            {
                break;
            }
        }
        let _ = std::io::stdout().flush();
        calls::ask_launcher(fd, "cmd=barrier_in\n");
        calls::ask_launcher(fd, "cmd=finalize\n");
        calls::leave(code)
    };
    // Where there is no thread to be had, MPI ends as it can.
    let spawned = thread::Builder::new().name("finalize".into()).spawn(watch);
    spawned.ok().map(|_| ended)
}

/// How long a thread of this OS process has worked.
fn worked(thread: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_hang_are_known_by_name() {
        assert!(hangs("MPICH Version: 4.0.2"));
        assert!(!hangs("MPICH Version: 5.0.2"));
        assert!(!hangs("Open MPI v4.1.4, package: Debian OpenMPI"));
        assert!(!hangs(""));
    }
}
