//! Files without a name, until they are given one: the kernel removes what is left of them, however a program ends.

use std::fs::File;
use std::io;
use std::path::Path;

/// A file to be written, which will be in this folder.
///
/// # Errors
/// Not every file system has such files, nor every operating system.
pub(crate) fn create(folder: &Path) -> io::Result<File> {
    system::create(folder)
}

/// Gives it a name, in the folder that it was made for, which nothing else has.
pub(crate) fn link(file: &File, name: &Path) -> io::Result<()> {
    system::link(file, name)
}

#[cfg(not(miri))]
mod system {
    use std::ffi::CString;
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;

    /// Where the kernel shows what this OS process has open.
    const OPEN: &str = "/proc/self/fd";

    pub(super) fn create(folder: &Path) -> io::Result<File> {
        let file = File::options()
            .write(true)
            .custom_flags(libc::O_TMPFILE)
            .open(folder)?;
        // Without this it could not be named.
        std::fs::symlink_metadata(shown(&file))?;
        Ok(file)
    }

    fn shown(file: &File) -> String {
        format!("{OPEN}/{}", file.as_raw_fd())
    }

    pub(super) fn link(file: &File, name: &Path) -> io::Result<()> {
        let shown = CString::new(shown(file))?;
        let name = CString::new(name.as_os_str().as_bytes())?;
        // SAFETY: both paths are C strings that outlive the call.
        let linked = unsafe {
            libc::linkat(
                libc::AT_FDCWD,
                shown.as_ptr(),
                libc::AT_FDCWD,
                name.as_ptr(),
                libc::AT_SYMLINK_FOLLOW,
            )
        };
        match linked {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(miri)]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(super) fn create(_folder: &Path) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn link(_file: &File, _name: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
