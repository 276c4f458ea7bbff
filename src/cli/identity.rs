//! The file that a path of the command line means: `-` is standard input or output.

use super::args::is_standard;
pub(crate) use crate::identity::Identity;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

impl Identity {
    /// Returns the identity of a path that is written to, which need not exist. The path `-` has
    /// the identity of the regular file that standard output goes to, or [`Identity::Standard`].
    pub(crate) fn of_output(path: &Path) -> Identity {
        if is_standard(path) {
            let file = opened(io::stdout().as_fd()).and_then(|file| file.metadata());
            let file = file.ok().filter(Metadata::is_file);
            return file.map_or(Identity::Standard, |found| Identity::of_metadata(&found));
        }
        Identity::of_file(path)
    }

    /// Returns the identity of a file that is read. `None` if it is not a regular file, because
    /// nothing is lost by writing to a terminal that was read from.
    pub(crate) fn of_input(found: &Metadata) -> Option<Identity> {
        found.is_file().then(|| Identity::of_metadata(found))
    }
}

/// Returns standard input as a file with a descriptor of its own.
///
/// # Errors
/// Returns an error if the descriptor cannot be copied.
pub(crate) fn standard_input() -> io::Result<File> {
    opened(io::stdin().as_fd())
}

/// Returns true if standard output or standard error goes to the file at this path. Returns false
/// if the file does not exist.
pub(crate) fn is_own_stream(path: &Path) -> bool {
    let there = Identity::of_file(path);
    let streams = [opened(io::stdout().as_fd()), opened(io::stderr().as_fd())];
    let mut found = streams.into_iter().flatten().map(|file| file.metadata());
    found.any(|found| found.is_ok_and(|found| Identity::of_metadata(&found) == there))
}

fn opened(stream: BorrowedFd<'_>) -> io::Result<File> {
    Ok(File::from(stream.try_clone_to_owned()?))
}
