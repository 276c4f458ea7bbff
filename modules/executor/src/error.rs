//! Errors of a run, and the exit codes of a generated program.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::block::Block;
use crate::overgrown::Overgrown;
use crate::payload::{Decoder, Encoder};
use crate::place::Place;

/// Reason why a run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// A process returned an error or panicked. This is the first failure.
    Failed(Failure),
    /// The network is deadlocked.
    Blocked(Block),
    /// Channels would have to grow beyond [`Options::memory`](crate::Options::memory).
    Memory(Overgrown),
    /// The description of the network contradicts itself or the ports of the processes.
    Wiring(Vec<String>),
    /// An option or the mapping is invalid.
    Options(String),
    /// A file of the run could not be read or written.
    File(String),
    /// An external cause ended an OS process of the run, or an OS process could not be started.
    Lost(String),
}

crate::payload!(
    enum RunError {
        Failed(failure),
        Blocked(block),
        Memory(overgrown),
        Wiring(mistakes),
        Options(message),
        File(message),
        Lost(message),
    }
);
crate::payload!(Failure {
    process,
    rank,
    place,
    message
});
crate::payload!(Place { file, line, column });

/// A process that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Name of the process. Empty if the failure is not that of a process.
    pub process: String,
    /// Rank of the process.
    pub rank: usize,
    /// Position of the process in the graph file.
    pub place: Option<Place>,
    /// The error with its causes, or the message of the panic.
    pub message: String,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Failed(failure) if failure.process.is_empty() => {
                write!(f, "the run failed: {}", indented(&failure.message))
            }
            RunError::Failed(failure) => {
                write!(f, "process {} (rank {}", failure.process, failure.rank)?;
                if let Some(place) = &failure.place {
                    write!(f, ", {place}")?;
                }
                write!(f, ") failed: {}", indented(&failure.message))
            }
            RunError::Blocked(block) => block.fmt(f),
            RunError::Memory(overgrown) => overgrown.fmt(f),
            RunError::Wiring(mistakes) => {
                write!(f, "invalid wiring: {}", mistakes.join("\n  "))
            }
            RunError::Options(message) | RunError::File(message) | RunError::Lost(message) => {
                f.write_str(message)
            }
        }
    }
}

/// Indents all lines after the first by two spaces, to show that they belong to it.
fn indented(text: &str) -> String {
    text.replace('\n', "\n  ")
}

impl std::error::Error for RunError {}

/// Exit codes of a generated program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// 0: every process ended.
    Ok = 0,
    /// 1: a process failed, or the wiring does not fit the processes.
    Failed = 1,
    /// 2: an option or the mapping is invalid, or a file cannot be read or written.
    Usage = 2,
    /// 6: the network deadlocked.
    Blocked = 6,
    /// 7: an external cause ended an OS process of the run, or an OS process could not be started.
    Lost = 7,
    /// 8: channels would have to grow by more than [`Options::memory`](crate::Options::memory)
    /// allows.
    Memory = 8,
    /// 141: the reader of the standard output has closed it (`| head`). This is 128 plus the number
    /// of SIGPIPE, as for other programs that end by this signal.
    Unread = 141,
}

impl RunError {
    /// Returns the [`RunError::File`] for an output of the run that cannot be written to `file`.
    /// `what` is a description of the output, such as "the trace".
    #[doc(hidden)]
    pub fn cannot_write(what: &str, file: &Path, error: &io::Error) -> Self {
        RunError::File(format!(
            "{}: cannot write {what}: {error}",
            Self::shown(file).display()
        ))
    }

    /// Returns a path relative to the working directory if the path is inside, because the user
    /// most likely wrote it so. Returns any other path unchanged. The result is empty for the
    /// working directory itself.
    #[doc(hidden)]
    pub fn shown(file: &Path) -> PathBuf {
        let here = std::env::current_dir().unwrap_or_default();
        file.strip_prefix(here).unwrap_or(file).to_path_buf()
    }

    /// Returns the exit code for this error. It is never [`Exit::Ok`] or [`Exit::Unread`].
    pub fn exit(&self) -> Exit {
        match self {
            RunError::Failed(_) | RunError::Wiring(_) => Exit::Failed,
            RunError::Options(_) | RunError::File(_) => Exit::Usage,
            RunError::Blocked(_) => Exit::Blocked,
            RunError::Lost(_) => Exit::Lost,
            RunError::Memory(_) => Exit::Memory,
        }
    }
}

/// Largest size in bytes of the cause that is sent to other OS processes when a run fails. It is
/// small for Miri and loom, which check every word of this memory.
#[doc(hidden)]
pub const CAUSE: usize = match (cfg!(loom), cfg!(miri)) {
    (true, _) => 64,
    (_, true) => 1 << 10,
    _ => 1 << 20,
};

impl RunError {
    /// Encodes the error for another OS process. If the encoding would be longer than [`CAUSE`], a
    /// message longer than a quarter of [`CAUSE`] is cut to that length. The number of bytes that
    /// are left out is added to it. The messages of a [`RunError::Wiring`] are joined first. A
    /// [`RunError::Blocked`] or [`RunError::Memory`] is never cut.
    #[doc(hidden)]
    pub fn to_cause(&self) -> Vec<u8> {
        let whole = Encoder::to_vec(self);
        if whole.len() <= CAUSE {
            return whole;
        }
        let cut = |text: &mut String| {
            let left = text.len().saturating_sub(CAUSE / 4);
            if left > 0 {
                let at = (0..=CAUSE / 4).rfind(|&at| text.is_char_boundary(at));
                text.truncate(at.unwrap_or(0));
                text.push_str(&format!("... ({left} more bytes)"));
            }
        };
        let mut error = self.clone();
        match &mut error {
            RunError::Failed(failure) => cut(&mut failure.message),
            RunError::Options(message) | RunError::File(message) | RunError::Lost(message) => {
                cut(message);
            }
            RunError::Wiring(mistakes) => {
                let mut all = mistakes.join("\n  ");
                cut(&mut all);
                *mistakes = vec![all];
            }
            RunError::Blocked(_) | RunError::Memory(_) => {}
        }
        Encoder::to_vec(&error)
    }

    /// Decodes the error that another OS process sent. Returns a [`RunError::Lost`] if the bytes
    /// are not a valid error.
    #[doc(hidden)]
    pub fn from_cause(cause: &[u8]) -> RunError {
        Decoder::from_slice(cause)
            .unwrap_or_else(|_| RunError::Lost("the run has failed for an unknown reason".into()))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_several_lines_is_one_error() {
        let error = RunError::Failed(Failure {
            process: "a".into(),
            rank: 3,
            place: None,
            message: "not equal\n left: 1\nright: 2".into(),
        });
        let text = "process a (rank 3) failed: not equal\n   left: 1\n  right: 2";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn a_cause_that_is_too_long_is_cut() {
        let failed = |message: String| {
            RunError::Failed(Failure {
                process: "a".into(),
                rank: 3,
                place: None,
                message,
            })
        };
        let short = failed("é".repeat(CAUSE / 3));
        assert_eq!(RunError::from_cause(&short.to_cause()), short);
        for long in [
            failed("é".repeat(CAUSE)),
            RunError::Wiring(vec!["mistake".into(); CAUSE]),
            RunError::Lost("x".repeat(2 * CAUSE)),
        ] {
            let cause = long.to_cause();
            assert!(cause.len() <= CAUSE);
            let text = RunError::from_cause(&cause);
            assert_eq!(std::mem::discriminant(&text), std::mem::discriminant(&long));
            assert!(text.to_string().ends_with(" more bytes)"));
        }
    }
}
