//! What this OS process prints to.

use std::fs::{File, Metadata};
use std::io;

/// A stream of this OS process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnStream {
    Output,
    Error,
}

impl OwnStream {
    pub(crate) const BOTH: [OwnStream; 2] = [OwnStream::Output, OwnStream::Error];

    /// Whether it leads to this file, by whatever name.
    pub(crate) fn leads_to(self, file: &Metadata) -> bool {
        let own = self.open().and_then(|own| own.metadata());
        own.is_ok_and(|own| is_same_file(&own, file))
    }

    /// The stream itself, where it is: a file opened anew would be written from its start.
    pub(crate) fn open(self) -> io::Result<File> {
        use std::os::fd::AsFd;
        let fd = match self {
            OwnStream::Output => io::stdout().as_fd().try_clone_to_owned(),
            OwnStream::Error => io::stderr().as_fd().try_clone_to_owned(),
        };
        fd.map(File::from)
    }
}

/// Whether two are one file, by whatever names.
pub(crate) fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
