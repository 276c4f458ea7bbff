//! Finds executables on PATH that are passes, strategies, emitters or front ends, by their names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Prefix of the names of external passes.
pub const PASS: &str = "graphmap-pass-";
/// Prefix of the names of external strategies.
pub const STRATEGY: &str = "graphmap-map-";
/// Prefix of the names of external emitters.
pub const EMITTER: &str = "graphmap-emit-";
/// Prefix of the names of external front ends.
pub const FRONT_END: &str = "graphmap-read-";

/// An executable found on PATH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// Its name without the prefix.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
}

/// Returns all executables on PATH whose names start with `prefix`, sorted by name. Of several with
/// the same name, the first on PATH counts. Folders that cannot be read and names that are not
/// UTF-8 are skipped. A file named only `prefix` is not returned.
pub fn on_path(prefix: &str) -> Vec<Executable> {
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
    found
        .map(|(name, path)| Executable { name, path })
        .collect()
}

/// Returns the path of the first executable on PATH whose file name is `prefix` and `name`.
///
/// Returns `None` if there is none, or if `name` is empty or contains `/` or `\`.
pub fn find(prefix: &str, name: &str) -> Option<PathBuf> {
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

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
