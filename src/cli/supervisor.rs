//! Programs that do not outlive graphmap, however graphmap ends.
//!
//! A signal that can be caught is passed on ([`crate::cli::child`]). After one that cannot be
//! caught, only the kernel can end a child process, and it does so for a process that has asked
//! for it itself (`PR_SET_PDEATHSIG`). Therefore graphmap starts itself once more. The second
//! graphmap asks, and then becomes the program ([`Bound::Program`]). A build is a tree of
//! processes, and a killed process does not end its own children. There the second graphmap stays
//! above the tree, and ends all of it ([`Bound::Tree`]). It does the same above foreign programs
//! that must leave nothing behind ([`Bound::Everything`]).

use crate::cli::child::{self, End};
use crate::cli::signals;
use graphmap_plugin::{self as plugin, CANNOT_RUN};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, io};

/// This executable, also where its file has been replaced or deleted since it was started.
const OURSELVES: &str = "/proc/self/exe";
/// First arguments that no graph file and no verb has.
const PROGRAM: &str = "@bound-program";
const TREE: &str = "@bound-tree";
const EVERYTHING: &str = "@bound-everything";
/// How long a tree may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(1);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(10);

/// How a program is bound to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// It alone: it is killed when we die.
    Program,
    /// With all that it starts, but for what begins a session of its own, as a server does that is to
    /// stay. It is asked to end first.
    Tree,
    /// With all that it starts, which is killed at its end, too.
    Everything,
}

/// A command that runs a program bound to us; arguments and the rest are set as for the program.
///
/// # Errors
/// When there is no such program. (Starting graphmap once more would succeed all the same.)
pub(crate) fn command(program: &OsStr, bound: Bound) -> io::Result<Command> {
    if !Path::new(OURSELVES).exists() {
        return Ok(Command::new(program));
    }
    let program = find(program)?;
    let mut command = Command::new(OURSELVES);
    let mode = match bound {
        Bound::Program => PROGRAM,
        Bound::Tree => TREE,
        Bound::Everything => EVERYTHING,
    };
    let own = std::process::id().to_string();
    // The name in lists of processes.
    command.arg0("graphmap").arg(mode).arg(own).arg(program);
    Ok(command)
}

/// The end of a command that [`command`] made.
pub(crate) struct Ended {
    /// With this exit code.
    pub(crate) code: u8,
    /// The message for standard error.
    pub(crate) said: String,
}

/// Runs the program if this OS process was started by a command of [`command`].
pub(crate) fn main(args: &[OsString]) -> Option<Ended> {
    let [_, mode, parent, program, args @ ..] = args else {
        return None;
    };
    let bound = match mode.to_str() {
        Some(PROGRAM) => Bound::Program,
        Some(TREE) => Bound::Tree,
        Some(EVERYTHING) => Bound::Everything,
        _ => return None,
    };
    let signal = match bound {
        Bound::Program => Signal::KILL,
        Bound::Tree | Bound::Everything => Signal::USR2,
    };
    let tree = (bound != Bound::Program).then(|| {
        // Processes of the tree become children of this one when their parent ends.
        let own = rustix::process::getpid();
        let _ = rustix::process::set_child_subreaper(Some(own));
        // Before a signal can arrive.
        signals::also(END_TREE);
        signals::Guard::new()
    });
    let asked = rustix::process::set_parent_process_death_signal(Some(signal));
    // No signal comes if the parent has died before that.
    let parent = parent.to_str()?.parse().ok().and_then(Pid::from_raw);
    if asked.is_ok() && rustix::process::getppid() != parent {
        return Some(ended(signals::exit_code(signal.as_raw())));
    }
    Some(match tree {
        None => {
            let mut command = Command::new(program);
            cannot_run(program, &command.args(args).exec())
        }
        Some(guard) => run_tree(program, args, bound, guard),
    })
}

/// The signal that ends a tree. It has no other meaning: USR1 asks a run for a report.
pub(crate) const END_TREE: i32 = signal_hook::consts::SIGUSR2;

/// The file of a program, as the system looks for it.
fn find(program: &OsStr) -> io::Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let can_run = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    let path = PathBuf::from(program);
    if path.components().count() > 1 || path.is_absolute() {
        fs::metadata(&path)?;
        let found = can_run(&path).then_some(path);
        return found.ok_or_else(|| Errno::ACCESS.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(program));
    paths.find(can_run).ok_or_else(|| Errno::NOENT.into())
}

fn ended(code: u8) -> Ended {
    let said = String::new();
    Ended { code, said }
}

fn cannot_run(program: &OsStr, error: &io::Error) -> Ended {
    Ended {
        code: CANNOT_RUN,
        said: plugin::cannot_run(Path::new(program), &error.to_string()),
    }
}

fn run_tree(program: &OsStr, args: &[OsString], bound: Bound, guard: signals::Guard) -> Ended {
    let mut command = match command(program, Bound::Program) {
        Ok(command) => command,
        Err(error) => return cannot_run(program, &error),
    };
    let end = child::run_with(command.args(args), |_| end_tree(bound));
    if bound == Bound::Everything || !matches!(end, Ok(End::Code(_))) {
        // Its children are not ended with it.
        end_tree(bound);
    }
    match end {
        // In the eight bits that a shell sees.
        Ok(End::Code(code)) => ended(code as u8),
        Ok(End::Signal(signal)) if bound == Bound::Everything => {
            // As it ended, so do we: whoever waits for us asks.
            drop(guard);
            let own = rustix::process::getpid();
            // Twice: the handler for overflows of our own stack returns from the first SEGV.
            for signal in [Signal::from_named_raw(signal); 2].into_iter().flatten() {
                let _ = rustix::process::kill_process(own, signal);
            }
            ended(signals::exit_code(signal))
        }
        Ok(End::Signal(signal) | End::Interrupted(signal)) => ended(signals::exit_code(signal)),
        Err(error) => cannot_run(program, &error),
    }
}

/// Ends all child processes, and theirs.
fn end_tree(bound: Bound) {
    let start = Instant::now();
    let grace = match bound {
        Bound::Everything => Duration::ZERO,
        Bound::Program | Bound::Tree => GRACE,
    };
    let mut asked = Vec::new();
    loop {
        let all = descendants(bound);
        if all.is_empty() {
            return;
        }
        for pid in all {
            // It may have ended in this moment.
            if start.elapsed() >= grace {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            } else if !asked.contains(&pid) {
                let _ = rustix::process::kill_process(pid, Signal::TERM);
                asked.push(pid);
            }
        }
        if start.elapsed() > grace + GRACE {
            return;
        }
        std::thread::sleep(LOOK);
    }
}

/// The processes that we have started, those that they have started, and so on, as long as they
/// live; of a [`Bound::Tree`] those of our session.
fn descendants(bound: Bound) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut children: BTreeMap<i32, Vec<(i32, i32)>> = BTreeMap::new();
    let mut session = None;
    let own = rustix::process::getpid().as_raw_nonzero().get();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some(stat) = Stat::read(&stat).filter(|stat| !stat.ended) else {
            continue;
        };
        if pid == own {
            session = (bound == Bound::Tree).then_some(stat.session);
        }
        let siblings = children.entry(stat.parent).or_default();
        siblings.push((pid, stat.session));
    }
    let mut found = Vec::new();
    let mut open = vec![own];
    while let Some(pid) = open.pop() {
        for (child, of) in children.remove(&pid).unwrap_or_default() {
            if session.is_none_or(|session| of == session) {
                found.extend(Pid::from_raw(child));
                open.push(child);
            }
        }
    }
    found
}

/// Fields of `/proc/PID/stat`.
#[derive(Debug, PartialEq)]
struct Stat {
    ended: bool,
    parent: i32,
    session: i32,
}

impl Stat {
    fn read(text: &str) -> Option<Stat> {
        // The second field is the name in parentheses, which may hold anything.
        let (_, rest) = text.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        Some(Stat {
            ended: matches!(state, "Z" | "X" | "x"),
            parent,
            session: fields.nth(1)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let stat = Stat::read("12 (a) S 1 (b) Z 7 12 5 0 -1");
        let expected = Stat {
            ended: true,
            parent: 7,
            session: 5,
        };
        assert_eq!(stat, Some(expected));
        assert_eq!(Stat::read("12 (a) S 7"), None);
    }

    #[test]
    fn programs_are_found_as_the_system_finds_them() {
        assert!(find(OsStr::new("sh")).is_ok());
        let gone = |name: &str| find(OsStr::new(name)).unwrap_err().kind();
        assert_eq!(gone("no such program"), io::ErrorKind::NotFound);
        assert_eq!(gone("/no/such/program"), io::ErrorKind::NotFound);
        assert_eq!(gone("/etc/passwd"), io::ErrorKind::PermissionDenied);
    }
}
