//! Calls that block the thread of a rank, and with it all ranks of the thread.

use crate::foreign;
use crate::reach::{self, Reach};
use std::collections::BTreeSet;
use syn::Expr;

/// A library type with blocking methods. Methods are recognized by name alone, so they count only
/// in a package that mentions the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Waiter {
    Command,
    Condvar,
    Receiver,
    Thread,
}

/// Blocking functions by full path.
const FUNCTIONS: &[&str] = &[
    "std::io::stdin",
    "std::thread::park",
    "std::thread::park_timeout",
    "std::thread::scope",
    "std::thread::sleep",
    "std::thread::sleep_ms",
    "std::thread::sleep_until",
    // A program that creates a barrier is assumed to wait at it.
    "std::sync::Barrier::new",
    "nix::sys::wait::wait",
    "nix::sys::wait::waitpid",
    "nix::unistd::pause",
    "nix::unistd::sleep",
];

/// Paths of the types, of functions that create their values, or of modules that exist for them,
/// and the type that each stands for.
const MENTIONS: &[(&str, Waiter)] = &[
    ("std::process::Command", Waiter::Command),
    ("std::sync::Condvar", Waiter::Condvar),
    ("parking_lot::Condvar", Waiter::Condvar),
    ("std::sync::mpsc", Waiter::Receiver),
    ("std::sync::mpmc", Waiter::Receiver),
    ("crossbeam_channel", Waiter::Receiver),
    ("crossbeam::channel", Waiter::Receiver),
    ("flume", Waiter::Receiver),
    ("kanal", Waiter::Receiver),
    ("std::thread::Builder", Waiter::Thread),
    ("std::thread::JoinHandle", Waiter::Thread),
    ("std::thread::scope", Waiter::Thread),
    ("std::thread::spawn", Waiter::Thread),
];

/// Methods: name, number of arguments, full name, type.
const METHODS: &[(&str, usize, &str, Waiter)] = &[
    ("wait", 1, "Condvar::wait", Waiter::Condvar),
    ("wait_for", 2, "Condvar::wait_for", Waiter::Condvar),
    ("wait_timeout", 2, "Condvar::wait_timeout", Waiter::Condvar),
    (
        "wait_timeout_while",
        3,
        "Condvar::wait_timeout_while",
        Waiter::Condvar,
    ),
    ("wait_until", 2, "Condvar::wait_until", Waiter::Condvar),
    ("wait_while", 2, "Condvar::wait_while", Waiter::Condvar),
    ("join", 0, "JoinHandle::join", Waiter::Thread),
    ("output", 0, "Command::output", Waiter::Command),
    ("status", 0, "Command::status", Waiter::Command),
    ("recv", 0, "Receiver::recv", Waiter::Receiver),
    (
        "recv_deadline",
        1,
        "Receiver::recv_deadline",
        Waiter::Receiver,
    ),
    (
        "recv_timeout",
        1,
        "Receiver::recv_timeout",
        Waiter::Receiver,
    ),
];

/// Returns whether a function blocks its thread, by its full path.
fn is_function(path: &str) -> bool {
    FUNCTIONS.contains(&path)
}

/// Returns the full name and the type of a blocking method, by its name and number of arguments.
/// Returns `None` if no such method is known.
pub(crate) fn of_method(name: &str, arguments: usize) -> Option<(&'static str, Waiter)> {
    let is = |known: &&(&str, usize, &str, Waiter)| (known.0, known.1) == (name, arguments);
    let found = METHODS.iter().find(is);
    found.map(|(_, _, path, waiter)| (*path, *waiter))
}

/// Returns whether a function creates a channel (a sender and a receiver), by the last name of its
/// path.
pub(crate) fn is_channel(path: &str) -> bool {
    let last = path.rsplit("::").next().unwrap_or(path);
    ["bounded", "channel", "sync_channel", "unbounded"].contains(&last)
}

/// Returns whether a function runs its argument in a new thread, by its last name.
pub(crate) fn is_spawn(name: &str) -> bool {
    name == "spawn" || name.starts_with("spawn_")
}

/// Returns the variable that `for` iterates over, also within references and calls: `from`,
/// `&from`, `from.iter()`, `from.into_iter()`. Returns `None` for other expressions.
pub(crate) fn variable_of(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        Expr::Reference(inner) => variable_of(&inner.expr),
        Expr::MethodCall(call) if call.args.is_empty() => {
            let goes = ["into_iter", "iter"].contains(&&*call.method.to_string());
            variable_of(&call.receiver).filter(|_| goes)
        }
        _ => None,
    }
}

/// Returns the effect of a function of Rust's or C's libraries or of a well-known crate, by its
/// full path. Returns `None` if no effect is known.
pub(crate) fn reach_of(path: &str) -> Option<Reach> {
    let holds = is_function(path).then_some(Reach::Thread);
    reach::of(path).or_else(|| foreign::of_path(path)).or(holds)
}

/// Adds the types of the entries of [`MENTIONS`] whose path is `path` or the beginning of it.
pub(crate) fn mention(path: &str, mentioned: &mut BTreeSet<Waiter>) {
    let leads = |known: &str| {
        let rest = path.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let found = MENTIONS.iter().filter(|(known, _)| leads(known));
    mentioned.extend(found.map(|(_, waiter)| *waiter));
}
