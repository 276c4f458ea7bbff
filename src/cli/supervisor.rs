//! Runs programs that do not outlive graphmap, however graphmap ends.
//!
//! A signal that can be caught is passed on ([`crate::cli::child`]). If graphmap ends by a signal
//! that cannot be caught, only the kernel can end a child process. It does so only for a process
//! that has requested this itself (`PR_SET_PDEATHSIG`).
//!
//! Therefore graphmap starts itself again. The second graphmap makes the request and then becomes
//! the program ([`Bound::Program`]). A build is a tree of OS processes, and a killed process does
//! not end its own children. For a build, the second graphmap remains the parent of the tree, and
//! ends all of it ([`Bound::Tree`]). It does the same for foreign programs that must leave no
//! process behind ([`Bound::Everything`]).

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

/// This executable. The path is valid even if the file was replaced or deleted after the start.
const OURSELVES: &str = "/proc/self/exe";
/// First arguments of the second graphmap. No graph file and no verb has these names.
const PROGRAM: &str = "@bound-program";
const TREE: &str = "@bound-tree";
const EVERYTHING: &str = "@bound-everything";
/// Time between the request to end and the kill, for a tree.
const GRACE: Duration = Duration::from_secs(1);
/// Interval between two checks whether a tree has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Which OS processes end together with this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Only the program. It is killed when this OS process ends.
    Program,
    /// The program and all OS processes that it starts, without the processes that begin a session
    /// of their own, such as servers that must continue. They are first asked to end.
    Tree,
    /// The program and all OS processes that it starts. They are killed, also when the program ends
    /// by itself.
    Everything,
}

/// Returns a command that runs a program as [`Bound`] describes. Arguments and other settings are
/// added as for the program itself.
///
/// # Errors
/// Returns an error if there is no such program or it is not executable, because the start of the
/// second graphmap would succeed. Without `/proc`, the command is the program itself and this is
/// not checked.
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

/// End of a command that was made by [`command`].
pub(crate) struct Ended {
    /// Exit code.
    pub(crate) code: u8,
    /// Message for standard error.
    pub(crate) message: String,
}

/// Runs the program, if this OS process was started by a command of [`command`], and returns how it
/// ended. Otherwise returns `None`. `args` begin with the name of the command.
///
/// With [`Bound::Program`], this OS process becomes the program, and the function returns only if
/// that fails or the parent has ended. Otherwise it blocks until the program has ended.
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
        // Must be registered before the signal can arrive.
        signals::also(END_TREE);
        signals::Guard::new()
    });
    let asked = rustix::process::set_parent_process_death_signal(Some(signal));
    // The kernel sends no signal if the parent has ended before the request.
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

/// Signal that ends a tree. It has no other meaning: USR1 requests a report of a run.
pub(crate) const END_TREE: i32 = signal_hook::consts::SIGUSR2;

/// Searches for the file of a program in the same way as the system: on PATH for a single name.
///
/// # Errors
/// Returns an error if the file does not exist or is not executable.
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
    let message = String::new();
    Ended { code, message }
}

fn cannot_run(program: &OsStr, error: &io::Error) -> Ended {
    Ended {
        code: CANNOT_RUN,
        message: plugin::cannot_run(Path::new(program), &error.to_string()),
    }
}

fn run_tree(program: &OsStr, args: &[OsString], bound: Bound, guard: signals::Guard) -> Ended {
    let mut command = match command(program, Bound::Program) {
        Ok(command) => command,
        Err(error) => return cannot_run(program, &error),
    };
    let end = child::run_with(command.args(args), |_| end_tree(bound));
    if bound == Bound::Everything || !matches!(end, Ok(End::Code(_))) {
        // The child processes of the program may still be running.
        end_tree(bound);
    }
    match end {
        // A shell sees only eight bits.
        Ok(End::Code(code)) => ended(code as u8),
        Ok(End::Signal(signal)) if bound == Bound::Everything => {
            // Ends by the same signal, because the parent examines it.
            drop(guard);
            let own = rustix::process::getpid();
            // Twice, because the handler for stack overflows returns from the first SEGV.
            for signal in [Signal::from_named_raw(signal); 2].into_iter().flatten() {
                let _ = rustix::process::kill_process(own, signal);
            }
            ended(signals::exit_code(signal))
        }
        Ok(End::Signal(signal) | End::Interrupted(signal)) => ended(signals::exit_code(signal)),
        Err(error) => cannot_run(program, &error),
    }
}

/// Ends all descendants of this OS process, as `bound` describes. Blocks until they have ended, at
/// most for about two seconds. With [`Bound::Tree`], they have one second to end before they are
/// killed.
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
            // Errors are ignored, because the process may have ended.
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
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Returns all descendants of this OS process that are running. For [`Bound::Tree`], returns only
/// those of the same session. The list is empty if `/proc` cannot be read.
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
        // The second field is the name in parentheses, which may contain any character.
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
    fn stat_is_parsed_with_any_process_name() {
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
