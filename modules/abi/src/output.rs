//! Standard output of the ranks, in whole lines.
//!
//! The C library has one `stdout` for the OS process. It is replaced by an unbuffered stream, whose
//! writes are collected for each rank until a line is complete.

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{ptr, slice};

use crate::rank::{self, Part, Slot};

/// Variable that asks for the rank before each line.
const PREFIX: &str = "GRAPHMAP_PREFIX";

/// Whether each line begins with its rank.
static HAS_PREFIX: AtomicBool = AtomicBool::new(false);

/// Incomplete line of a rank.
#[derive(Debug, Default)]
pub(crate) struct Lines(RefCell<Vec<u8>>);

impl Part for Lines {
    const SLOT: Slot = Slot::Lines;
}

impl Lines {
    /// Adds bytes, and writes all complete lines. Errors of standard output are returned.
    fn add(&self, rank: usize, bytes: &[u8]) -> io::Result<()> {
        let mut line = self.0.borrow_mut();
        line.extend_from_slice(bytes);
        match line.iter().rposition(|&byte| byte == b'\n') {
            Some(end) => {
                let rest = line.split_off(end + 1);
                write(rank, &std::mem::replace(&mut *line, rest))
            }
            None => Ok(()),
        }
    }

    /// Writes the incomplete line.
    pub(crate) fn flush(&self, rank: usize) {
        let line = self.0.take();
        if !line.is_empty() {
            // The rank has ended and cannot handle errors.
            drop(write(rank, &line));
        }
    }
}

/// Writes lines of a rank.
fn write(rank: usize, lines: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    if HAS_PREFIX.load(Ordering::Relaxed) {
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            write!(output, "[{rank}] ")?;
            output.write_all(line)?;
        }
    } else {
        output.write_all(lines)?;
    }
    output.flush()
}

unsafe extern "C" {
    static mut stdout: *mut libc::FILE;
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

/// Writes bytes of the calling rank. Returns 0 for an error, as `fopencookie` demands.
unsafe extern "C" fn written(_cookie: *mut c_void, bytes: *const c_char, count: usize) -> isize {
    // SAFETY: the C library passes `count` bytes.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), count) };
    let result = match rank::current() {
        Some(rank) => Lines::of(&rank).add(rank.number(), bytes),
        None => io::stdout().write_all(bytes),
    };
    match result {
        Ok(()) => count as isize,
        Err(_) => 0,
    }
}

/// Replaces `stdout` of the C library. Must be called before a program is loaded, on the only
/// thread.
pub(crate) fn replace() -> io::Result<()> {
    HAS_PREFIX.store(std::env::var_os(PREFIX).is_some(), Ordering::Relaxed);
    let functions = Functions {
        read: ptr::null(),
        write: written,
        seek: ptr::null(),
        close: ptr::null(),
    };
    // SAFETY: the functions are valid for a stream that is only written to. `stdout` may be
    // assigned, and no other thread runs.
    unsafe {
        let stream = fopencookie(ptr::null_mut(), c"w".as_ptr(), functions);
        if stream.is_null() {
            return Err(io::Error::last_os_error());
        }
        let status: c_int = libc::setvbuf(stream, ptr::null_mut(), libc::_IONBF, 0);
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        stdout = stream;
    }
    Ok(())
}
