//! What is asked of the kernel: memory for stacks.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes a page has.
pub(crate) fn page_size() -> usize {
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    match SIZE.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: it takes a number.
            let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            let size = usize::try_from(size).unwrap_or(4096).max(4096);
            SIZE.store(size, Ordering::Relaxed);
            size
        }
        size => size,
    }
}

/// Memory of our own, which is there from the first touch of each of its pages on.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut libc::c_void,
    len: usize,
}

impl Mapping {
    /// So many bytes, a multiple of a page.
    pub(crate) fn reserve(len: usize) -> io::Result<Mapping> {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, wherever there is room.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, rights, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapping = Mapping { start, len };
        // A huge page would be there whole, for 32 stacks, when one is touched. Where there are none, this fails.
        // SAFETY: the memory is ours, and stays as it is.
        unsafe {
            libc::madvise(start, len, libc::MADV_NOHUGEPAGE);
        }
        Ok(mapping)
    }

    /// Where it begins.
    pub(crate) fn start(&self) -> usize {
        self.start.addr()
    }

    /// How many bytes it has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The memory from `from` on, of `len` bytes.
    fn part(&self, from: usize, len: usize) -> *mut libc::c_void {
        let fits = from.checked_add(len).is_some_and(|end| end <= self.len);
        assert!(fits, "{from} + {len} of {} bytes", self.len);
        self.start.wrapping_byte_add(from)
    }

    /// Has any access to these pages fail, without a mapping of their own.
    ///
    /// # Safety
    ///
    /// Nobody keeps anything there.
    pub(crate) unsafe fn install_guard(&self, from: usize, len: usize) -> io::Result<()> {
        /// `MADV_GUARD_INSTALL` of Linux 6.13.
        const GUARD_INSTALL: libc::c_int = 102;
        // SAFETY: memory of ours in which nobody keeps anything.
        done(unsafe { libc::madvise(self.part(from, len), len, GUARD_INSTALL) })
    }

    /// Has any access to these pages fail, by a mapping of their own.
    ///
    /// # Safety
    ///
    /// Nobody keeps anything there.
    pub(crate) unsafe fn protect(&self, from: usize, len: usize) -> io::Result<()> {
        // SAFETY: memory of ours in which nobody keeps anything.
        done(unsafe { libc::mprotect(self.part(from, len), len, libc::PROT_NONE) })
    }

    /// Gives the memory of these pages back: they are zero when they are touched again.
    ///
    /// # Safety
    ///
    /// Nobody keeps anything there.
    pub(crate) unsafe fn discard(&self, from: usize, len: usize) -> io::Result<()> {
        // SAFETY: memory of ours in which nobody keeps anything.
        done(unsafe { libc::madvise(self.part(from, len), len, libc::MADV_DONTNEED) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: who owns the mapping has nobody use it any more.
        unsafe { libc::munmap(self.start, self.len) };
    }
}

fn done(code: libc::c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
