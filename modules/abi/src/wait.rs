//! Waits of ranks, while other ranks of the thread run.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::singleton;

/// Blocks the calling rank until the future is ready. If the run ends meanwhile, unwinds to the
/// function that the program called.
///
/// # Panics
/// If the rank may not wait here, for example in an operation that another rank has called.
#[inline]
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    match singleton::is_current() {
        false => graphmap_fiber::wait(future),
        true => singleton::wait(future),
    }
}

/// Polls a future once, without a waker. Use it only for futures that are known to be ready.
pub(crate) fn poll_ready<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Lets the other ranks of the thread run once.
pub(crate) fn yield_now() {
    wait(graphmap_runtime::yield_now());
}
