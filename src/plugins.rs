//! External passes and emitters: executables on PATH.

use crate::signals::Guard;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::pass::{Pass, PassContext};
use graphmap_kpn::plugin::External;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

/// An external pass or emitter that ends with us.
pub(crate) struct Guarded(pub(crate) External);

impl Pass for Guarded {
    fn name(&self) -> &str {
        Pass::name(&self.0)
    }

    fn about(&self) -> &str {
        Pass::about(&self.0)
    }

    fn run(&self, context: &mut PassContext<'_>) -> Result<(), Diagnostics> {
        let _guard = Guard::new();
        Pass::run(&self.0, context)
    }
}

impl Emitter for Guarded {
    fn name(&self) -> &str {
        Emitter::name(&self.0)
    }

    fn about(&self) -> &str {
        Emitter::about(&self.0)
    }

    fn accepts(&self, path: &Path) -> bool {
        self.0.accepts(path)
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let _guard = Guard::new();
        self.0.emit(mapped, context, files)
    }
}
