//! Which file a path means, whatever way it is written: nothing that is written may be an input of
//! the same run, and nothing may be written twice.

use super::args::is_standard;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

/// A file, told apart from all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Identity {
    /// Standard input or output, where it is no file.
    Standard,
    /// What is there: its device and its number on it. Links and hard links lead to the same.
    There(u64, u64),
    /// What is not there yet: its name in the folder that it will be in.
    Place(PathBuf),
}

impl Identity {
    /// Of a path that is written to.
    pub(crate) fn of_output(path: &Path) -> Identity {
        if is_standard(path) {
            let file = standard_output().and_then(|file| file.metadata());
            let file = file.ok().filter(Metadata::is_file);
            return file.map_or(Identity::Standard, |found| there(&found, path));
        }
        match std::fs::metadata(path) {
            Ok(found) => there(&found, path),
            Err(_) => Identity::Place(place(path)),
        }
    }

    /// Of a file that is read; none for what is no regular file: nothing is lost by writing to a
    /// terminal that was read from.
    pub(crate) fn of_input(found: &Metadata, path: &Path) -> Option<Identity> {
        found.is_file().then(|| there(found, path))
    }
}

#[cfg(unix)]
fn there(found: &Metadata, _: &Path) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Identity::There(found.dev(), found.ino())
}

#[cfg(not(unix))]
fn there(_: &Metadata, path: &Path) -> Identity {
    Identity::Place(place(path))
}

/// Standard input as a file.
#[cfg(unix)]
pub(crate) fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(unix)]
fn standard_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Standard input as a file.
#[cfg(windows)]
pub(crate) fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

#[cfg(windows)]
fn standard_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
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
        if let Ok(real) = std::fs::canonicalize(&place) {
            place = real;
        }
    }
    place
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn one_file_by_many_ways() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::create_dir_all(folder.join("in")).unwrap();
        let at = |name: &str| folder.join(name);
        std::fs::write(at("a"), "").unwrap();
        std::fs::write(at("b"), "").unwrap();
        std::os::unix::fs::symlink("a", at("soft")).unwrap();
        std::os::unix::fs::symlink("in", at("link")).unwrap();
        std::fs::hard_link(at("a"), at("hard")).unwrap();
        let of = |name: &str| Identity::of_output(&at(name));
        for same in ["./a", "in/../a", "soft", "hard", "link/../a"] {
            assert_eq!(of(same), of("a"), "{same}");
        }
        assert_ne!(of("b"), of("a"));
        for same in ["in/./new", "link/new", "link/x/../new", "in/../in/new"] {
            assert_eq!(of(same), of("in/new"), "{same}");
        }
        assert_ne!(of("new"), of("in/new"));
    }
}
