//! Panics of `print!` and `eprint!` when standard output or standard error cannot be written.
//!
//! Such a panic is an error of the run and not of the process. So it is reported once, with its
//! reason.

use std::io;
use std::panic::{self, PanicHookInfo};
use std::sync::Mutex;

use graphmap_executor::error::RunError;
use graphmap_executor::exec::current;
use graphmap_executor::sync::lock;

/// Start of the messages of `print!` and `eprint!` panics. The reason follows.
const NO_OUTPUT: [&str; 2] = ["failed printing to stdout: ", "failed printing to stderr: "];

/// Reason of the first failed print, in a process or in a thread of the program, even if the panic
/// was caught.
static UNWRITTEN: Mutex<Option<String>> = Mutex::new(None);

/// Installs a panic hook that stores the reason of the first failed print. It calls the previous
/// hook, which prints the panic, except for a failed print of a process: the run then fails with
/// the same reason.
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

/// Returns the reason, if the message is from a panic of `print!` or `eprint!`. Returns `None`
/// otherwise.
fn why_unwritten(message: &str) -> Option<&str> {
    NO_OUTPUT
        .iter()
        .find_map(|start| message.strip_prefix(start))
}

/// Returns the reason of the first failed print since [`set_hook`], or `None` if no print has
/// failed.
pub(crate) fn unwritten() -> Option<String> {
    lock(&UNWRITTEN).clone()
}

/// Returns true if this thread is inside a run, so that its panic is one of a process. Then the run
/// fails with that panic. A panic of another thread is not reported elsewhere, so the hook must
/// print it.
fn is_of_process() -> bool {
    current::with_current(|_| ()).is_some()
}

/// Converts the error of a run. If a process panicked because of a failed print, returns the error
/// of [`cannot_print`] with the reason of the failure. Returns other errors unchanged.
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

/// Returns the [`RunError::File`] that the output of the processes cannot be written, for the
/// reason `why`.
pub(crate) fn cannot_print(why: &str) -> RunError {
    RunError::File(format!("{UNPRINTED}{why}"))
}

/// Returns true if the error is a failed print, and its reason is a closed pipe. Then no error is
/// printed.
pub(crate) fn is_unread(error: &RunError) -> bool {
    let left = io::Error::from_raw_os_error(BROKEN_PIPE).to_string();
    // If the error is from another OS process, more text follows.
    let has_left = |why: &str| why.starts_with(&left);
    matches!(error, RunError::File(message) if message.strip_prefix(UNPRINTED).is_some_and(has_left))
}

/// `EPIPE`, which has the same number on every Unix.
const BROKEN_PIPE: i32 = 32;

/// Returns true if the error is a failed print.
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
    fn failed_prints_are_recognized() {
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
        // As reported by another OS process.
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
