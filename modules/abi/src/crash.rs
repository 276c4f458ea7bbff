//! Reports of ranks that crash, or that hold their OS thread for long.
//!
//! A crash is a signal of the processor or of `abort`. The handler collects the addresses of the
//! frames and passes them to a thread, which prints the rank, the signal and the source line. Then
//! the OS process ends by the signal, as a program without this library does. All other ranks end
//! with it, because they share its memory. The handler of stack overflows of `graphmap_fiber` is
//! installed later, and calls this one for all other faults.
//!
//! The runtime finds the ranks that hold their thread. A signal asks such a thread for its frames,
//! unless it waits in a system call, which the signal could interrupt.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_void};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use graphmap_runtime::Overlong;

use crate::report;

/// Signals that end the OS process, and their names.
const SIGNALS: [(c_int, &str); 6] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGABRT, "SIGABRT"),
];

/// Signal that asks a thread for its frames. Its default action is to ignore it.
const ASK: c_int = libc::SIGURG;

/// Milliseconds for which a thread that crashes waits for its report.
const PATIENCE: c_int = 5_000;

const NO_RANK: usize = usize::MAX;

/// A thread of ranks.
struct Ranks {
    thread: libc::pid_t,
    /// The rank that runs, or [`NO_RANK`].
    rank: AtomicUsize,
    /// Address at which the program of this rank is loaded, or 0.
    base: AtomicUsize,
}

/// All threads of ranks. They exist until the OS process ends.
static THREADS: Mutex<Vec<&'static Ranks>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: Cell<Option<&'static Ranks>> = const { Cell::new(None) };
}

/// Ranks by the addresses at which their programs are loaded.
static IMAGES: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// Records the address at which the program of a rank is loaded. The rank runs on this thread.
pub(crate) fn set_loaded(rank: usize, base: usize) {
    let mut images = IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
    images.insert(base, rank);
    drop(images);
    set_running(Some((rank, base)));
}

fn register() -> &'static Ranks {
    let own: &'static Ranks = Box::leak(Box::new(Ranks {
        // SAFETY: the function has no preconditions.
        thread: unsafe { libc::gettid() },
        rank: AtomicUsize::new(NO_RANK),
        base: AtomicUsize::new(0),
    }));
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.push(own);
    OWN.set(Some(own));
    own
}

/// Sets the rank that runs on this thread. `base` is the address at which its program is loaded.
#[inline]
pub(crate) fn set_running(rank: Option<(usize, usize)>) {
    let own = OWN.get().unwrap_or_else(register);
    let (rank, base) = rank.unwrap_or((NO_RANK, 0));
    own.base.store(base, Ordering::Relaxed);
    own.rank.store(rank, Ordering::Relaxed);
}

/// Largest number of frames of a [`Stop`]. It is at most `PIPE_BUF` bytes, so that it is written as
/// a whole.
const FRAMES: usize = 64;

/// Frames of a thread that a signal has stopped. It consists of words, because it is passed through
/// a pipe.
#[repr(C)]
struct Stop {
    signal: usize,
    rank: usize,
    base: usize,
    count: usize,
    /// Address of the instruction that was interrupted, and return addresses of its callers.
    frames: [usize; FRAMES],
}

/// Ends of the pipes that handlers use, or -1: to write a [`Stop`], and to wait for its report.
static STOPS: AtomicI32 = AtomicI32::new(-1);
static REPORTED: AtomicI32 = AtomicI32::new(-1);

/// Path of the program.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Installs the handlers, and starts the thread that prints reports. Must be called before the
/// first fiber exists.
pub(crate) fn watch(program: PathBuf) -> io::Result<()> {
    // No other program was set before.
    let _ = PROGRAM.set(program);
    let ((stops, to_stops), (reported, to_reported)) = (pipe()?, pipe()?);
    STOPS.store(to_stops.into_raw_fd(), Ordering::Relaxed);
    REPORTED.store(reported.into_raw_fd(), Ordering::Relaxed);
    thread::Builder::new()
        .name("reports".to_string())
        .spawn(move || print_reports(stops, &to_reported))?;
    // The first call initializes the unwinder, which handlers must not do.
    frames_from(None);
    for (signal, _) in SIGNALS {
        handle_by(signal, crashed, 0)?;
    }
    handle_by(ASK, asked, libc::SA_RESTART)
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors, which are new.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])))
    }
}

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

fn handle_by(signal: c_int, handler: Handler, flags: c_int) -> io::Result<()> {
    // SAFETY: the struct consists of numbers and null pointers.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | flags;
    // SAFETY: the handler has the type that `SA_SIGINFO` requires, and is safe in a handler.
    match unsafe { libc::sigaction(signal, &action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the address of the instruction that was interrupted.
///
/// # Safety
/// `context` must be the context that the kernel has passed to a handler.
unsafe fn instruction(context: *const c_void) -> usize {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let context = context.cast::<libc::ucontext_t>();
        #[cfg(target_arch = "x86_64")]
        return (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        #[cfg(target_arch = "aarch64")]
        return (*context).uc_mcontext.pc as usize;
    }
}

/// Returns the address to which a function returns whose first instruction was interrupted.
///
/// # Safety
/// As for [`instruction`], and the instruction must be the first of a function.
unsafe fn return_address(context: *const c_void) -> usize {
    // SAFETY: the call has written the address to the stack or to a register.
    unsafe {
        let context = context.cast::<libc::ucontext_t>();
        #[cfg(target_arch = "x86_64")]
        return *((*context).uc_mcontext.gregs[libc::REG_RSP as usize] as *const usize);
        #[cfg(target_arch = "aarch64")]
        return (*context).uc_mcontext.regs[30] as usize;
    }
}

/// Addresses of frames, from the first one that has the address `from`, or all.
struct Frames {
    from: Option<usize>,
    count: usize,
    frames: [usize; FRAMES],
}

/// `_Unwind_Context` of the unwinder (Itanium C++ ABI, Exception Handling, section 1.6).
type Context = c_void;

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: extern "C" fn(*mut Context, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
}

/// Returns the frames below the frame with the address `from`, which is included. Safe in a
/// handler: the unwinder only reads tables that are in memory.
fn frames_from(from: Option<usize>) -> Frames {
    extern "C" fn each(context: *mut Context, found: *mut c_void) -> c_int {
        // SAFETY: `found` are the frames below, and nothing else uses them meanwhile.
        let (found, address) = unsafe { (&mut *found.cast::<Frames>(), _Unwind_GetIP(context)) };
        let is_first = found.from.is_none_or(|from| from == address);
        if found.count < FRAMES && (found.count > 0 || is_first) {
            found.frames[found.count] = address;
            found.count += 1;
        }
        // `_URC_NO_REASON`
        0
    }
    let mut found = Frames {
        from,
        count: 0,
        frames: [0; FRAMES],
    };
    // SAFETY: `each` has the type that the unwinder calls.
    unsafe { _Unwind_Backtrace(each, (&raw mut found).cast()) };
    found
}

/// Passes the frames of this thread to the thread that prints reports.
///
/// # Safety
/// As for [`instruction`].
unsafe fn stop(signal: c_int, context: *const c_void) {
    // SAFETY: guaranteed by the caller.
    let address = unsafe { instruction(context) };
    let mut found = frames_from(Some(address));
    if found.count <= 1 {
        // There are no tables for the interrupted code.
        (found.frames[0], found.count) = (address, 1);
        if address == 0 {
            // A null pointer was called.
            // SAFETY: guaranteed by the caller.
            (found.frames[1], found.count) = (unsafe { return_address(context) }, 2);
        }
    }
    let Frames { count, frames, .. } = found;
    let own = OWN.get();
    let stop = Stop {
        signal: signal as usize,
        rank: own.map_or(NO_RANK, |own| own.rank.load(Ordering::Relaxed)),
        base: own.map_or(0, |own| own.base.load(Ordering::Relaxed)),
        count,
        frames,
    };
    let pipe = STOPS.load(Ordering::Relaxed);
    // SAFETY: the struct is valid.
    unsafe { libc::write(pipe, ptr::from_ref(&stop).cast(), size_of::<Stop>()) };
}

extern "C" fn crashed(signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // A crash in this handler ends the OS process.
    // SAFETY: the default action of the signal is valid.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
    let mut reported = libc::pollfd {
        fd: REPORTED.load(Ordering::Relaxed),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: the kernel passes a valid context, and there is one descriptor.
    let is_reported = unsafe {
        stop(signal, context);
        libc::poll(&mut reported, 1, PATIENCE) == 1
    };
    if !is_reported {
        // The thread may hold a lock of the dynamic linker, as in a constructor.
        write_number(signal);
    }
    // SAFETY: the signal exists.
    unsafe { libc::raise(signal) };
}

/// Writes the rank that runs on this thread and the number of a signal. Safe in a handler.
fn write_number(signal: c_int) {
    let mut text = [0; 64];
    let mut rest = &mut text[..];
    // The text fits.
    let _ = match OWN.get().map(|own| own.rank.load(Ordering::Relaxed)) {
        None | Some(NO_RANK) => writeln!(rest, "error: a thread received signal {signal}"),
        Some(rank) => writeln!(rest, "error: rank {rank} received signal {signal}"),
    };
    let length = 64 - rest.len();
    // SAFETY: the text has this length.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), length) };
}

extern "C" fn asked(signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the location of `errno` is valid, and the kernel passes a valid context.
    unsafe {
        let error = *libc::__errno_location();
        stop(signal, context);
        *libc::__errno_location() = error;
    }
}

/// Prints a report of each [`Stop`]. Blocks until the OS process ends.
fn print_reports(mut stops: File, reported: &File) {
    let mut bytes = [0; size_of::<Stop>()];
    while stops.read_exact(&mut bytes).is_ok() {
        // SAFETY: the struct consists of words, and a handler has written all of them.
        let stop: Stop = unsafe { mem::transmute(bytes) };
        stop.print();
        if stop.signal != ASK as usize {
            // SAFETY: there is one byte.
            unsafe { libc::write(reported.as_raw_fd(), [0u8].as_ptr().cast(), 1) };
        }
    }
}

impl Stop {
    fn print(&self) {
        let signal = SIGNALS
            .iter()
            .find(|(number, _)| *number as usize == self.signal);
        let owner = self.owner();
        let place = self.place(owner.map_or(self.base, |(base, _)| base));
        match (signal, self.rank) {
            (Some((_, name)), NO_RANK) => {
                let whose = match owner {
                    Some((_, rank)) => format!("of rank {rank}"),
                    None => "that is not a rank".to_string(),
                };
                eprintln!("error: a thread {whose} received {name} {place}");
            }
            (Some((_, name)), rank) => eprintln!("error: rank {rank} received {name} {place}"),
            // The rank has let others run in the meantime.
            (None, NO_RANK) => {}
            (None, rank) => {
                let seconds = SECONDS.load(Ordering::Relaxed);
                let how = format!("has computed for {seconds} s {place}");
                eprintln!("{}", held(rank, &how));
            }
        }
    }

    /// Returns the program that a thread of no rank runs: the address at which it is loaded, and
    /// its rank.
    fn owner(&self) -> Option<(usize, usize)> {
        if self.rank != NO_RANK {
            return None;
        }
        let images = IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
        let frames = self.frames[..self.count].iter();
        let found = frames.filter_map(|&frame| images.get_key_value(&object_of(frame).0));
        found.map(|(&base, &rank)| (base, rank)).next()
    }

    /// Returns the innermost place in the program that is loaded at `base`, and the library of the
    /// interrupted instruction if it is not in the program.
    fn place(&self, base: usize) -> String {
        let frames = &self.frames[..self.count];
        let (object, name) = object_of(frames[0]);
        match place_of(frames, base) {
            Some((0, place)) => format!("in {place}"),
            Some((_, place)) if object == 0 => format!("at {:#x}, called from {place}", frames[0]),
            Some((_, place)) => format!("in {name}, called from {place}"),
            None if object == 0 => format!("at {:#x}", frames[0]),
            None => format!("at {:#x} in {name}", frames[0]),
        }
    }
}

/// Returns the index of the innermost frame in the program that is loaded at `base`, and its
/// function and source line.
fn place_of(frames: &[usize], base: usize) -> Option<(usize, String)> {
    let is_own = |address: &usize| base != 0 && object_of(*address).0 == base;
    let index = frames.iter().position(is_own)?;
    // The other addresses are those to which calls return.
    let offset = frames[index] - base - usize::from(index > 0);
    let (function, position) = report::position(PROGRAM.get()?, offset);
    let place = match function {
        Some(function) => format!("{function} ({position})"),
        None => position.to_string(),
    };
    Some((index, place))
}

/// Returns the place in the program that called this library, or an empty text if it is unknown.
/// `base` is the address at which the program is loaded.
pub(crate) fn caller(base: usize) -> String {
    let Frames { count, frames, .. } = frames_from(None);
    let place = place_of(&frames[..count], base);
    place.map_or_else(String::new, |(_, place)| format!(" in {place}"))
}

/// Returns the address at which the object with an address is loaded, or 0, and its file name.
fn object_of(address: usize) -> (usize, String) {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the function fills the struct if it returns another number than 0. The name of an
    // object is a string.
    unsafe {
        if libc::dladdr(address as *const c_void, found.as_mut_ptr()) == 0 {
            return (0, String::new());
        }
        let found = found.assume_init();
        let path = CStr::from_ptr(found.dli_fname).to_string_lossy();
        let name = match path.starts_with("/proc/self/fd") {
            true => "a copy of a library",
            false => path.rsplit('/').next().unwrap_or_default(),
        };
        (found.dli_fbase as usize, name.to_string())
    }
}

/// Returns the warning about a rank that holds its thread.
fn held(rank: usize, how: &str) -> String {
    format!(
        "warning: rank {rank} {how}, and no other rank of its thread can run meanwhile\n  = help: \
         MPI_Test, MPI_Iprobe and sched_yield let other ranks run"
    )
}

/// Seconds for which the last rank has held its thread.
static SECONDS: AtomicUsize = AtomicUsize::new(0);

/// Reports a rank that holds its thread, while other ranks of the thread could run.
pub(crate) fn overlong(process: &Overlong) {
    let (rank, seconds) = (process.rank, process.lasted.as_secs());
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_its = |own: &&&Ranks| own.rank.load(Ordering::Relaxed) == rank;
    let Some(own) = threads.iter().find(is_its) else {
        return;
    };
    let file = format!("/proc/self/task/{}/syscall", own.thread);
    let state = fs::read_to_string(file).unwrap_or_default();
    if state.starts_with(|first: char| first.is_ascii_digit()) {
        let how = format!("has waited in a system call for {seconds} s");
        eprintln!("{}", held(rank, &how));
        return;
    }
    SECONDS.store(seconds as usize, Ordering::Relaxed);
    // SAFETY: the call has no preconditions, and fails if the thread has ended.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), own.thread, ASK) };
}
