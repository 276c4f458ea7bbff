//! Runs work while Python waits: other Python threads run, and Ctrl-C ends the wait.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval between checks for signals.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum time to wait for work that was asked to end. After that, the work is abandoned.
const END: Duration = Duration::from_secs(2);
/// Stack size of the thread that does the work: as large as for a main thread. Threads of Python
/// may have much smaller stacks.
const STACK: usize = 8 << 20;

/// Runs `work` in another thread, and blocks until its result is available. Other Python threads
/// run meanwhile. If a signal handler raises an exception, abandons the work, which then continues
/// in its thread, because the work may block forever on a pipe without a writer.
///
/// # Errors
/// The exception of the signal handler, or `OSError` if no thread can be started.
///
/// # Panics
/// With the panic of `work`.
pub(crate) fn run_detached<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    run(py, work, None::<fn()>)
}

/// Runs `work` in another thread, and blocks until its result is available. Other Python threads
/// run meanwhile. If a signal handler raises an exception, calls `end`, which should make the work
/// end, and waits for the work, but at most for [`END`]. The result of the work is then lost.
///
/// # Errors
/// The exception of the signal handler, or `OSError` if no thread can be started.
///
/// # Panics
/// With the panic of `work`, unless a signal handler has raised an exception before.
pub(crate) fn run_until_signal<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    end: impl FnOnce(),
) -> PyResult<T> {
    run(py, work, Some(end))
}

fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    end: Option<impl FnOnce()>,
) -> PyResult<T> {
    let (done, mut wait) = channel();
    let work = move || {
        // After a signal, there may be no receiver.
        let _ = done.send(work());
    };
    let thread = thread::Builder::new().stack_size(STACK);
    let thread = thread.name("graphmap".to_owned()).spawn(work)?;
    loop {
        let result;
        (wait, result) = received(py, wait, CHECK_INTERVAL);
        match result {
            Ok(given) => return Ok(given),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(signal) = py.check_signals() {
                    if let Some(end) = end {
                        end();
                        let _ = received(py, wait, END);
                    }
                    return Err(signal);
                }
            }
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => return Err(PyRuntimeError::new_err("the task returned no result")),
            },
        }
    }
}

/// Waits for a result, at most for `time`, without the interpreter attached, so that other Python
/// threads run. Returns the receiver again, and the result. Instead of a result, there is an error
/// after `time`, or if the sender was dropped.
fn received<T: Send>(
    py: Python<'_>,
    wait: Receiver<T>,
    time: Duration,
) -> (Receiver<T>, Result<T, RecvTimeoutError>) {
    py.detach(move || {
        let result = wait.recv_timeout(time);
        (wait, result)
    })
}
