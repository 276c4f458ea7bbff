//! Which file a path of the command line means: `-` is standard input or output.

use super::args::is_standard;
pub(crate) use crate::identity::Identity;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

impl Identity {
    /// Of a path that is written to.
    pub(crate) fn of_output(path: &Path) -> Identity {
        if is_standard(path) {
            let file = standard_output().and_then(|file| file.metadata());
            let file = file.ok().filter(Metadata::is_file);
            return file.map_or(Identity::Standard, |found| Identity::there(&found, path));
        }
        Identity::of_file(path)
    }

    /// Of a file that is read; none for what is no regular file: nothing is lost by writing to a
    /// terminal that was read from.
    pub(crate) fn of_input(found: &Metadata, path: &Path) -> Option<Identity> {
        found.is_file().then(|| Identity::there(found, path))
    }
}

/// Standard input as a file.
#[cfg(unix)]
pub(crate) fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Whether a path is the file that standard output or standard error go to: whoever writes there adds to what is there.
pub(crate) fn is_own_stream(path: &Path) -> bool {
    let there = Identity::of_file(path);
    let streams = [standard_output(), standard_error()];
    let mut found = streams.into_iter().flatten().map(|file| file.metadata());
    found.any(|found| found.is_ok_and(|found| Identity::there(&found, path) == there))
}

#[cfg(unix)]
fn standard_error() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stderr().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn standard_error() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stderr().as_handle().try_clone_to_owned()?))
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
