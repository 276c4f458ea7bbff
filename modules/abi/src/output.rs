//! Standard output and standard error of the ranks.
//!
//! The C library has one `stdout` and one `stderr` for the OS process. They are replaced by
//! unbuffered streams, whose writes go where the current rank has directed them: to a file, or to
//! the OS process. Standard output of the OS process is written in whole lines.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_void};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::{ptr, slice};

use crate::rank::{self, Part, Slot};

/// Variable that asks for the rank before each line.
const PREFIX: &str = "GRAPHMAP_PREFIX";

/// Whether each line begins with its rank.
static HAS_PREFIX: AtomicBool = AtomicBool::new(false);

/// A standard stream for output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Standard,
    Error,
}

/// Streams of the C library that all ranks have at their start.
static STREAMS: [AtomicPtr<libc::FILE>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];

impl Output {
    /// Returns the standard stream that all ranks share under this address.
    pub(crate) fn of(stream: *const libc::FILE) -> Option<Self> {
        let is = |output: &Output| ptr::eq(output.stream(), stream);
        [Output::Standard, Output::Error].into_iter().find(is)
    }

    /// Returns the stream of the C library.
    pub(crate) fn stream(self) -> *mut libc::FILE {
        STREAMS[self as usize].load(Ordering::Relaxed)
    }

    /// Returns the descriptor in the OS process.
    pub(crate) fn descriptor(self) -> c_int {
        match self {
            Output::Standard => libc::STDOUT_FILENO,
            Output::Error => libc::STDERR_FILENO,
        }
    }

    /// Writes bytes of a thread that is not a rank.
    fn write(self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Output::Standard => io::stdout().write_all(bytes),
            Output::Error => io::stderr().write_all(bytes),
        }
    }

    /// Writes lines of a rank.
    fn write_lines(self, rank: usize, lines: &[u8]) -> io::Result<()> {
        if HAS_PREFIX.load(Ordering::Relaxed) {
            let mut all = Vec::new();
            for line in lines.split_inclusive(|&byte| byte == b'\n') {
                write!(all, "[{rank}] ")?;
                all.extend_from_slice(line);
            }
            self.write(&all)?;
        } else {
            self.write(lines)?;
        }
        io::stdout().flush()
    }
}

/// Destination of a standard stream of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Destination {
    /// The stream of the OS process.
    #[default]
    Shared,
    /// A file that only the rank has opened.
    File(*mut libc::FILE),
    /// The rank has closed the stream.
    Closed,
}

/// Incomplete lines of a rank, and where its output goes.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    lines: [RefCell<Vec<u8>>; 2],
    destinations: [Cell<Destination>; 2],
}

impl Part for Lines {
    const SLOT: Slot = Slot::Lines;
}

impl Lines {
    /// Returns the destination of a stream.
    pub(crate) fn destination(&self, output: Output) -> Destination {
        self.destinations[output as usize].get()
    }

    /// Sets the destination of a stream.
    pub(crate) fn direct(&self, output: Output, to: Destination) {
        self.destinations[output as usize].set(to);
    }

    /// Writes bytes of a rank. Errors of the destination are returned.
    fn write(&self, output: Output, rank: usize, bytes: &[u8]) -> io::Result<()> {
        match (self.destination(output), output) {
            (Destination::Shared, Output::Error) if !HAS_PREFIX.load(Ordering::Relaxed) => {
                output.write(bytes)
            }
            (Destination::Shared, _) => self.add(output, rank, bytes),
            (Destination::Closed, _) => Err(io::Error::from_raw_os_error(libc::EBADF)),
            (Destination::File(file), _) => {
                // SAFETY: the file is open while it is the destination.
                let count = unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), file) };
                match count == bytes.len() {
                    true => Ok(()),
                    false => Err(io::Error::last_os_error()),
                }
            }
        }
    }

    /// Adds bytes, and writes all complete lines. Errors of the stream are returned.
    fn add(&self, output: Output, rank: usize, bytes: &[u8]) -> io::Result<()> {
        let mut line = self.lines[output as usize].borrow_mut();
        let end = bytes.iter().rposition(|&byte| byte == b'\n');
        let (lines, rest) = bytes.split_at(end.map_or(0, |end| end + 1));
        let mut written = Ok(());
        if !lines.is_empty() {
            line.extend_from_slice(lines);
            written = output.write_lines(rank, &line);
            line.clear();
        }
        line.extend_from_slice(rest);
        written
    }

    /// Writes the incomplete lines.
    pub(crate) fn flush(&self, rank: usize) {
        for output in [Output::Standard, Output::Error] {
            let line = self.lines[output as usize].take();
            if !line.is_empty() {
                // The rank has ended and cannot handle errors.
                drop(output.write_lines(rank, &line));
            }
        }
    }
}

unsafe extern "C" {
    static mut stdout: *mut libc::FILE;
    static mut stderr: *mut libc::FILE;
    fn fopencookie(
        cookie: *mut c_void,
        mode: *const c_char,
        functions: Functions,
    ) -> *mut libc::FILE;
}

/// `cookie_io_functions_t` of the C library.
#[repr(C)]
struct Functions {
    read: *const c_void,
    write: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> isize,
    seek: *const c_void,
    close: *const c_void,
}

/// Writes bytes of the calling rank to standard output.
unsafe extern "C" fn standard(_cookie: *mut c_void, bytes: *const c_char, count: usize) -> isize {
    // SAFETY: the C library passes `count` bytes.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), count) };
    written(Output::Standard, bytes)
}

/// Writes bytes of the calling rank to standard error.
unsafe extern "C" fn error(_cookie: *mut c_void, bytes: *const c_char, count: usize) -> isize {
    // SAFETY: the C library passes `count` bytes.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), count) };
    written(Output::Error, bytes)
}

/// Writes bytes of the calling rank. Returns 0 for an error, as `fopencookie` demands.
fn written(output: Output, bytes: &[u8]) -> isize {
    let result = match rank::current() {
        Some(rank) => Lines::of(&rank).write(output, rank.number(), bytes),
        None => output.write(bytes),
    };
    match result {
        Ok(()) => bytes.len() as isize,
        Err(_) => 0,
    }
}

/// Replaces `stdout` and `stderr` of the C library. Must be called before a program is loaded, on
/// the only thread.
pub(crate) fn replace() -> io::Result<()> {
    HAS_PREFIX.store(std::env::var_os(PREFIX).is_some(), Ordering::Relaxed);
    // SAFETY: the variables may be assigned, and no other thread runs.
    unsafe {
        stdout = create(Output::Standard, standard)?;
        stderr = create(Output::Error, error)?;
    }
    Ok(())
}

/// Creates an unbuffered stream.
fn create(
    output: Output,
    write: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> isize,
) -> io::Result<*mut libc::FILE> {
    let functions = Functions {
        read: ptr::null(),
        write,
        seek: ptr::null(),
        close: ptr::null(),
    };
    // SAFETY: the functions are valid for a stream that is only written to.
    let stream = unsafe { fopencookie(ptr::null_mut(), c"w".as_ptr(), functions) };
    if stream.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the stream was just created.
    if unsafe { libc::setvbuf(stream, ptr::null_mut(), libc::_IONBF, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    STREAMS[output as usize].store(stream, Ordering::Relaxed);
    Ok(stream)
}
