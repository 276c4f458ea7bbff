//! Reports the name of a fiber that overflows its stack.
//!
//! An access to the guard of a stack raises `SIGSEGV`. The handler runs on an alternate stack,
//! because the overflowed one has no room. It checks whether the address is in the guard of the
//! running stack. If so, it writes a report, and the program ends by the signal (a shell reports
//! status 139), with a core dump if these are enabled. Any other fault goes to the previous
//! handler. Rust's own handler reports overflows of the stacks of threads.
//!
//! The handler calls only `write`, `sigaction` and `raise`, and reads a thread-local that needs no
//! initialisation.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::os::fd::FromRawFd;
use std::ptr;
use std::sync::OnceLock;

use crate::alternate;
use crate::current::{self, Extent};
use crate::system::done;

/// Action of the signal before the handler was installed.
static EARLIER: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once per OS process, and provides this thread with an alternate stack.
/// Returns the error if either fails. If the handler could not be installed, later calls return the
/// same error.
pub(crate) fn watch() -> io::Result<()> {
    static WATCHES: OnceLock<Result<(), i32>> = OnceLock::new();
    alternate::provide()?;
    let code = |error: io::Error| error.raw_os_error().unwrap_or(0);
    let watches = WATCHES.get_or_init(|| install().map_err(code));
    watches.map_err(io::Error::from_raw_os_error)
}

fn install() -> io::Result<()> {
    // The previous action is stored before the handler may need it.
    let mut earlier = default();
    // SAFETY: the call sets nothing, and `earlier` has room for the result.
    done(unsafe { libc::sigaction(libc::SIGSEGV, ptr::null(), &mut earlier) })?;
    let _ = EARLIER.set(earlier);
    let mut action = default();
    action.sa_sigaction = handle as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `handle` has the type that `SA_SIGINFO` requires, and calls only functions that are
    // safe in a signal handler.
    done(unsafe { libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut()) })
}

/// Returns the default action of a signal, with no flags.
fn default() -> libc::sigaction {
    // SAFETY: the struct consists of numbers and null pointers. Zero means the default action, no
    // flags and no signals.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Replaces the action of `SIGSEGV`. This cannot fail, because the signal exists and may have any
/// action.
fn set(action: &libc::sigaction) {
    // SAFETY: the action is the default, or one that was set before.
    unsafe { libc::sigaction(libc::SIGSEGV, action, ptr::null_mut()) };
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t`, with an address if the kernel raised the
    // signal.
    let (by_kernel, address) = unsafe { ((*info).si_code > 0, (*info).si_addr().addr()) };
    let report = |extent: &Extent| {
        let overflows = extent.is_guard(address);
        if overflows {
            report(extent);
        }
        overflows
    };
    let overflows = by_kernel && current::with_extent(report).unwrap_or(false);
    if overflows {
        // The faulting access is repeated when the handler returns, and ends the program.
        return set(&default());
    }
    let earlier = EARLIER.get().copied().unwrap_or_else(default);
    let is_function = ![libc::SIG_DFL, libc::SIG_IGN].contains(&earlier.sa_sigaction);
    if is_function && earlier.sa_flags & libc::SA_SIGINFO != 0 {
        type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
        // SAFETY: the previous handler was set with `SA_SIGINFO`, so it is a function of this type.
        let handler = unsafe { mem::transmute::<usize, Handler>(earlier.sa_sigaction) };
        return handler(signal, info, context);
    }
    // The previous action is to ignore, the default, or a handler of another type. The kernel takes
    // this action when the faulting access is repeated.
    set(&earlier);
    if !by_kernel {
        // A signal that was sent is not repeated by itself. The raised one is delivered when the
        // handler returns.
        // SAFETY: `raise` has no preconditions.
        unsafe { libc::raise(signal) };
    }
}

/// Writes to the standard error that a stack has overflowed, with the name of its fiber, its usable
/// size and a help. Allocates no memory. Control characters in the name are replaced by `?`. A
/// failure of the write is ignored.
fn report(extent: &Extent) {
    let name = match &*extent.name {
        "" => "a fiber without a name",
        name => name,
    };
    let room = extent.size - extent.guard;
    let (room, larger) = (room / 1024, room.next_power_of_two() / 1024 * 4);
    let mut text = [0; 512];
    let mut rest = &mut text[..];
    // The text fits, because 63 characters are at most 252 bytes.
    let _ = writeln!(
        rest,
        "the stack of {name:.63} has overflowed: its usable size is {room} KiB\n\
         help: use larger stacks, such as with GRAPHMAP_STACK={larger}k, allocate large arrays on \
         the heap, or recurse less deeply"
    );
    let left = rest.len();
    let len = text.len() - left;
    let text = &mut text[..len];
    for byte in &mut *text {
        // A name must not send control sequences to the terminal.
        if byte.is_ascii_control() && *byte != b'\n' {
            *byte = b'?';
        }
    }
    // SAFETY: if the standard error is not open, the write fails. `ManuallyDrop` leaves it open.
    let mut stderr = ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDERR_FILENO) });
    // If the standard error is not available, the report is lost.
    let _ = stderr.write_all(text);
}
