//! Report of a rank that crashes: a signal of the processor in the code of the program.
//!
//! The handler writes the rank, the signal and the address of the instruction, and then the OS
//! process ends by the signal, as a program without this library does. All other ranks end with it,
//! because they share its memory. The handler of stack overflows of `graphmap_fiber` is installed
//! later, and calls this one for all other faults.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::ptr;

/// Signals that an instruction raises.
const SIGNALS: [(c_int, &str); 4] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
];

/// The rank that runs on a thread, for the handler.
#[derive(Clone, Copy)]
struct Running {
    rank: usize,
    /// Address at which the program is loaded, or 0.
    base: usize,
}

thread_local! {
    static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
}

/// Sets the rank that runs on this thread. `base` is the address at which its program is loaded.
#[inline]
pub(crate) fn set_running(rank: Option<(usize, usize)>) {
    RUNNING.set(rank.map(|(rank, base)| Running { rank, base }));
}

/// Installs the handler. Must be called before the first fiber exists.
pub(crate) fn watch() -> io::Result<()> {
    for (signal, _) in SIGNALS {
        // SAFETY: the struct consists of numbers and null pointers.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: `handle` has the type that `SA_SIGINFO` requires, and is safe in a handler.
        if unsafe { libc::sigaction(signal, &action, ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Returns the address of the instruction that was interrupted.
///
/// # Safety
/// `context` must be the context that the kernel has passed to a handler.
pub(crate) unsafe fn instruction(context: *const c_void) -> usize {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let context = context.cast::<libc::ucontext_t>();
        #[cfg(target_arch = "x86_64")]
        return (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        #[cfg(target_arch = "aarch64")]
        return (*context).uc_mcontext.pc as usize;
    }
}

/// Writes a report about the rank that runs on this thread: its number, `what`, and the address of
/// its instruction. Safe in a handler of signals.
pub(crate) fn write_report(address: usize, what: fmt::Arguments<'_>, is_warning: bool) {
    let mut text = [0; 256];
    let mut rest = &mut text[..];
    let level = if is_warning { "warning" } else { "error" };
    // The text fits.
    let _ = match RUNNING.get() {
        Some(Running { rank, base }) if base != 0 && address >= base => writeln!(
            rest,
            "{level}: rank {rank} {what} at {address:#x} (offset {:#x} of the program)",
            address - base
        ),
        Some(Running { rank, .. }) => writeln!(rest, "{level}: rank {rank} {what} at {address:#x}"),
        None => writeln!(rest, "{level}: a thread {what} at {address:#x}"),
    };
    let length = 256 - rest.len();
    // SAFETY: the text has this length.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), length) };
}

extern "C" fn handle(signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    let name = SIGNALS.iter().find(|(number, _)| *number == signal);
    let name = name.map_or("a signal", |(_, name)| name);
    // SAFETY: the kernel passes a valid context.
    let address = unsafe { instruction(context) };
    write_report(address, format_args!("received {name}"), false);
    // SAFETY: the default action of the signal is valid.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
