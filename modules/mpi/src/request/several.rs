//! Waiting for several requests.

use std::future::poll_fn;
use std::marker::PhantomData;
use std::task::{Context, Poll};

use super::pending::MPI_Request;
use super::pending::{Pending, owned};
use super::{LocalScope, Request, Scope, yield_to_ranks};
use crate::CallError;
use crate::abi::MPI_Status;
use crate::fiber::wait;
use crate::raw::AsRaw;
use crate::status::Status;

/// Number and result of a request that is done.
type Completed = (usize, Result<MPI_Status, CallError>);

/// Polls the requests in order, and returns the first one that is done, with its number. If no
/// request is done, all of them are armed to wake the caller. Otherwise none of the requests before
/// it stays armed.
fn poll_any<'p>(
    requests: impl Iterator<Item = (usize, &'p Pending)> + Clone,
    context: &mut Context<'_>,
) -> Poll<Completed> {
    for (at, pending) in requests.clone() {
        if let Poll::Ready(done) = pending.poll(context) {
            // The requests before it were armed, and need not wake the caller any more.
            for (_, pending) in requests.take_while(|(other, _)| *other < at) {
                pending.disarm();
            }
            return Poll::Ready((at, done));
        }
    }
    Poll::Pending
}

/// Blocks until one of the requests is done, and removes the first one that is. Returns its former
/// index and the status of its message, or `None` if there are no requests.
///
/// # Panics
/// If the request has failed. It has been removed then, too. Also if the caller is not on the stack
/// of a rank.
#[track_caller]
pub fn wait_any<'a, D, S: Scope<'a>>(
    requests: &mut Vec<Request<'a, D, S>>,
) -> Option<(usize, Status)> {
    if requests.is_empty() {
        return None;
    }
    let handles: Vec<MPI_Request> = requests.iter().map(AsRaw::as_raw).collect();
    // SAFETY: the handles belong to the requests, which live until the wait has ended.
    let all = handles
        .iter()
        .map(|handle| unsafe { &*handle.0 })
        .enumerate();
    let (at, done) = wait(poll_fn(|context| poll_any(all.clone(), context)));
    let (request, _, _scope) = requests.remove(at).parts();
    // SAFETY: only the removed request had the handle.
    drop(unsafe { owned(request) });
    Some((at, Status::from_raw(crate::done(done))))
}

/// Requests that are waited for together. A request is identified by the number that
/// [`add`](Self::add) has returned.
#[derive(Debug)]
pub struct RequestCollection<'a, D: ?Sized> {
    /// Requests that are not complete, with their data. `None` for complete requests.
    requests: Vec<Option<(MPI_Request, *const D)>>,
    phantom: PhantomData<&'a D>,
}

impl<D: ?Sized> Drop for RequestCollection<'_, D> {
    fn drop(&mut self) {
        let incomplete = self.incomplete();
        for (request, _) in self.requests.drain(..).flatten() {
            // SAFETY: only the collection has the handle. Dropping the call cancels it.
            drop(unsafe { owned(request) });
        }
        if incomplete > 0 && !std::thread::panicking() {
            panic!("{incomplete} requests of a collection were dropped without being completed");
        }
    }
}

impl<'a, D: ?Sized> RequestCollection<'a, D> {
    pub(super) fn new(reserve: usize) -> Self {
        RequestCollection {
            requests: Vec::with_capacity(reserve),
            phantom: PhantomData,
        }
    }

    /// Returns the number of requests that are not complete.
    pub fn incomplete(&self) -> usize {
        self.requests.iter().flatten().count()
    }

    /// Adds a request, and returns its number: 0 for the first, and then ascending. The request
    /// leaves its scope, and must be completed by the collection.
    pub fn add<S: Scope<'a>>(&mut self, req: Request<'a, D, S>) -> usize {
        let (request, data, _scope) = req.parts();
        self.requests.push(Some((request, data)));
        self.requests.len() - 1
    }

    fn pending(&self) -> impl Iterator<Item = (usize, &Pending)> + Clone {
        let numbered = self.requests.iter().enumerate();
        numbered.filter_map(|(at, request)| {
            // SAFETY: the handle belongs to the collection as long as it is in it.
            request
                .as_ref()
                .map(|(request, _)| (at, unsafe { &*request.0 }))
        })
    }

    /// Removes a request that is done, and returns its number, its status and its data. It must
    /// still be in the collection.
    ///
    /// # Panics
    /// If the request has failed. It has been removed then, too.
    #[track_caller]
    fn take(&mut self, (at, done): Completed) -> (usize, Status, &'a D) {
        let (request, data) = self.requests[at]
            .take()
            .expect("a request that is not complete");
        // SAFETY: only the removed request had the handle.
        drop(unsafe { owned(request) });
        let status = Status::from_raw(crate::done(done));
        // SAFETY: the data are borrowed for `'a`, and the call that might write to them has ended.
        (at, status, unsafe { &*data })
    }

    /// Returns the results of all requests that are done, in the order of their numbers. Does not
    /// block. They must be removed by [`take`](Self::take), because their results are not returned
    /// again.
    fn completed(&self) -> Vec<Completed> {
        let try_status =
            |(at, pending): (usize, &Pending)| pending.try_status().map(|done| (at, done));
        self.pending().filter_map(try_status).collect()
    }

    /// Blocks until a request is done. Returns the number, the status and the data of the first one
    /// that is, or `None` if all requests are complete.
    ///
    /// # Panics
    /// If the request has failed, or if the caller is not on the stack of a rank. The request has
    /// been removed in the first case.
    #[track_caller]
    pub fn wait_any(&mut self) -> Option<(usize, Status, &'a D)> {
        self.pending().next()?;
        let found = wait(poll_fn(|context| poll_any(self.pending(), context)));
        Some(self.take(found))
    }

    /// Blocks until a request is done. Replaces the content of `result` by all requests that are
    /// done: their numbers, statuses and data. The first one found is the first item, and the
    /// numbers of the others ascend. If all requests are complete, `result` is empty and the call
    /// does not block.
    ///
    /// # Panics
    /// If a request that this call completes has failed, or if the caller is not on the stack of a
    /// rank.
    #[track_caller]
    pub fn wait_some(&mut self, result: &mut Vec<(usize, Status, &'a D)>) {
        result.clear();
        result.extend(self.wait_any());
        for found in self.completed() {
            result.push(self.take(found));
        }
    }

    /// Blocks until all requests are done, and replaces the content of `result` by them, in the
    /// order of their numbers. Requests that were complete before are not included.
    ///
    /// # Panics
    /// If a request that this call completes has failed, or if the caller is not on the stack of a
    /// rank.
    #[track_caller]
    pub fn wait_all(&mut self, result: &mut Vec<(usize, Status, &'a D)>) {
        result.clear();
        for at in 0..self.requests.len() {
            if let Some((request, _)) = &self.requests[at] {
                // SAFETY: the handle belongs to the collection.
                let pending = unsafe { &*request.0 };
                let done = wait(poll_fn(|context| pending.poll(context)));
                result.push(self.take((at, done)));
            }
        }
    }

    /// Returns the first request that is done: its number, its status and its data. If no request
    /// is done, or all are complete, lets all other ranks run once and returns `None`.
    ///
    /// # Panics
    /// If a request that this call completes has failed, or if the caller is not on the stack of a
    /// rank.
    #[track_caller]
    pub fn test_any(&mut self) -> Option<(usize, Status, &'a D)> {
        let try_status =
            |(at, pending): (usize, &Pending)| pending.try_status().map(|done| (at, done));
        let found = self.pending().find_map(try_status);
        match found {
            Some(found) => Some(self.take(found)),
            None => {
                yield_to_ranks();
                None
            }
        }
    }

    /// Replaces the content of `result` by all requests that are done, in the order of their
    /// numbers. If no request is done, clears `result` and lets all other ranks run once.
    ///
    /// # Panics
    /// If a request that this call completes has failed, or if the caller is not on the stack of a
    /// rank.
    #[track_caller]
    pub fn test_some(&mut self, result: &mut Vec<(usize, Status, &'a D)>) {
        result.clear();
        for found in self.completed() {
            result.push(self.take(found));
        }
        if result.is_empty() {
            yield_to_ranks();
        }
    }

    /// Replaces the content of `result` by all requests that were not complete before if all of
    /// them are done, and returns true. The numbers ascend. Otherwise clears `result`, lets all
    /// other ranks run once, and returns false. If all requests were complete before, `result` is
    /// empty and the call returns true.
    ///
    /// # Panics
    /// If a request that this call completes has failed, or if the caller is not on the stack of a
    /// rank.
    #[track_caller]
    pub fn test_all(&mut self, result: &mut Vec<(usize, Status, &'a D)>) -> bool {
        result.clear();
        if !self.pending().all(|(_, pending)| pending.is_done()) {
            yield_to_ranks();
            return false;
        }
        self.wait_all(result);
        true
    }
}

/// Calls `f` with a scope as [`scope`](super::scope), and with a collection of requests that can be
/// waited for together. `reserve` is the initial capacity of the collection.
///
/// # Panics
/// If a request of the scope or of the collection was not completed.
pub fn multiple_scope<'a, F, R, D>(reserve: usize, f: F) -> R
where
    D: 'a + ?Sized,
    F: FnOnce(&LocalScope<'a>, &mut RequestCollection<'a, D>) -> R,
{
    f(&LocalScope::new(), &mut RequestCollection::new(reserve))
}
