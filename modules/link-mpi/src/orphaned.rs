//! OS processes whose launcher's daemon is gone.
//!
//! Launchers have a daemon on each host, which starts the OS processes there and ends them. If it is killed, MPICH's `mpiexec`
//! (4.0.2) waits for it for ever, and what it has started goes on, out of reach of everybody. So a thread waits for the end of the
//! daemon, which the kernel tells at once.

use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::finding::{Finding, Gone, Loss};
use crate::launchers;

/// Waits, as long as the program runs, for the end of what has started it on this host, `here`. Where no launcher that is known has,
/// or the kernel has no such waits (Linux has since 5.3), it is as the launcher has it.
pub(crate) fn watch(here: &str, found: &Finding) {
    let Some((id, name)) = launchers::nearest() else {
        return;
    };
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    let opened = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let Some(daemon) = opened else {
        return;
    };
    let (found, here) = (found.clone(), here.to_string());
    let wait = move || {
        // It may have gone before it was opened, and another may have its number.
        while launchers::nearest().is_some_and(|(now, _)| now == id) {
            let mut ends = [PollFd::new(&daemon, PollFlags::IN)];
            let ended = poll(&mut ends, None);
            if ended.is_ok_and(|count| count > 0) {
                break;
            }
        }
        let why = format!(
            "the launcher of MPI is gone on {here}: {name}, process {id}, was killed or has failed"
        );
        let of = Gone::Launcher;
        found.tell(Loss { why, of });
    };
    // Without a thread, it is as the launcher has it.
    let _ = thread::Builder::new().name("orphaned".into()).spawn(wait);
}
