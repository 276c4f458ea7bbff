//! Launchers that cannot end.
//!
//! Told to end a job, `mpiexec` asks its daemons on all hosts, and waits for their answer; a daemon waits for `mpiexec`. Of a
//! host that cannot be reached there is none, for a quarter of an hour at least. So `MPI_Abort` is of no use then: an OS
//! process that has found that out, or is told so, ends what has started it on its own host. A daemon whose `mpiexec` has gone ends what it has started.

use std::fs;
use std::os::unix::process::parent_id;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How long launchers have to pass on what was printed.
const WORDS: Duration = Duration::from_millis(500);

/// How the names of launchers and daemons of MPICH, Intel MPI, Open MPI 4 and 5 begin.
const NAMES: [&str; 5] = ["mpiexec", "mpirun", "hydra_", "orte", "prte"];

/// Ends those that have started this OS process on this host: the first first, as it would wait for the others.
pub(crate) fn end() {
    thread::sleep(WORDS);
    let found: Vec<u32> = all().map(|(id, _)| id).collect();
    for id in found.into_iter().rev() {
        if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(id, Signal::KILL);
        }
    }
}

/// That which has started this OS process: its number, and its name.
pub(crate) fn nearest() -> Option<(u32, String)> {
    all().next()
}

/// Launchers among the ancestors of this OS process, the nearest first.
fn all() -> impl Iterator<Item = (u32, String)> {
    let mut id = parent_id();
    let ancestors = std::iter::from_fn(move || {
        let (name, parent) = (id > 1).then(|| process(id)).flatten()?;
        Some((std::mem::replace(&mut id, parent), name))
    });
    ancestors.filter(|(_, name)| NAMES.iter().any(|start| name.starts_with(start)))
}

/// The name of a process, and its parent.
fn process(id: u32) -> Option<(String, u32)> {
    parsed(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

fn parsed(stat: &str) -> Option<(String, u32)> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let parent = after.split_whitespace().nth(1)?.parse().ok()?;
    Some((name.to_owned(), parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_any_characters() {
        let line = "17 (a) (b) S 4 17 17 0 -1";
        assert_eq!(parsed(line), Some(("a) (b".to_owned(), 4)));
        assert_eq!(parsed("17"), None);
        assert_eq!(parsed("17 (x) S"), None);
    }

    #[test]
    fn a_parent_is_found() {
        let (name, _) = process(parent_id()).unwrap();
        assert!(!name.is_empty());
    }
}
