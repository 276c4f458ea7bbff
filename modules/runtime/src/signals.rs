//! Signals that a program handles. `SIGUSR1` requests the state of the run. `SIGXFSZ` is ignored,
//! because a write beyond `ulimit -f` then returns an error.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use graphmap_executor::link::shm::memory;
use graphmap_executor::os_signal;

/// Counts the requests to a program that is one OS process.
static OWN: AtomicU32 = AtomicU32::new(0);

/// The counter that the handler increments. It is null or valid until the program ends.
static QUESTIONS: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// How often a run is checked for processes that do not let others run.
const CHECK: Duration = Duration::from_secs(2);

/// Increments the counter of requests and wakes the threads that wait for it. Has no effect before
/// [`handle`] or [`listen`] is called. Async-signal-safe.
extern "C" fn count(_signal: c_int) {
    // SAFETY: the pointer is null, or points to a counter that lives until the program ends,
    // because `handle` and `listen` store `'static` references.
    if let Some(questions) = unsafe { QUESTIONS.load(Ordering::SeqCst).as_ref() } {
        questions.fetch_add(1, Ordering::SeqCst);
        memory::wake(questions);
    }
}

/// Does nothing. Unlike `SIG_IGN`, a handler is not inherited by programs that a process starts.
extern "C" fn ignore(_signal: c_int) {}

/// Installs the handlers of `SIGXFSZ` and `SIGUSR1`, each unless the signal is ignored or has a
/// handler.
pub(crate) fn handle() {
    handle_by(libc::SIGXFSZ, ignore);
    QUESTIONS.store(ptr::from_ref(&OWN).cast_mut(), Ordering::SeqCst);
    handle_by(libc::SIGUSR1, count);
}

fn handle_by(signal: c_int, handler: extern "C" fn(c_int)) {
    if os_signal::handler(signal) == Some(libc::SIG_DFL) {
        // SAFETY: both handlers are async-signal-safe.
        unsafe { libc::signal(signal, handler as *const () as usize) };
    }
}

/// Spawns a thread that calls `report` after each request, and `check` after each request and at
/// least every two seconds. The thread runs until the program ends. Requests in quick succession
/// may get only one report.
///
/// `shared` counts the requests to all OS processes that share memory, so each of them answers.
/// Without `shared`, only the requests to this OS process count. If the thread cannot be spawned,
/// no request is answered.
pub(crate) fn listen(
    shared: Option<&'static AtomicU32>,
    report: impl Fn() + Send + 'static,
    check: impl Fn() + Send + 'static,
) {
    let questions = shared.unwrap_or(&OWN);
    QUESTIONS.store(ptr::from_ref(questions).cast_mut(), Ordering::SeqCst);
    let listen = move || {
        let mut seen = 0;
        loop {
            memory::wait(questions, seen, Some(CHECK));
            let now = questions.load(Ordering::SeqCst);
            if now != seen {
                seen = now;
                report();
            }
            check();
        }
    };
    let builder = thread::Builder::new().name("state".into());
    // If the thread cannot be spawned, the run continues and answers no requests.
    drop(builder.stack_size(256 << 10).spawn(listen));
}
