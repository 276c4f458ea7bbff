//! What an executable is started as, and for how long.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The version of the protocol in requests, and the newest that is read in replies.
pub const PROTOCOL: u32 = 1;

/// An executable that is a pass, an emitter, or both.
#[derive(Clone, Debug)]
pub struct External {
    /// Its name, as in `--pass NAME`.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// How long it may take.
    pub timeout: Duration,
    /// Set by whoever wants it to end at once.
    pub interrupt: Arc<AtomicBool>,
    /// How it is started: [`Command::new`], or by a program that sees to it that nothing outlives it.
    /// That is told to end by TERM, and then killed.
    pub launch: Launch,
}

/// How long an executable may take where nobody says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A command that runs an executable. Another program that does so, and cannot, ends with
/// [`CANNOT_RUN`] and says [`cannot_run`] on standard error.
pub type Launch = fn(&Path) -> io::Result<Command>;

/// Exit code for a program that cannot be run, as shells have it.
pub const CANNOT_RUN: u8 = 127;

/// What is said of a program that cannot be run.
pub fn cannot_run(program: &Path, error: &str) -> String {
    format!("graphmap: `{}` cannot be run: {error}\n", program.display())
}

impl External {
    /// An executable that is started as it is, may take [`TIMEOUT`], and is not interrupted.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> External {
        External {
            name: name.into(),
            path: path.into(),
            timeout: TIMEOUT,
            interrupt: Arc::default(),
            launch: |path| Ok(Command::new(path)),
        }
    }
}
