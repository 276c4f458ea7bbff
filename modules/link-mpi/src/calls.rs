//! What ends a job of MPI, what it tells, and the calls of the system that go with that.
//!
//! Errors of MPI end the job: see [`failed`].

use std::ffi::c_void;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use graphmap_runtime::Exit;

use mpi_sys as ffi;

use crate::printed::{self, FORWARDING};

/// How long the launcher has to end this OS process when it is told to end all.
const HEARD: Duration = Duration::from_secs(1);

/// Ends all OS processes with a code.
pub(crate) fn end_job(comm: ffi::MPI_Comm, code: u8) {
    // `MPI_Abort` of MPICH tells the other OS processes first, at which they exit, and the launcher then. If it sees one go
    // before it is told, it takes that for the failure, kills all, and ends with the 9 of those killed in its code.
    if let Some(fd) = launcher() {
        tell_launcher(fd, &format!("cmd=abort exitcode={code}\n"));
        std::thread::sleep(HEARD);
    }
    // SAFETY: it takes numbers.
    unsafe { ffi::MPI_Abort(comm, i32::from(code)) };
}

/// The socket at which the launcher of MPICH speaks PMI 1, where the library is MPICH.
pub(crate) fn launcher() -> Option<i32> {
    let fd = std::env::var("PMI_FD").ok()?.parse().ok()?;
    library().starts_with("MPICH").then_some(fd)
}

/// The run is over, or is being ended.
static OVER: AtomicBool = AtomicBool::new(false);
/// MPI is being called: if it ends this OS process, it is because another is gone, and the launcher tells of that.
static INSIDE: AtomicBool = AtomicBool::new(false);

/// Calls MPI, where that may end this OS process.
pub(crate) fn inside(call: impl FnOnce() -> i32) {
    INSIDE.store(true, Ordering::Relaxed);
    let code = call();
    INSIDE.store(false, Ordering::Relaxed);
    if code != SUCCESS {
        failed(code);
    }
}

/// Of the standard of MPI: `MPI_SUCCESS`.
pub(crate) const SUCCESS: i32 = 0;

/// A call of MPI has failed. As a rule another OS process is gone: its launcher knows why, tells that, and ends this one; MPI would
/// tell no more than that it cannot be reached, with a code that says nothing.
#[cold]
fn failed(code: i32) -> ! {
    std::thread::sleep(HEARD);
    over();
    let why = text(ffi::MPI_MAX_ERROR_STRING as i32, |at, len| {
        // SAFETY: there is room for the longest text.
        unsafe { ffi::MPI_Error_string(code, at, len) }
    });
    let _ = writeln!(
        std::io::stderr(),
        "error: MPI failed on {}: {}",
        host(),
        why.split_whitespace().collect::<Vec<_>>().join(" ")
    );
    printed::wait_until_read(FORWARDING);
    // SAFETY: a constant; MPI has not been ended, as it was called.
    end_job(unsafe { ffi::RSMPI_COMM_WORLD }, Exit::Lost as u8);
    std::process::exit(Exit::Lost as i32)
}

unsafe extern "C" {
    fn atexit(f: extern "C" fn()) -> i32;
    fn write(fd: i32, bytes: *const c_void, len: usize) -> isize;
    fn read(fd: i32, bytes: *mut c_void, len: usize) -> isize;
    fn _exit(code: i32) -> !;
}

/// From here on this OS process ends because the run does, in whatever way.
pub(crate) fn over() {
    OVER.store(true, Ordering::SeqCst);
}

/// From here on who ends this OS process in the middle of a run (`std::process::exit`) ends the job, and says so:
/// launchers take the code 0 for a good end, and end the others without a word.
pub(crate) fn watch_exit() {
    // SAFETY: the function is there as long as the program, and does not unwind.
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
    // SAFETY: a constant; MPI has not been ended, as the run is not over.
    end_job(unsafe { ffi::RSMPI_COMM_WORLD }, Exit::Lost as u8);
}

/// Sends a line to the launcher over its socket.
fn tell_launcher(fd: i32, line: &str) {
    // SAFETY: the bytes are as many as is said.
    unsafe { write(fd, line.as_ptr().cast(), line.len()) };
}

/// Sends a line to the launcher over its socket, and waits for one.
pub(crate) fn ask_launcher(fd: i32, line: &str) {
    tell_launcher(fd, line);
    let mut answer = [0u8; 256];
    // SAFETY: the bytes are as many as is said.
    unsafe { read(fd, answer.as_mut_ptr().cast(), answer.len()) };
}

/// Ends this OS process without another word.
pub(crate) fn leave(code: u8) -> ! {
    // SAFETY: it takes a number.
    unsafe { _exit(i32::from(code)) }
}

/// The name and version of the MPI that this program is linked to, in one line.
pub(crate) fn library() -> String {
    // SAFETY: a constant.
    let room = unsafe { ffi::RSMPI_MAX_LIBRARY_VERSION_STRING };
    let told = text(room, |at, len| {
        // SAFETY: there is room for the longest text; this may be asked at any time.
        unsafe { ffi::MPI_Get_library_version(at, len) }
    });
    let line = told.lines().next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The name of this host.
pub(crate) fn host() -> String {
    let name = text(ffi::MPI_MAX_PROCESSOR_NAME as i32, |at, len| {
        // SAFETY: there is room for the longest name; MPI has been begun.
        unsafe { ffi::MPI_Get_processor_name(at, len) }
    });
    match name.is_empty() {
        true => "an unknown host".into(),
        false => name,
    }
}

/// A text that MPI writes, of so many bytes at most; an empty one where it cannot.
fn text(room: i32, write: impl FnOnce(*mut std::ffi::c_char, *mut i32) -> i32) -> String {
    let (mut bytes, mut len) = (vec![0_u8; room as usize], 0);
    if write(bytes.as_mut_ptr().cast(), &raw mut len) != SUCCESS {
        return String::new();
    }
    let told = bytes.get(..len as usize).unwrap_or_default();
    // Open MPI counts the NUL at the end.
    String::from_utf8_lossy(told).trim_end_matches('\0').into()
}
