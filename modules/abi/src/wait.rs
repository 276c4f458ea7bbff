//! Waits of ranks, while other ranks of the thread run.

use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use graphmap_runtime::mpi::Request;

use crate::singleton;

/// Blocks the calling rank until the future is ready. If the run ends meanwhile, unwinds to the
/// function that the program called.
///
/// # Panics
/// With [`CannotWait`], if the rank may not wait here.
#[inline]
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    if singleton::is_current() {
        return singleton::wait(future);
    }
    let waited = graphmap_fiber::try_wait(future);
    waited.unwrap_or_else(|_| resume_unwind(Box::new(CannotWait)))
}

/// Payload of the panic of a rank that cannot wait, because it is in a function that MPI has
/// called, such as an operation.
pub(crate) struct CannotWait;

/// Polls a future once, without a waker. Use it only for futures that are known to be ready.
#[inline]
pub(crate) fn poll_ready<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Waits for a request. One that is done already needs no wait.
#[inline(always)]
pub(crate) fn wait_for<R: Request + Unpin>(mut request: R) -> R::Output {
    if request.is_done()
        && let Poll::Ready(output) = poll_ready(&mut request)
    {
        return output;
    }
    let mut output = None;
    // The wait has no output, because outputs are large, and are copied several times.
    wait(poll_fn(|context| {
        let polled = Pin::new(&mut request).poll(context);
        polled.map(|ready| output = Some(ready))
    }));
    output.unwrap_or_else(|| unreachable!())
}

/// Lets the other ranks of the thread run once.
pub(crate) fn yield_now() {
    wait(graphmap_runtime::yield_now());
}
