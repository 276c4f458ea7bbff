//! Launchers that cannot end.
//!
//! When `mpiexec` is asked to end a job, it asks its daemons on all hosts and waits for their
//! answers. A daemon waits for `mpiexec`. An unreachable host does not answer for at least a
//! quarter of an hour, so `MPI_Abort` does not help. An OS process that has detected such a host,
//! or is notified of it, kills its launchers on its own host. A daemon without its `mpiexec` ends
//! the OS processes that it started.

use std::fs;
use std::os::unix::process::parent_id;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Time for the launchers to forward printed text.
const WORDS: Duration = Duration::from_millis(500);

/// Prefixes of the names of launchers and daemons of MPICH, Intel MPI, and Open MPI 4 and 5.
const NAMES: [&str; 5] = ["mpiexec", "mpirun", "hydra_", "orte", "prte"];

/// Blocks for [`WORDS`], and then kills the launchers among the ancestors of this OS process.
/// Begins with the outermost, because this one would wait for the others. Errors are ignored.
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

/// Returns the id and the name of the nearest launcher or daemon among the ancestors of this OS
/// process, or `None`.
pub(crate) fn nearest() -> Option<(u32, String)> {
    all().next()
}

/// Returns the launchers among the ancestors of this OS process, the nearest first.
fn all() -> impl Iterator<Item = (u32, String)> {
    let mut id = parent_id();
    let ancestors = std::iter::from_fn(move || {
        let (name, parent) = (id > 1).then(|| process(id)).flatten()?;
        Some((std::mem::replace(&mut id, parent), name))
    });
    ancestors.filter(|(_, name)| NAMES.iter().any(|start| name.starts_with(start)))
}

/// Returns the name and the id of the parent of an OS process. Returns `None` if the OS process
/// does not exist any more, or if its entry in `/proc` cannot be read.
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
