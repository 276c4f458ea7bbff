//! Waiting for several requests.
//!
//! Requests that are inactive are passed by, so the same ones can be asked for again and again until all have told
//! their outcomes. To look takes time linear in the number of requests.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::error::Error;
use super::request::Request;
use graphmap_executor::exec::introspection::yield_now;

/// What has come of a request.
type Outcome<R> = Result<<R as Request>::Outcome, Error>;

/// Waits until all are done: what has come of each, in their order. Of an inactive one that is
/// [`Error::Inactive`].
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
    // All are under way: to wait for one after the other takes no longer.
    for request in requests {
        outcomes.push(request.await);
    }
    outcomes
}

/// Waits until one is done: which, and what has come of it. The first of those that are; `None` if all are inactive.
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

/// Waits until one or several are done: which, and what has come of them. None if all are inactive.
pub async fn wait_some<R: Request>(requests: &mut [R]) -> Vec<(usize, Outcome<R>)> {
    let mut found: Vec<_> = wait_any(requests).await.into_iter().collect();
    take_done(requests, &mut found);
    found
}

/// What has come of all, if all are done. If not, none of that is told, and all others have a turn first.
pub async fn test_all<R: Request>(requests: &mut [R]) -> Option<Vec<(usize, Outcome<R>)>> {
    if !requests.iter().all(Request::is_done) {
        yield_now().await;
        return None;
    }
    let mut found = Vec::new();
    take_done(requests, &mut found);
    Some(found)
}

/// The first that is done, and what has come of it. If there is none, all others have a turn first.
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

/// Those that are done, and what has come of them. If there are none, all others have a turn first.
pub async fn test_some<R: Request>(requests: &mut [R]) -> Vec<(usize, Outcome<R>)> {
    let mut found = Vec::new();
    take_done(requests, &mut found);
    if found.is_empty() {
        yield_now().await;
    }
    found
}

/// Takes the outcomes of those that are done.
fn take_done<R: Request>(requests: &mut [R], found: &mut Vec<(usize, Outcome<R>)>) {
    // Nobody waits: who is done needs no waker.
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
