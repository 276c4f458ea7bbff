//! A piece of memory without a name, and sleeping on a word of it. Linux alone has what this needs.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Shared memory, as long as somebody has it.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    len: usize,
    fd: i32,
}

// SAFETY: it is memory that other OS processes use as well: whoever uses it does so through atomics, or
// by the rules of a lane.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// New memory, all zeros. Pages take room from when they are first written to.
    pub(crate) fn new(len: usize) -> io::Result<Self> {
        let fd = system::create()?;
        let memory = system::resize(fd, len).and_then(|()| system::map(fd, len));
        match memory {
            Ok(start) => Ok(Memory { start, len, fd }),
            Err(error) => {
                system::close(fd);
                Err(error)
            }
        }
    }

    /// The memory that another OS process has under a number.
    pub(crate) fn open(process: u32, fd: i32) -> io::Result<Self> {
        let (fd, len) = system::open(&format!("/proc/{process}/fd/{fd}"))?;
        match system::map(fd, len) {
            Ok(start) => Ok(Memory { start, len, fd }),
            Err(error) => {
                system::close(fd);
                Err(error)
            }
        }
    }

    /// The number by which a relative opens it.
    pub(crate) fn fd(&self) -> i32 {
        self.fd
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where `len` bytes from `at` on are.
    ///
    /// # Panics
    /// If there are not so many.
    pub(crate) fn at(&self, at: usize, len: usize) -> NonNull<u8> {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len));
        // SAFETY: it is within the memory.
        unsafe { self.start.add(at) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        system::unmap(self.start, self.len);
        system::close(self.fd);
    }
}

/// Sleeps while the word is `value`, until somebody calls [`wake`], or for a time. It may return early.
pub(crate) fn wait(word: &AtomicU32, value: u32, at_most: Option<Duration>) {
    system::futex_wait(word, value, at_most);
}

/// Wakes who sleeps on the word, in whatever OS process.
pub(crate) fn wake(word: &AtomicU32) {
    system::futex_wake(word);
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    //! The C library has all of this, and std links it anyway: so there is no crate to depend on.
    use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
    use std::fs::File;
    use std::io;
    use std::os::fd::IntoRawFd;
    use std::ptr::{self, NonNull};
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    unsafe extern "C" {
        fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
        fn ftruncate64(fd: c_int, len: i64) -> c_int;
        fn mmap64(
            at: *mut c_void,
            len: usize,
            protection: c_int,
            flags: c_int,
            fd: c_int,
            offset: i64,
        ) -> *mut c_void;
        fn munmap(at: *mut c_void, len: usize) -> c_int;
        #[link_name = "close"]
        fn close_fd(fd: c_int) -> c_int;
        fn syscall(number: c_long, ...) -> c_long;
    }

    const MFD_CLOEXEC: c_uint = 1;
    const PROT_READ_WRITE: c_int = 3;
    const MAP_SHARED: c_int = 1;
    const FUTEX_WAIT: c_int = 0;
    const FUTEX_WAKE: c_int = 1;
    #[cfg(target_arch = "x86_64")]
    const SYS_FUTEX: c_long = 202;
    #[cfg(not(target_arch = "x86_64"))]
    const SYS_FUTEX: c_long = 98;

    /// As the kernel of a 64-bit machine has it.
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }

    pub(super) fn create() -> io::Result<i32> {
        // SAFETY: the name is a C string.
        let fd = unsafe { memfd_create(c"graphmap".as_ptr(), MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(fd)
    }

    pub(super) fn open(path: &str) -> io::Result<(i32, usize)> {
        let file = File::options().read(true).write(true).open(path)?;
        let len = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        Ok((file.into_raw_fd(), len))
    }

    pub(super) fn resize(fd: i32, len: usize) -> io::Result<()> {
        let len = i64::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // SAFETY: it takes two numbers.
        match unsafe { ftruncate64(fd, len) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(super) fn map(fd: i32, len: usize) -> io::Result<NonNull<u8>> {
        // SAFETY: new memory at a place that the kernel chooses.
        let at = unsafe { mmap64(ptr::null_mut(), len, PROT_READ_WRITE, MAP_SHARED, fd, 0) };
        match NonNull::new(at.cast()) {
            Some(start) if at.addr() != usize::MAX => Ok(start),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(super) fn unmap(start: NonNull<u8>, len: usize) {
        // SAFETY: `map` made it, and its owner goes.
        unsafe { munmap(start.as_ptr().cast(), len) };
    }

    pub(super) fn close(fd: i32) {
        // SAFETY: the owner of the number goes.
        unsafe { close_fd(fd) };
    }

    pub(super) fn futex_wait(word: &AtomicU32, value: u32, at_most: Option<Duration>) {
        let time = at_most.map(|time| Timespec {
            seconds: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            nanoseconds: i64::from(time.subsec_nanos()),
        });
        let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: the word and the time are there until the call returns.
        unsafe { syscall(SYS_FUTEX, word.as_ptr(), FUTEX_WAIT, value, time) };
    }

    pub(super) fn futex_wake(word: &AtomicU32) {
        // SAFETY: the kernel does not even look at the word.
        unsafe { syscall(SYS_FUTEX, word.as_ptr(), FUTEX_WAKE, c_int::MAX) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    //! Elsewhere there is none, and nobody gets as far as to use it.
    use std::io;
    use std::ptr::NonNull;
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    pub(super) fn create() -> io::Result<i32> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "shared memory is there on Linux only",
        ))
    }

    pub(super) fn open(_path: &str) -> io::Result<(i32, usize)> {
        create().map(|fd| (fd, 0))
    }

    pub(super) fn resize(_fd: i32, _len: usize) -> io::Result<()> {
        create().map(drop)
    }

    pub(super) fn map(_fd: i32, _len: usize) -> io::Result<NonNull<u8>> {
        create().map(|_| NonNull::dangling())
    }

    pub(super) fn unmap(_start: NonNull<u8>, _len: usize) {}

    pub(super) fn close(_fd: i32) {}

    pub(super) fn futex_wait(_word: &AtomicU32, _value: u32, _at_most: Option<Duration>) {}

    pub(super) fn futex_wake(_word: &AtomicU32) {}
}
