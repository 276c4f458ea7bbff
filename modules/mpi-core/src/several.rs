//! Functions that wait for several requests.
//!
//! Except [`wait_all`], these functions skip inactive requests. So the same requests can be passed
//! again until all outcomes have been returned. Each call takes time linear in the number of
//! requests.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::error::Error;
use super::request::Request;
use graphmap_executor::exec::introspection::yield_now;

/// Outcome of a request.
type Outcome<R> = Result<<R as Request>::Outcome, Error>;

/// Waits until all requests have completed (`MPI_Waitall`). Returns their outcomes in order. The
/// outcome of an inactive request is [`Error::Inactive`].
///
/// ```
/// use graphmap_runtime::{Local, Options, mpi};
/// async fn rank() -> Result<(), mpi::Error> {
///     let world = mpi::world()?;
///     let others = (0..world.size()).filter(|&other| other != world.rank());
///     let receives: Vec<_> = others.clone().map(|other| world.recv::<usize>(other, 0)).collect();
///     for other in others {
///         world.send(world.rank(), other, 0).await?;
///     }
///     for received in mpi::wait_all(receives).await {
///         let (rank, status) = received?;
///         assert_eq!(rank, status.source);
///     }
///     Ok(())
/// }
/// # let mut net = Local::new();
/// # (0..5).for_each(|_| drop(net.spawn(rank())));
/// # net.run(&Options::new()).unwrap();
/// ```
pub async fn wait_all<R: Request>(requests: impl IntoIterator<Item = R>) -> Vec<Outcome<R>> {
    let mut outcomes = Vec::new();
    // All requests have started, so waiting for one after the other takes no longer.
    for request in requests {
        outcomes.push(request.await);
    }
    outcomes
}

/// Waits until an active request has completed (`MPI_Waitany`). Returns the index and the outcome
/// of the completed active request with the lowest index. Returns `None` at once if all requests
/// are inactive.
pub async fn wait_any<R: Request>(requests: &mut [R]) -> Option<(usize, Outcome<R>)> {
    let found = poll_fn(|context| {
        let mut active = false;
        for (at, request) in requests.iter_mut().enumerate() {
            if request.is_active() {
                if let Poll::Ready(outcome) = Pin::new(request).poll(context) {
                    return Poll::Ready(Some((at, outcome)));
                }
                active = true;
            }
        }
        if active {
            Poll::Pending
        } else {
            Poll::Ready(None)
        }
    });
    let found = found.await;
    requests.iter_mut().for_each(Request::disarm);
    found
}

/// Waits until at least one active request has completed (`MPI_Waitsome`). Returns the indices and
/// outcomes of all active requests that have completed, in ascending order of indices. Returns an
/// empty vector at once if all requests are inactive.
pub async fn wait_some<R: Request>(requests: &mut [R]) -> Vec<(usize, Outcome<R>)> {
    let mut found: Vec<_> = wait_any(requests).await.into_iter().collect();
    take_done(requests, &mut found);
    found
}

/// Returns the indices and outcomes of all active requests if all of them have completed
/// (`MPI_Testall`). The indices ascend. If all requests are inactive, the result is an empty
/// vector. If a request has not completed, takes no outcome, yields once to all other processes and
/// returns `None`.
pub async fn test_all<R: Request>(requests: &mut [R]) -> Option<Vec<(usize, Outcome<R>)>> {
    if !requests.iter().all(Request::is_done) {
        yield_now().await;
        return None;
    }
    let mut found = Vec::new();
    take_done(requests, &mut found);
    Some(found)
}

/// Returns the index and the outcome of the completed active request with the lowest index
/// (`MPI_Testany`). If no active request has completed, or all requests are inactive, yields once
/// to all other processes and returns `None`.
pub async fn test_any<R: Request>(requests: &mut [R]) -> Option<(usize, Outcome<R>)> {
    let done = |request: &R| request.is_active() && request.is_done();
    match requests.iter().position(done) {
        Some(at) => {
            let outcome = (&mut requests[at]).await;
            Some((at, outcome))
        }
        None => {
            yield_now().await;
            None
        }
    }
}

/// Returns the indices and outcomes of all active requests that have completed, in ascending order
/// of indices (`MPI_Testsome`). If no active request has completed, or all requests are inactive,
/// yields once to all other processes and returns an empty vector.
pub async fn test_some<R: Request>(requests: &mut [R]) -> Vec<(usize, Outcome<R>)> {
    let mut found = Vec::new();
    take_done(requests, &mut found);
    if found.is_empty() {
        yield_now().await;
    }
    found
}

/// Takes the outcomes of the active requests that have completed, adds them to `found` with their
/// indices, and sorts `found` by index. Does not wait.
fn take_done<R: Request>(requests: &mut [R], found: &mut Vec<(usize, Outcome<R>)>) {
    // Completed requests do not wait, so they need no waker.
    let mut context = Context::from_waker(std::task::Waker::noop());
    for (at, request) in requests.iter_mut().enumerate() {
        if request.is_active()
            && request.is_done()
            && let Poll::Ready(outcome) = Pin::new(request).poll(&mut context)
        {
            found.push((at, outcome));
        }
    }
    found.sort_by_key(|found| found.0);
}
