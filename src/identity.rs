//! Which file a path means, whatever way it is written: nothing that is written may be an input of
//! the same run, and nothing may be written twice.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// How many links lead to a file at the most, as systems have it.
const MOST_LINKS: usize = 40;

/// A file, told apart from all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Identity {
    /// Standard input or output, where it is no file.
    #[cfg(feature = "cli")]
    Standard,
    /// What is there: its device and its number on it. Links and hard links lead to the same.
    There(u64, u64),
    /// What is not there yet: its name in the folder that it will be in.
    Place(PathBuf),
}

impl Identity {
    /// Of a file, which may not be there yet.
    pub(crate) fn of_file(path: &Path) -> Identity {
        match fs::metadata(path) {
            Ok(found) => Identity::there(&found),
            Err(_) => Identity::Place(place(&target(path))),
        }
    }

    pub(crate) fn there(found: &Metadata) -> Identity {
        Identity::There(found.dev(), found.ino())
    }
}

/// Where a path leads that may be a link, also one to what is not there yet.
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

/// The path through no link, also where its last parts are not there yet.
fn place(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut place = PathBuf::new();
    for part in absolute.components() {
        if part == Component::ParentDir {
            // What `place` holds leads through no link.
            place.pop();
            continue;
        }
        place.push(part);
        if let Ok(real) = fs::canonicalize(&place) {
            place = real;
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_by_many_ways() {
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
