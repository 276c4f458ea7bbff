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

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]
mod system {
    use std::ffi::{CString, c_char, c_int};
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;

    unsafe extern "C" {
        fn linkat(
            from_folder: c_int,
            from: *const c_char,
            to_folder: c_int,
            to: *const c_char,
            flags: c_int,
        ) -> c_int;
    }

    /// Of `open`: with the flag for folders, which is another number on each kind of processor.
    #[cfg(target_arch = "x86_64")]
    const O_TMPFILE: c_int = 0o20_200_000;
    #[cfg(target_arch = "aarch64")]
    const O_TMPFILE: c_int = 0o20_040_000;
    const AT_FDCWD: c_int = -100;
    const AT_SYMLINK_FOLLOW: c_int = 0x400;
    /// Where the kernel shows what this OS process has open.
    const OPEN: &str = "/proc/self/fd";

    pub(super) fn create(folder: &Path) -> io::Result<File> {
        let file = File::options()
            .write(true)
            .custom_flags(O_TMPFILE)
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
        // SAFETY: two texts that end with a zero.
        let linked = unsafe {
            linkat(
                AT_FDCWD,
                shown.as_ptr(),
                AT_FDCWD,
                name.as_ptr(),
                AT_SYMLINK_FOLLOW,
            )
        };
        match linked {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
)))]
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
