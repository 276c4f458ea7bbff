//! What is told of a panic: where it was, as seen from where the user is.
//!
//! The compiler names files as seen from the workspace that it built, and `graphmap run` is mostly called
//! from elsewhere: `src/processes/worker.rs` is then no file of the user's.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::env;
use std::panic::{self, PanicHookInfo};
use std::path::{Path, PathBuf};
use std::thread;

use crate::error::RunError;
use crate::exec::current;
use crate::say::say;

/// The folder of the project, in the environment of a program that `graphmap run` starts.
const PROJECT: &str = "GRAPHMAP_PROJECT";

/// What `print!` panics with when standard output takes no more, before the reason.
const NO_OUTPUT: &str = "failed printing to stdout: ";

/// Lets panics be told with paths that lead somewhere. Without the variable they are told as Rust tells
/// them. That standard output takes no more is nobody's mistake, and is told by [`of_output`].
pub(crate) fn tell_from_here() {
    let project = env::var_os(PROJECT).filter(|folder| !folder.is_empty());
    let project = project.map(PathBuf::from);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| match &project {
        _ if text(panic).starts_with(NO_OUTPUT) && is_of_process() => {}
        Some(project) => say(&told(panic, project)),
        None => before(panic),
    }));
}

/// Whether a process of a run panics: then the run fails with that. Nobody else may hear of another thread.
fn is_of_process() -> bool {
    current::with_current(|_| ()).is_some()
}

/// What a run failed with; if a process panicked as nobody reads what it prints, or the disk is full, then that.
pub(crate) fn of_output(error: RunError) -> RunError {
    let panicked = |message: &str| message.strip_prefix("panicked: ").map(str::to_string);
    let why = |message: &str| Some(panicked(message)?.strip_prefix(NO_OUTPUT)?.to_string());
    match &error {
        RunError::Failed(failure) => match why(&failure.message) {
            Some(why) => cannot_print(&why),
            None => error,
        },
        _ => error,
    }
}

/// What the processes print cannot be written, for this reason.
pub(crate) fn cannot_print(why: &str) -> RunError {
    RunError::File(format!("what the processes print cannot be written: {why}"))
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
        BacktraceStatus::Captured => format!("stack backtrace:\n{backtrace}"),
        _ => "note: RUST_BACKTRACE=1 in the environment shows a backtrace".to_string(),
    };
    format!("\nthread '{name}' panicked{place}:\n{text}\n{last}")
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
