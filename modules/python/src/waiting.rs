//! Work that Python waits for: its other threads run meanwhile, and Ctrl-C ends the wait.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How often it is looked whether a signal has come.
const LOOK: Duration = Duration::from_millis(20);
/// How long work that is told to end is waited for; what does not listen goes on without us.
const END: Duration = Duration::from_secs(2);
/// The stack of the work: what a main thread has. Threads of Python may have been given a few pages.
const STACK: usize = 8 << 20;

/// What the work gives. Where a signal handler raises, the work goes on without us: it may wait for a pipe
/// that nobody ever writes.
pub(crate) fn waited<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    look_after(py, work, None::<fn()>)
}

/// The same of work that is not simply left: where a signal handler raises, `end` tells it, and it is waited
/// for a while.
pub(crate) fn ended<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    end: impl FnOnce(),
) -> PyResult<T> {
    look_after(py, work, Some(end))
}

fn look_after<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    end: Option<impl FnOnce()>,
) -> PyResult<T> {
    let (done, mut wait) = channel();
    let work = move || {
        // Whoever was ended does not listen any more.
        let _ = done.send(work());
    };
    let thread = thread::Builder::new().stack_size(STACK);
    let thread = thread.name("graphmap".to_owned()).spawn(work)?;
    loop {
        let result;
        (wait, result) = received(py, wait, LOOK);
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

/// Waits without the interpreter, so that its other threads run.
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
