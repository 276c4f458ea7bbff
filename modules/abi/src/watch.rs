//! Report of a rank that computes for long without a call of MPI, and holds its OS thread
//! meanwhile, so that no other rank of the thread runs.
//!
//! A thread of its own checks the threads of the ranks each second. The address of the instruction
//! comes from `/proc` if the thread waits in a system call. Otherwise a signal asks for it, which
//! cannot interrupt a system call then.

use std::cell::OnceCell;
use std::ffi::{c_int, c_void};
use std::fs;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::crash;

/// Time after which a rank is reported.
const LIMIT: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_secs(1);

/// Signal that asks a thread for its address. Its default action is to ignore it.
const ASK: c_int = libc::SIGURG;

const NO_RANK: usize = usize::MAX;

/// State of a thread of ranks.
struct Watched {
    thread: libc::pid_t,
    pthread: libc::pthread_t,
    /// The rank that runs, or [`NO_RANK`].
    rank: AtomicUsize,
    /// Number of calls and switches of ranks.
    progress: AtomicU64,
}

static THREADS: Mutex<Vec<Arc<Watched>>> = Mutex::new(Vec::new());

thread_local! {
    static WATCHED: OnceCell<Arc<Watched>> = const { OnceCell::new() };
}

fn register() -> Arc<Watched> {
    // SAFETY: these functions have no preconditions.
    let (thread, pthread) = unsafe { (libc::gettid(), libc::pthread_self()) };
    let watched = Arc::new(Watched {
        thread,
        pthread,
        rank: AtomicUsize::new(NO_RANK),
        progress: AtomicU64::new(0),
    });
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.push(Arc::clone(&watched));
    watched
}

/// Records that a rank, or none, runs on this thread from now on.
#[inline]
pub(crate) fn set_running(rank: Option<usize>) {
    WATCHED.with(|watched| {
        let watched = watched.get_or_init(register);
        watched
            .rank
            .store(rank.unwrap_or(NO_RANK), Ordering::Relaxed);
        // Only this thread writes.
        let progress = watched.progress.load(Ordering::Relaxed);
        watched.progress.store(progress + 1, Ordering::Relaxed);
    });
}

/// Records that the rank of this thread calls MPI.
#[inline]
pub(crate) fn progress() {
    WATCHED.with(|watched| {
        if let Some(watched) = watched.get() {
            let progress = watched.progress.load(Ordering::Relaxed);
            watched.progress.store(progress + 1, Ordering::Relaxed);
        }
    });
}

/// Starts the thread that checks. It runs until the OS process ends.
pub(crate) fn start() -> std::io::Result<()> {
    // SAFETY: the struct consists of numbers and null pointers.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = answer as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: `answer` has the type that `SA_SIGINFO` requires, and is safe in a handler.
    if unsafe { libc::sigaction(ASK, &action, ptr::null_mut()) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    thread::Builder::new()
        .name("watch".to_string())
        .spawn(check)?;
    Ok(())
}

fn check() {
    /// What the last check has found, and when it was first found.
    struct Seen {
        progress: u64,
        since: Instant,
        reported: bool,
    }
    let mut seen: Vec<Seen> = Vec::new();
    loop {
        thread::sleep(INTERVAL);
        let threads = THREADS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for (index, watched) in threads.iter().enumerate() {
            let progress = watched.progress.load(Ordering::Relaxed);
            let new = Seen {
                progress,
                since: Instant::now(),
                reported: false,
            };
            if index == seen.len() {
                seen.push(new);
                continue;
            }
            let last = &mut seen[index];
            let rank = watched.rank.load(Ordering::Relaxed);
            if last.progress != progress || rank == NO_RANK {
                *last = new;
            } else if last.since.elapsed() >= LIMIT && !last.reported {
                last.reported = true;
                report(watched, rank);
            }
        }
    }
}

/// Reports a rank that holds its thread.
fn report(watched: &Watched, rank: usize) {
    let file = format!("/proc/self/task/{}/syscall", watched.thread);
    let state = fs::read_to_string(file).unwrap_or_default();
    let address = state.split_whitespace().last().unwrap_or_default();
    match usize::from_str_radix(address.trim_start_matches("0x"), 16) {
        Ok(address) => eprintln!(
            "warning: rank {rank} has waited in a system call for {} s without a call of MPI, and \
             no other rank of its thread can run (at {address:#x})",
            LIMIT.as_secs()
        ),
        // The thread computes. It still exists, because a rank runs on it.
        // SAFETY: the thread runs.
        Err(_) => unsafe {
            libc::pthread_kill(watched.pthread, ASK);
        },
    }
}

/// Handler of [`ASK`]: writes the address that was interrupted.
extern "C" fn answer(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid context.
    let address = unsafe { crash::instruction(context) };
    crash::write_report(
        address,
        format_args!("has computed for 10 s without a call of MPI"),
        true,
    );
}
