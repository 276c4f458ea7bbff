//! External passes and emitters: executables on PATH.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// What the name of an external pass starts with.
pub(crate) const PASS: &str = "graphmap-pass-";
/// What the name of an external emitter starts with.
pub(crate) const EMIT: &str = "graphmap-emit-";

/// An executable found on PATH.
pub(crate) struct Found {
    /// Its name without the prefix.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) path: PathBuf,
}

/// All executables on PATH whose names start with `prefix`, by name; of equals the first on PATH.
pub(crate) fn on_path(prefix: &str) -> Vec<Found> {
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    for folder in folders() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let file = entry.file_name();
            let Some(name) = file.to_str().and_then(|f| f.strip_prefix(prefix)) else {
                continue;
            };
            let name = name
                .strip_suffix(std::env::consts::EXE_SUFFIX)
                .unwrap_or(name);
            if !name.is_empty() && is_executable(&entry.path()) {
                found.entry(name.to_owned()).or_insert(entry.path());
            }
        }
    }
    let found = found.into_iter();
    found.map(|(name, path)| Found { name, path }).collect()
}

/// The first executable of a name on PATH.
pub(crate) fn find(prefix: &str, name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.contains(['/', '\\']) {
        return None;
    }
    let file = format!("{prefix}{name}{}", std::env::consts::EXE_SUFFIX);
    folders()
        .map(|folder| folder.join(&file))
        .find(|path| is_executable(path))
}

fn folders() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect::<Vec<_>>().into_iter()
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// A flag that Ctrl-C and `kill` set while a [`Guard`] lives.
pub(crate) fn interrupt() -> Arc<AtomicBool> {
    Arc::clone(&signals().interrupt)
}

/// Whether we were told to end while a [`Guard`] lived.
pub(crate) fn interrupted() -> bool {
    signals().interrupt.load(Ordering::Relaxed)
}

/// The same, and it is forgotten: the next one ends us as it would any program.
pub(crate) fn take_interrupt() -> bool {
    let taken = signals().interrupt.swap(false, Ordering::SeqCst);
    if taken {
        signals().idle.store(true, Ordering::SeqCst);
    }
    taken
}

/// While one lives, Ctrl-C and `kill` set [`interrupt`] instead of ending us: an external pass or
/// emitter is in a process group of its own, which a terminal's signal does not reach, and must be
/// ended by us.
pub(crate) struct Guard;

impl Guard {
    pub(crate) fn new() -> Guard {
        signals().idle.store(false, Ordering::SeqCst);
        Guard
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        signals().idle.store(true, Ordering::SeqCst);
    }
}

struct Signals {
    /// Whether a signal may end us as it would any program.
    idle: Arc<AtomicBool>,
    interrupt: Arc<AtomicBool>,
}

fn signals() -> &'static Signals {
    static SIGNALS: OnceLock<Signals> = OnceLock::new();
    SIGNALS.get_or_init(|| {
        let signals = Signals {
            idle: Arc::new(AtomicBool::new(true)),
            interrupt: Arc::new(AtomicBool::new(false)),
        };
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            // Where there are no signals, an external pass or emitter ends by its time limit.
            let idle = Arc::clone(&signals.idle);
            let _ = signal_hook::flag::register_conditional_default(signal, idle);
            let interrupt = Arc::clone(&signals.interrupt);
            let _ = signal_hook::flag::register(signal, interrupt);
        }
        signals
    })
}
