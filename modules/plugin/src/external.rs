//! An external executable: its path, its time limit, and the way to start it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Version of the protocol in requests, and the newest that is accepted in replies.
pub const PROTOCOL: u32 = 1;

/// An executable that is a pass, a strategy, an emitter or a front end.
#[derive(Clone, Debug)]
pub struct External {
    /// Its name, as in `--pass NAME`, `--strategy NAME` and `--format NAME`.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// Maximum duration of a run. The executable is then ended, which may take seconds.
    pub timeout: Duration,
    /// Flag that ends the run when it is set.
    pub interrupt: Arc<AtomicBool>,
    /// Function that makes the command to start it: [`Command::new`], or a program that ensures
    /// that no descendant outlives it. To end a run early, graphmap sends TERM to this process and
    /// later kills it.
    pub launch: Launch,
}

/// Default of [`External::timeout`].
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Function that returns a command to run an executable.
///
/// If the command is another program, and it cannot run the executable, it must exit with
/// [`CANNOT_RUN`] and print [`cannot_run`] to standard error.
///
/// # Errors
/// Returns an error if the command cannot be made.
pub type Launch = fn(&Path) -> io::Result<Command>;

/// Exit code for a program that cannot be run, as in shells.
pub const CANNOT_RUN: u8 = 127;

/// Returns the message for a program that cannot be run, with a newline at its end.
pub fn cannot_run(program: &Path, error: &str) -> String {
    format!("graphmap: `{}` cannot be run: {error}\n", program.display())
}

impl External {
    /// Creates an executable that is started directly, with [`TIMEOUT`] and without an interrupt.
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
