//! Panics because standard output or standard error cannot be written.
//!
//! `print!` panics when its text cannot be written. That is an error of the run and not of the
//! process, so it is reported once, by its reason.

use std::io;
use std::panic::{self, PanicHookInfo};
use std::sync::Mutex;

use graphmap_executor::error::RunError;
use graphmap_executor::exec::current;
use graphmap_executor::sync::lock;

/// What `print!` and `eprint!` panic with when nothing more can be written, before the reason.
const NO_OUTPUT: [&str; 2] = ["failed printing to stdout: ", "failed printing to stderr: "];

/// Why something printed could not be written: in a process, or in a thread that one has started, whoever has caught the panic.
static UNWRITTEN: Mutex<Option<String>> = Mutex::new(None);

/// Installs a panic hook that remembers why something printed could not be written. It prints
/// nothing about that if a process of the run has panicked, because the run fails with the reason.
pub(crate) fn set_hook() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let unwritten = why_unwritten(text(panic));
        if let Some(why) = unwritten {
            lock(&UNWRITTEN).get_or_insert_with(|| why.to_string());
        }
        if unwritten.is_none() || !is_of_process() {
            before(panic);
        }
    }));
}

/// The reason, if that was a panic of `print!` or `eprint!`.
fn why_unwritten(message: &str) -> Option<&str> {
    NO_OUTPUT
        .iter()
        .find_map(|start| message.strip_prefix(start))
}

/// Returns why something printed could not be written, if `print!` or `eprint!` has panicked.
pub(crate) fn unwritten() -> Option<String> {
    lock(&UNWRITTEN).clone()
}

/// Whether a process of a run panics: then the run fails with that. Nobody else may hear of another thread.
fn is_of_process() -> bool {
    current::with_current(|_| ()).is_some()
}

/// What a run failed with; if a process panicked as nobody reads what it prints, or the disk is full, then that.
pub(crate) fn of_output(error: RunError) -> RunError {
    let why = match &error {
        RunError::Failed(failure) => {
            let panicked = failure.message.strip_prefix("panicked: ");
            panicked.and_then(why_unwritten)
        }
        // Reported by another OS process.
        RunError::File(message) => message.strip_prefix(UNPRINTED),
        _ => None,
    };
    match why {
        Some(why) => cannot_print(why),
        None => error,
    }
}

const UNPRINTED: &str = "cannot write the output of the processes: ";

/// What the processes print cannot be written, for this reason.
pub(crate) fn cannot_print(why: &str) -> RunError {
    RunError::File(format!("{UNPRINTED}{why}"))
}

/// Returns true if it says that a reader has left: then nobody is to be told of anything.
pub(crate) fn is_unread(error: &RunError) -> bool {
    let left = io::Error::from_raw_os_error(BROKEN_PIPE).to_string();
    // Behind it, where it was another OS process.
    let has_left = |why: &str| why.starts_with(&left);
    matches!(error, RunError::File(message) if message.strip_prefix(UNPRINTED).is_some_and(has_left))
}

/// EPIPE of every Unix.
const BROKEN_PIPE: i32 = 32;

/// Whether that is what it says.
pub(crate) fn is_of_output(error: &RunError) -> bool {
    matches!(error, RunError::File(message) if message.starts_with(UNPRINTED))
}

fn text<'a>(panic: &'a PanicHookInfo<'_>) -> &'a str {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("(no message)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_and_not_written_is_known() {
        let failed = |message: &str| {
            RunError::Failed(graphmap_executor::error::Failure {
                process: "a".into(),
                rank: 3,
                place: None,
                message: message.into(),
            })
        };
        let full = cannot_print("it is full");
        for stream in ["stdout", "stderr"] {
            let error = failed(&format!(
                "panicked: failed printing to {stream}: it is full"
            ));
            assert_eq!(of_output(error), full);
        }
        // As another OS process has told it.
        assert_eq!(of_output(full.clone()), full);
        assert!(is_of_output(&full));
        let other = failed("failed printing to stdout: it says so itself");
        assert_eq!(of_output(other.clone()), other);
        assert!(!is_of_output(&other));
        let left = io::Error::from_raw_os_error(BROKEN_PIPE);
        assert_eq!(left.kind(), io::ErrorKind::BrokenPipe);
        assert!(is_unread(&cannot_print(&left.to_string())));
        assert!(is_unread(&cannot_print(&format!(
            "{left} (in OS process 2)"
        ))));
        assert!(!is_unread(&full) && !is_unread(&other));
    }
}
