//! Anonymous shared memory (memfd), and futex wait and wake on a word of it.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Shared memory that exists as long as any OS process maps it.
#[derive(Debug)]
pub struct SharedMemory {
    start: NonNull<u8>,
    len: usize,
    fd: i32,
}

// SAFETY: other OS processes use this memory as well. All accesses are atomic, or follow the rules
// of a byte ring.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Allocates memory filled with zeros. A page takes physical memory when it is first written.
    ///
    /// # Errors
    /// The kernel refuses the allocation, for example because `len` is 0 or too large.
    pub fn new(len: usize) -> io::Result<Self> {
        let fd = system::create()?;
        let memory = system::resize(fd, len).and_then(|()| system::map(fd, len));
        match memory {
            Ok(start) => Ok(SharedMemory { start, len, fd }),
            Err(error) => {
                system::close(fd);
                Err(error)
            }
        }
    }

    /// Maps the memory that this OS process has inherited as file descriptor `fd`. The memory owns
    /// the descriptor then, and closes it when it is dropped. The first 8 bytes must be `key`.
    /// Otherwise the descriptor belongs to another file, and stays open. In both cases, child
    /// processes of this OS process do not inherit the descriptor.
    ///
    /// # Errors
    /// The descriptor is not open, or its file does not begin with `key`, or cannot be mapped. The
    /// descriptor is not closed then.
    pub fn inherit(fd: i32, key: u64) -> io::Result<Self> {
        let len = system::inherited(fd, key)?;
        let start = system::map(fd, len)?;
        Ok(SharedMemory { start, len, fd })
    }

    /// Returns the file descriptor by which child processes inherit the memory.
    pub fn fd(&self) -> i32 {
        self.fd
    }

    #[expect(clippy::len_without_is_empty, reason = "a mapping has at least a page")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns a pointer to the `len` bytes at offset `at`.
    ///
    /// # Panics
    /// Panics if the memory ends before that.
    pub fn at(&self, at: usize, len: usize) -> NonNull<u8> {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len));
        // SAFETY: the offset is within the memory.
        unsafe { self.start.add(at) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        system::unmap(self.start, self.len);
        system::close(self.fd);
    }
}

/// Sleeps while the word is `value`, until another thread calls [`wake`] or the timeout expires.
/// Without `at_most`, the time is not limited. Returns at once if the word has another value. May
/// return early.
pub fn wait(word: &AtomicU32, value: u32, at_most: Option<Duration>) {
    system::futex_wait(word, value, at_most);
}

/// Wakes all threads that sleep on the word, in all OS processes.
pub fn wake(word: &AtomicU32) {
    system::futex_wake(word);
}

#[cfg(not(miri))]
mod system {
    use std::ffi::c_int;
    use std::fs::File;
    use std::io;
    use std::mem::ManuallyDrop;
    use std::os::fd::FromRawFd;
    use std::os::unix::fs::FileExt;
    use std::ptr::{self, NonNull};
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    pub(super) fn create() -> io::Result<i32> {
        // SAFETY: the name is a C string.
        let fd = unsafe { libc::memfd_create(c"graphmap".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(fd)
    }

    pub(super) fn inherited(fd: i32, key: u64) -> io::Result<usize> {
        // SAFETY: the call takes only numbers. A number that is not an open descriptor is refused.
        if fd < 0 || unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is open. It is only read here, and `ManuallyDrop` keeps it open.
        let file = ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
        let mut first = [0; 8];
        file.read_exact_at(&mut first, 0)?;
        if u64::from_ne_bytes(first) != key {
            return Err(io::Error::other("it is no memory of a run"));
        }
        Ok(usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX))
    }

    pub(super) fn resize(fd: i32, len: usize) -> io::Result<()> {
        let len = i64::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // SAFETY: the call takes only numbers. A size above `ulimit -f` is an error, if SIGXFSZ is
        // handled.
        match unsafe { libc::ftruncate(fd, len) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(super) fn map(fd: i32, len: usize) -> io::Result<NonNull<u8>> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: it creates a new mapping at an address that the kernel chooses.
        let at = unsafe { libc::mmap(ptr::null_mut(), len, protection, libc::MAP_SHARED, fd, 0) };
        match NonNull::new(at.cast()) {
            Some(start) if at != libc::MAP_FAILED => Ok(start),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(super) fn unmap(start: NonNull<u8>, len: usize) {
        // SAFETY: `map` created the mapping, and its owner is being dropped.
        unsafe { libc::munmap(start.as_ptr().cast(), len) };
    }

    pub(super) fn close(fd: i32) {
        // SAFETY: the owner of the descriptor is being dropped, or was not created.
        unsafe { libc::close(fd) };
    }

    pub(super) fn futex_wait(word: &AtomicU32, value: u32, at_most: Option<Duration>) {
        let time = at_most.map(|time| libc::timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(time.subsec_nanos()),
        });
        let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the word and the time are valid until the call returns.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT,
                value,
                time,
            )
        };
    }

    pub(super) fn futex_wake(word: &AtomicU32) {
        // SAFETY: the kernel does not access the word.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, c_int::MAX) };
    }
}

#[cfg(miri)]
mod system {
    //! Memory of the one program that Miri runs, so that Miri checks the accesses of its threads.
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::io;
    use std::ptr::NonNull;
    use std::sync::atomic::AtomicU32;
    use std::thread;
    use std::time::Duration;

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, 4096).expect("as the kernel would map it")
    }

    pub(super) fn create() -> io::Result<i32> {
        Ok(-1)
    }

    pub(super) fn inherited(_fd: i32, _key: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn resize(_fd: i32, len: usize) -> io::Result<()> {
        match len {
            0 => Err(io::ErrorKind::InvalidInput.into()),
            _ => Ok(()),
        }
    }

    pub(super) fn map(_fd: i32, len: usize) -> io::Result<NonNull<u8>> {
        // SAFETY: the size is not 0, because `resize` refuses that.
        let start = unsafe { alloc_zeroed(layout(len)) };
        NonNull::new(start).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    pub(super) fn unmap(start: NonNull<u8>, len: usize) {
        // SAFETY: `map` allocated it with this layout, and its owner is being dropped.
        unsafe { dealloc(start.as_ptr(), layout(len)) };
    }

    pub(super) fn close(_fd: i32) {}

    pub(super) fn futex_wait(_word: &AtomicU32, _value: u32, _at_most: Option<Duration>) {
        thread::yield_now();
    }

    pub(super) fn futex_wake(_word: &AtomicU32) {}
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::mem::ManuallyDrop;
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn it_is_inherited_by_its_key() {
        let memory = SharedMemory::new(4096).unwrap();
        // SAFETY: the word is within the memory and aligned, and all bytes are valid.
        let first = unsafe { memory.at(0, 8).cast::<AtomicU64>().as_ref() };
        first.store(77, Ordering::SeqCst);
        let inherited = SharedMemory::inherit(memory.fd(), 77).map(ManuallyDrop::new);
        assert_eq!(inherited.unwrap().len(), 4096);
        // Another file is not mapped, written or closed.
        assert!(SharedMemory::inherit(memory.fd(), 78).is_err());
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        assert!(SharedMemory::inherit(file.as_raw_fd(), 77).is_err());
        assert!(file.metadata().is_ok());
        for none in [-1, 60_000] {
            assert!(SharedMemory::inherit(none, 77).is_err());
        }
    }
}
