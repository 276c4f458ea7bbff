//! Memory for stacks from the kernel.

use std::io;
use std::ptr;

/// `MADV_GUARD_INSTALL` of Linux 6.13.
pub(crate) const GUARD_INSTALL: libc::c_int = 102;

/// Returns the size of a page in bytes.
pub(crate) fn page_size() -> usize {
    // SAFETY: `sysconf` has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("Linux has pages")
}

/// An anonymous private mapping. A page takes memory when it is first touched.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: usize,
    len: usize,
}

impl Mapping {
    /// Maps `len` bytes. `len` must be a multiple of the page size, and not 0. Returns the error of
    /// `mmap`.
    pub(crate) fn reserve(len: usize) -> io::Result<Mapping> {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: the kernel chooses the address, so the mapping does not replace another.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, rights, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = start.expose_provenance();
        Ok(Mapping { start, len })
    }

    /// Returns the address of the first byte.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the owner of the mapping has ended all uses of its memory.
        unsafe { libc::munmap(ptr::with_exposed_provenance_mut(self.start), self.len) };
    }
}

/// Calls `madvise` for a range of pages: `len` bytes from the address `start`. Returns the error of
/// `madvise`.
///
/// # Safety
///
/// The pages must belong to [mappings](Mapping). They must not contain a value, unless the advice
/// leaves their contents unchanged.
pub(crate) unsafe fn advise(start: usize, len: usize, advice: libc::c_int) -> io::Result<()> {
    let start = ptr::with_exposed_provenance_mut(start);
    // SAFETY: guaranteed by the caller.
    done(unsafe { libc::madvise(start, len, advice) })
}

/// Makes each access to a range of pages fault: `len` bytes from the address `start`. The pages
/// become a mapping of their own. Returns the error of `mprotect`.
///
/// # Safety
///
/// The pages must belong to a [`Mapping`] and must not contain a value.
pub(crate) unsafe fn protect(start: usize, len: usize) -> io::Result<()> {
    let start = ptr::with_exposed_provenance_mut(start);
    // SAFETY: guaranteed by the caller.
    done(unsafe { libc::mprotect(start, len, libc::PROT_NONE) })
}

/// Converts the return code of a system call, which is 0 on success. For any other code, returns
/// the error in `errno`.
pub(crate) fn done(code: libc::c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
