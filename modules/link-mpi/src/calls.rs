//! Ends MPI jobs and handles MPI errors, with the system calls that this needs.
//!
//! An error of MPI ends the job: see [`failed`].

use std::ffi::c_void;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use graphmap_runtime::Exit;

use mpi_sys as ffi;

use crate::printed::{self, FORWARDING};

/// Time for the launcher to end this OS process after it was asked to end the job.
const HEARD: Duration = Duration::from_secs(1);

/// Ends all OS processes with an exit code by `MPI_Abort`. Usually does not return. Under the
/// launcher of MPICH, notifies it first and blocks for a second.
pub(crate) fn end_job(comm: ffi::MPI_Comm, code: u8) {
    // `MPI_Abort` of MPICH first notifies the other OS processes, which exit, and then the
    // launcher. If the launcher sees one of them exit earlier, it treats this as the failure. It
    // then kills all OS processes and returns an exit code that contains the 9 of their signal. So
    // the launcher is notified first.
    if let Some(fd) = launcher() {
        report_to_launcher(fd, &format!("cmd=abort exitcode={code}\n"));
        std::thread::sleep(HEARD);
    }
    // SAFETY: the call takes only numbers.
    unsafe { ffi::MPI_Abort(comm, i32::from(code)) };
}

/// Returns the file descriptor of the socket on which the launcher of MPICH speaks PMI 1. Returns
/// `None` if there is no such launcher, or if the library is not MPICH.
pub(crate) fn launcher() -> Option<i32> {
    let fd = std::env::var("PMI_FD").ok()?.parse().ok()?;
    library().starts_with("MPICH").then_some(fd)
}

/// True if the run has ended or is being ended.
static OVER: AtomicBool = AtomicBool::new(false);
/// True during a call of MPI. If MPI ends this OS process in the call, another OS process has
/// ended, and the launcher reports it.
static INSIDE: AtomicBool = AtomicBool::new(false);

/// Calls MPI where the call may end this OS process. `call` returns an error code of MPI. If it is
/// an error, waits for a second, prints the error, ends the job with [`Exit::Lost`], and does not
/// return.
pub(crate) fn inside(call: impl FnOnce() -> i32) {
    INSIDE.store(true, Ordering::Relaxed);
    let code = call();
    INSIDE.store(false, Ordering::Relaxed);
    if code != SUCCESS {
        failed(code);
    }
}

/// `MPI_SUCCESS` of the MPI standard.
pub(crate) const SUCCESS: i32 = 0;

/// Handles an error of MPI: waits for a second, prints the error, and ends the job with
/// [`Exit::Lost`].
///
/// Usually another OS process has ended. The launcher knows the reason, reports it, and ends this
/// OS process, so this function waits first. MPI would only report that the other OS process is
/// unreachable, with an exit code that does not show the reason.
#[cold]
fn failed(code: i32) -> ! {
    std::thread::sleep(HEARD);
    over();
    let why = text(ffi::MPI_MAX_ERROR_STRING as i32, |at, len| {
        // SAFETY: the buffer has room for the longest text.
        unsafe { ffi::MPI_Error_string(code, at, len) }
    });
    let _ = writeln!(
        std::io::stderr(),
        "error: MPI failed on {}: {}",
        host(),
        why.split_whitespace().collect::<Vec<_>>().join(" ")
    );
    printed::wait_until_read(FORWARDING);
    // SAFETY: reads a constant. MPI is not finalized, because a call of it has just failed.
    end_job(unsafe { ffi::RSMPI_COMM_WORLD }, Exit::Lost as u8);
    std::process::exit(Exit::Lost as i32)
}

unsafe extern "C" {
    fn atexit(f: extern "C" fn()) -> i32;
    fn write(fd: i32, bytes: *const c_void, len: usize) -> isize;
    fn read(fd: i32, bytes: *mut c_void, len: usize) -> isize;
    fn _exit(code: i32) -> !;
}

/// Records that this OS process ends because the run ends, so that the exit handler does not report
/// it.
pub(crate) fn over() {
    OVER.store(true, Ordering::SeqCst);
}

/// Registers a handler for the case that user code ends this OS process during the run
/// (`std::process::exit`). The handler reports this and ends the job. It has no effect after
/// [`over`], and if a call of MPI ends this OS process.
///
/// It is needed because launchers treat the exit code 0 as success, and end the other OS processes
/// without a message.
pub(crate) fn watch_exit() {
    // SAFETY: the handler exists as long as the program and does not unwind.
    unsafe { atexit(exits) };
}

extern "C" fn exits() {
    if OVER.swap(true, Ordering::SeqCst) || INSIDE.load(Ordering::Relaxed) {
        return;
    }
    let _ = writeln!(
        std::io::stderr(),
        "error: an OS process on {} ended before the run did: its code called `exit`",
        host()
    );
    printed::wait_until_read(FORWARDING);
    // SAFETY: reads a constant. MPI is not finalized, because the run is not over.
    end_job(unsafe { ffi::RSMPI_COMM_WORLD }, Exit::Lost as u8);
}

/// Sends a line to the launcher over its socket. Errors are ignored.
fn report_to_launcher(fd: i32, line: &str) {
    // SAFETY: the pointer is valid for `line.len()` bytes.
    unsafe { write(fd, line.as_ptr().cast(), line.len()) };
}

/// Sends a line to the launcher over its socket, and blocks until an answer comes or the launcher
/// has ended. The answer and errors are ignored.
pub(crate) fn ask_launcher(fd: i32, line: &str) {
    report_to_launcher(fd, line);
    let mut answer = [0u8; 256];
    // SAFETY: the pointer is valid for writes of `answer.len()` bytes.
    unsafe { read(fd, answer.as_mut_ptr().cast(), answer.len()) };
}

/// Ends this OS process without running exit handlers.
pub(crate) fn leave(code: u8) -> ! {
    // SAFETY: the call takes only a number.
    unsafe { _exit(i32::from(code)) }
}

/// Returns the name and version of the MPI library of this program, in one line. It is empty if MPI
/// reports an error.
pub(crate) fn library() -> String {
    // SAFETY: reads a constant.
    let room = unsafe { ffi::RSMPI_MAX_LIBRARY_VERSION_STRING };
    let told = text(room, |at, len| {
        // SAFETY: the buffer has room for the longest text. The call is allowed at any time.
        unsafe { ffi::MPI_Get_library_version(at, len) }
    });
    let line = told.lines().next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the name of this host according to MPI, which must be initialised. Returns `an unknown
/// host` if MPI does not know it.
pub(crate) fn host() -> String {
    let name = text(ffi::MPI_MAX_PROCESSOR_NAME as i32, |at, len| {
        // SAFETY: the buffer has room for the longest name. MPI is initialised.
        unsafe { ffi::MPI_Get_processor_name(at, len) }
    });
    match name.is_empty() {
        true => "an unknown host".into(),
        false => name,
    }
}

/// Returns a text of at most `room` bytes that `write` produces. The text is empty if `write`
/// fails.
fn text(room: i32, write: impl FnOnce(*mut std::ffi::c_char, *mut i32) -> i32) -> String {
    let (mut bytes, mut len) = (vec![0_u8; room as usize], 0);
    if write(bytes.as_mut_ptr().cast(), &raw mut len) != SUCCESS {
        return String::new();
    }
    let told = bytes.get(..len as usize).unwrap_or_default();
    // Open MPI counts the terminating NUL.
    String::from_utf8_lossy(told).trim_end_matches('\0').into()
}
