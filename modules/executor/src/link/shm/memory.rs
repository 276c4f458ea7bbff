//! A piece of memory without a name, and sleeping on a word of it. Linux alone has what this needs, of which the numbers are known here
//! for some machines.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Shared memory, as long as somebody has it.
#[derive(Debug)]
pub struct SharedMemory {
    start: NonNull<u8>,
    len: usize,
    fd: i32,
}

// SAFETY: it is memory that other OS processes use as well: whoever uses it does so through atomics, or
// by the rules of a lane.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// New memory, all zeros. Pages take room from when they are first written to.
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

    /// The memory that this OS process has inherited under a number, if its first bytes are that key: else the number is
    /// that of another file, which is left alone. What this OS process starts does not inherit it.
    pub fn inherit(fd: i32, key: u64) -> io::Result<Self> {
        let len = system::inherited(fd, key)?;
        let start = system::map(fd, len)?;
        Ok(SharedMemory { start, len, fd })
    }

    /// The number under which a relative inherits it.
    pub fn fd(&self) -> i32 {
        self.fd
    }

    #[expect(clippy::len_without_is_empty, reason = "a mapping has at least a page")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Where `len` bytes from `at` on are.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn at(&self, at: usize, len: usize) -> NonNull<u8> {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len));
        // SAFETY: it is within the memory.
        unsafe { self.start.add(at) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        system::unmap(self.start, self.len);
        system::close(self.fd);
    }
}

/// Sleeps while the word is `value`, until somebody calls [`wake`], or for a time. It may return early.
pub fn wait(word: &AtomicU32, value: u32, at_most: Option<Duration>) {
    system::futex_wait(word, value, at_most);
}

/// Wakes who sleeps on the word, in whatever OS process.
pub fn wake(word: &AtomicU32) {
    system::futex_wake(word);
}

#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64"
    ),
    not(miri)
))]
mod system {
    //! The C library has all of this, and std links it anyway: so there is no crate to depend on.
    use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
    use std::fs::File;
    use std::io;
    use std::mem::ManuallyDrop;
    use std::os::fd::FromRawFd;
    use std::os::unix::fs::FileExt;
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
        fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
        fn syscall(number: c_long, ...) -> c_long;
    }

    const MFD_CLOEXEC: c_uint = 1;
    const F_SETFD: c_int = 2;
    const FD_CLOEXEC: c_int = 1;
    const PROT_READ_WRITE: c_int = 3;
    const MAP_SHARED: c_int = 1;
    const FUTEX_WAIT: c_int = 0;
    const FUTEX_WAKE: c_int = 1;
    #[cfg(target_arch = "x86_64")]
    const SYS_FUTEX: c_long = 202;
    /// Of the machines that came to Linux later all have the same numbers.
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

    pub(super) fn inherited(fd: i32, key: u64) -> io::Result<usize> {
        // SAFETY: it takes numbers. One that is not that of a file is refused.
        if fd < 0 || unsafe { fcntl(fd, F_SETFD, FD_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: there is such a file, which is only looked at, and stays open.
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
        // SAFETY: numbers both of them. What is beyond the limit on files (`ulimit -f`) is an error: `file_limit`.
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

#[cfg(miri)]
mod system {
    //! To Miri it is memory of the one program that there is: so it sees what threads do with it.
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
        // SAFETY: `resize` has let no empty memory pass.
        let start = unsafe { alloc_zeroed(layout(len)) };
        NonNull::new(start).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    pub(super) fn unmap(start: NonNull<u8>, len: usize) {
        // SAFETY: `map` allocated it so, and whoever had it has let it go.
        unsafe { dealloc(start.as_ptr(), layout(len)) };
    }

    pub(super) fn close(_fd: i32) {}

    pub(super) fn futex_wait(_word: &AtomicU32, _value: u32, _at_most: Option<Duration>) {
        thread::yield_now();
    }

    pub(super) fn futex_wake(_word: &AtomicU32) {}
}

#[cfg(not(any(
    miri,
    all(
        target_os = "linux",
        target_pointer_width = "64",
        any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            target_arch = "riscv64",
            target_arch = "loongarch64"
        )
    )
)))]
mod system {
    //! Elsewhere there is none, and who waits for a word looks at it now and then.
    use std::io;
    use std::ptr::NonNull;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;
    use std::time::Duration;

    pub(super) fn create() -> io::Result<i32> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "shared memory is there on Linux only, on x86-64, aarch64, riscv64 and loongarch64",
        ))
    }

    pub(super) fn inherited(_fd: i32, _key: u64) -> io::Result<usize> {
        create().map(|_| 0)
    }

    pub(super) fn resize(_fd: i32, _len: usize) -> io::Result<()> {
        create().map(drop)
    }

    pub(super) fn map(_fd: i32, _len: usize) -> io::Result<NonNull<u8>> {
        create().map(|_| NonNull::dangling())
    }

    pub(super) fn unmap(_start: NonNull<u8>, _len: usize) {}

    pub(super) fn close(_fd: i32) {}

    /// Whoever waits looks again after this time.
    const LOOK: Duration = Duration::from_millis(10);

    pub(super) fn futex_wait(word: &AtomicU32, value: u32, at_most: Option<Duration>) {
        if word.load(Ordering::SeqCst) == value {
            thread::sleep(at_most.unwrap_or(LOOK).min(LOOK));
        }
    }

    pub(super) fn futex_wake(_word: &AtomicU32) {}
}

#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64"
    ),
    not(miri)
))]
#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::ManuallyDrop;
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn it_is_inherited_by_its_key() {
        let memory = SharedMemory::new(4096).unwrap();
        // SAFETY: within the memory, aligned, and all bytes are a value.
        let first = unsafe { memory.at(0, 8).cast::<AtomicU64>().as_ref() };
        first.store(77, Ordering::SeqCst);
        let inherited = SharedMemory::inherit(memory.fd(), 77).map(ManuallyDrop::new);
        assert_eq!(inherited.unwrap().len(), 4096);
        // Of another file nothing is taken, written or closed.
        assert!(SharedMemory::inherit(memory.fd(), 78).is_err());
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        assert!(SharedMemory::inherit(file.as_raw_fd(), 77).is_err());
        assert!(file.metadata().is_ok());
        for none in [-1, 60_000] {
            assert!(SharedMemory::inherit(none, 77).is_err());
        }
    }
}
