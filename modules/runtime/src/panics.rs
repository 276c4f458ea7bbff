//! What is told of a panic: where it was, as seen from where the user is.
//!
//! The compiler names files as seen from the workspace that it built, and `graphmap run` is mostly called
//! from elsewhere: `src/processes/worker.rs` is then no file of the user's.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::env;
use std::io;
use std::panic::{self, PanicHookInfo};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use graphmap_executor::error::RunError;
use graphmap_executor::exec::current;
use graphmap_executor::prefix;
use graphmap_executor::say::say;
use graphmap_executor::sync::lock;

/// The folder of the project, in the environment of a program that `graphmap run` starts.
const PROJECT: &str = "GRAPHMAP_PROJECT";

/// What `print!` and `eprint!` panic with when nothing more can be written, before the reason.
const NO_OUTPUT: [&str; 2] = ["failed printing to stdout: ", "failed printing to stderr: "];

/// Why something printed could not be written: in a process, or in a thread that one has started, whoever has caught the panic.
static UNWRITTEN: Mutex<Option<String>> = Mutex::new(None);

/// Lets panics be told with paths that lead somewhere. Without the variable they are told as Rust tells
/// them. That what a process prints cannot be written is nobody's mistake, and is told by [`of_output`].
pub(crate) fn tell_from_here() {
    let project = env::var_os(PROJECT).filter(|folder| !folder.is_empty());
    let project = project.map(PathBuf::from);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let unwritten = why_unwritten(text(panic));
        if let Some(why) = unwritten {
            lock(&UNWRITTEN).get_or_insert_with(|| why.to_string());
        }
        match &project {
            _ if unwritten.is_some() && is_of_process() => {}
            Some(project) => say(&told(panic, project)),
            None => before(panic),
        }
    }));
}

/// The reason, if that was a panic of `print!` or `eprint!`.
fn why_unwritten(message: &str) -> Option<&str> {
    NO_OUTPUT
        .iter()
        .find_map(|start| message.strip_prefix(start))
}

/// Why something that was printed could not be written, if `print!` or `eprint!` has panicked.
pub(crate) fn unwritten() -> Option<String> {
    let why = lock(&UNWRITTEN).clone()?;
    // Who prints into a pipe of ours has only heard that nobody reads it.
    Some(prefix::failure().unwrap_or(why))
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
        // Told by another OS process, whose lines go through a pipe of ours.
        RunError::File(message) => message.strip_prefix(UNPRINTED),
        _ => None,
    };
    match why {
        Some(why) => cannot_print(&prefix::failure().unwrap_or_else(|| why.to_string())),
        None => error,
    }
}

const UNPRINTED: &str = "what the processes print cannot be written: ";

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

fn told(panic: &PanicHookInfo<'_>, project: &Path) -> String {
    let text = text(panic);
    let thread = thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let place = panic.location().map_or_else(String::new, |place| {
        let file = seen(
            Path::new(place.file()),
            project,
            &env::current_dir().unwrap_or_default(),
        );
        format!(" at {}:{}:{}", file.display(), place.line(), place.column())
    });
    let backtrace = Backtrace::capture();
    let last = match backtrace.status() {
        BacktraceStatus::Captured => {
            let whole = env::var_os("RUST_BACKTRACE").is_some_and(|form| form == "full");
            let frames = backtrace.to_string();
            match whole {
                true => format!("stack backtrace:\n{frames}"),
                false => format!("stack backtrace:\n{}", short(&frames)),
            }
        }
        _ => "note: RUST_BACKTRACE=1 in the environment shows a backtrace".to_string(),
    };
    format!("\nthread '{name}' panicked{place}:\n{text}\n{last}")
}

/// The frames of a printed backtrace between those two at which Rust's own reports leave off: what tells of a panic,
/// and what calls a program or a process. All of them, where the first cannot be found.
fn short(frames: &str) -> String {
    let lines: Vec<&str> = frames.lines().collect();
    let has = |name: &'static str| move |line: &&str| line.contains(name);
    let Some(told) = lines.iter().rposition(has("__rust_end_short_backtrace")) else {
        return frames.to_string();
    };
    // Behind the name of a frame its place has a line of its own, where that is known.
    let lines = lines[told + 1..].iter();
    let lines = lines.skip_while(|line| line.trim_start().starts_with("at "));
    let lines = lines.take_while(|line| !has("__rust_begin_short_backtrace")(line));
    let mut text: String = lines.flat_map(|line| [*line, "\n"]).collect();
    text.push_str("note: RUST_BACKTRACE=full shows what calls the process as well");
    text
}

/// A file that the compiler has named, as seen from `here`: its workspace is the project's folder or one
/// above it.
fn seen(file: &Path, project: &Path, here: &Path) -> PathBuf {
    let mut places = project.ancestors().map(|folder| folder.join(file));
    match places.find(|path| path.is_file()) {
        Some(path) => path.strip_prefix(here).map(PathBuf::from).unwrap_or(path),
        None => file.to_path_buf(),
    }
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

    #[test]
    fn a_backtrace_begins_at_the_panic_and_ends_at_the_process() {
        let frames = "   0: <std::backtrace::Backtrace>::create\n\
                      \x20            at /rustc/x/backtrace.rs:331:13\n   \
                      1: std::sys::backtrace::__rust_end_short_backtrace::<f, !>\n\
                      \x20            at /rustc/x/sys/backtrace.rs:174:18\n   \
                      2: core::panicking::panic_fmt\n   \
                      3: farm::worker::{closure#0}\n\
                      \x20            at ./src/worker.rs:3:5\n   \
                      4: graphmap_runtime::exec::task::__rust_begin_short_backtrace::<f>\n\
                      \x20            at ./vendor/task.rs:3:5\n   \
                      5: graphmap_runtime::exec::scheduler::Scheduler::step\n";
        assert_eq!(
            short(frames),
            "   2: core::panicking::panic_fmt\n   3: farm::worker::{closure#0}\n             at \
             ./src/worker.rs:3:5\nnote: RUST_BACKTRACE=full shows what calls the process as well"
        );
        assert_eq!(short("   0: somebody\n"), "   0: somebody\n");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri keeps files away")]
    fn a_file_is_seen_from_where_the_user_is() {
        let root = env::temp_dir().join(format!("graphmap-panics-{}", std::process::id()));
        let project = root.join("graphs/farm");
        std::fs::create_dir_all(project.join("src")).unwrap();
        for file in ["src/own.rs", "src/both.rs"] {
            std::fs::write(project.join(file), "").unwrap();
        }
        let from = |file: &str, here: &Path| seen(Path::new(file), &project, here);
        let graphs = root.join("graphs");
        assert_eq!(from("src/own.rs", &graphs), Path::new("farm/src/own.rs"));
        assert_eq!(
            from("src/own.rs", &project.join("src")),
            Path::new("own.rs")
        );
        assert_eq!(
            from("src/own.rs", Path::new("/elsewhere")),
            project.join("src/own.rs")
        );
        // A member of a workspace.
        assert_eq!(
            from("graphs/farm/src/own.rs", &graphs),
            Path::new("farm/src/own.rs")
        );
        assert_eq!(
            from("/rustc/x/core.rs", &graphs),
            Path::new("/rustc/x/core.rs")
        );
        std::fs::remove_dir_all(root).unwrap();
    }
}
