//! Identifies the file that a path refers to, however the path is written. A run must not write to
//! one of its inputs, and must not write a file twice.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Maximum number of symbolic links to follow. Linux has the same limit.
const MOST_LINKS: usize = 40;

/// Identity of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Identity {
    /// Standard input or output, if it is not a regular file.
    #[cfg(feature = "cli")]
    Standard,
    /// Device number and inode number of an existing file. Symbolic and hard links have the same.
    Existing(u64, u64),
    /// Path, without symbolic links, of a file that does not exist yet.
    New(PathBuf),
}

impl Identity {
    /// Returns the identity of a file, which need not exist.
    pub(crate) fn of_file(path: &Path) -> Identity {
        match fs::metadata(path) {
            Ok(found) => Identity::of_metadata(&found),
            Err(_) => Identity::New(resolved(&target(path))),
        }
    }

    pub(crate) fn of_metadata(found: &Metadata) -> Identity {
        Identity::Existing(found.dev(), found.ino())
    }
}

/// Returns the target of a path that may be a symbolic link. The target need not exist. It is the
/// canonical path if it exists. Otherwise at most 40 links are followed, and the result may be
/// relative.
pub(crate) fn target(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&target) else {
            break;
        };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    target
}

/// Returns the absolute path without symbolic links and without `..`. Its last components need not
/// exist.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut resolved = PathBuf::new();
    for part in absolute.components() {
        if part == Component::ParentDir {
            // `resolved` contains no symbolic link, so its last component can be removed.
            resolved.pop();
            continue;
        }
        resolved.push(part);
        if let Ok(real) = fs::canonicalize(&resolved) {
            resolved = real;
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_one_file_have_one_identity() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir_all(folder.join("in")).unwrap();
        let at = |name: &str| folder.join(name);
        fs::write(at("a"), "").unwrap();
        fs::write(at("b"), "").unwrap();
        std::os::unix::fs::symlink("a", at("soft")).unwrap();
        std::os::unix::fs::symlink("in", at("link")).unwrap();
        std::os::unix::fs::symlink("in/new", at("to come")).unwrap();
        std::os::unix::fs::symlink("round", at("round")).unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        let of = |name: &str| Identity::of_file(&at(name));
        for same in ["./a", "in/../a", "soft", "hard", "link/../a"] {
            assert_eq!(of(same), of("a"), "{same}");
        }
        assert_ne!(of("b"), of("a"));
        for same in [
            "in/./new",
            "link/new",
            "link/x/../new",
            "in/../in/new",
            "to come",
        ] {
            assert_eq!(of(same), of("in/new"), "{same}");
        }
        assert_ne!(of("new"), of("in/new"));
        assert_ne!(of("round"), of("in/new"));
    }
}
