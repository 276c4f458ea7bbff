//! Waiting for several requests.

use std::future::poll_fn;
use std::marker::PhantomData;
use std::task::{Context, Poll};

use super::pending::MPI_Request;
use super::pending::{Pending, owned};
use super::{LocalScope, Request, Scope, give_way};
use crate::CallError;
use crate::abi::MPI_Status;
use crate::fiber::wait;
use crate::raw::AsRaw;
use crate::status::Status;

/// What has come of a request, and which it is.
type Found = (usize, Result<MPI_Status, CallError>);

/// The first of some requests that is done; if none is, all of them wake who polls.
fn poll_any<'p>(
    requests: impl Iterator<Item = (usize, &'p Pending)> + Clone,
    context: &mut Context<'_>,
) -> Poll<Found> {
    for (at, pending) in requests.clone() {
        if let Poll::Ready(done) = pending.poll(context) {
            // Those before have been asked, and nobody waits for them any more.
            for (_, pending) in requests.take_while(|(other, _)| *other < at) {
                pending.disarm();
            }
            return Poll::Ready((at, done));
        }
    }
    Poll::Pending
}

/// Waits until one of some requests is done, and takes it out of them: where it was, and of which message. `None`: there is none.
///
/// # Panics
/// If it has failed.
#[track_caller]
pub fn wait_any<'a, D, S: Scope<'a>>(
    requests: &mut Vec<Request<'a, D, S>>,
) -> Option<(usize, Status)> {
    if requests.is_empty() {
        return None;
    }
    let handles: Vec<MPI_Request> = requests.iter().map(AsRaw::as_raw).collect();
    // SAFETY: they are those of the requests.
    let all = handles
        .iter()
        .map(|handle| unsafe { &*handle.0 })
        .enumerate();
    let (at, done) = wait(poll_fn(|context| poll_any(all.clone(), context)));
    let (request, _, _scope) = requests.remove(at).parts();
    // SAFETY: nobody else has it.
    drop(unsafe { owned(request) });
    Some((at, Status::from_raw(crate::done(done))))
}

/// Requests that are waited for together. Each has the number with which [`add`](Self::add) has answered.
#[derive(Debug)]
pub struct RequestCollection<'a, D: ?Sized> {
    /// Those that are not complete, with their data.
    requests: Vec<Option<(MPI_Request, *const D)>>,
    phantom: PhantomData<&'a D>,
}

impl<D: ?Sized> Drop for RequestCollection<'_, D> {
    fn drop(&mut self) {
        let incomplete = self.incomplete();
        for (request, _) in self.requests.drain(..).flatten() {
            // SAFETY: nobody else has it; what was begun is cancelled by being dropped.
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

    /// How many are not complete.
    pub fn incomplete(&self) -> usize {
        self.requests.iter().flatten().count()
    }

    /// Adds a request: its number.
    pub fn add<S: Scope<'a>>(&mut self, req: Request<'a, D, S>) -> usize {
        let (request, data, _scope) = req.parts();
        self.requests.push(Some((request, data)));
        self.requests.len() - 1
    }

    fn pending(&self) -> impl Iterator<Item = (usize, &Pending)> + Clone {
        let numbered = self.requests.iter().enumerate();
        numbered.filter_map(|(at, request)| {
            // SAFETY: it is this collection's as long as it is in it.
            request
                .as_ref()
                .map(|(request, _)| (at, unsafe { &*request.0 }))
        })
    }

    /// Takes one out that is done.
    #[track_caller]
    fn take(&mut self, (at, done): Found) -> (usize, Status, &'a D) {
        let (request, data) = self.requests[at]
            .take()
            .expect("a request that is not complete");
        // SAFETY: nobody else has it.
        drop(unsafe { owned(request) });
        let status = Status::from_raw(crate::done(done));
        // SAFETY: they are borrowed as long as `'a`, and nobody writes to them any more.
        (at, status, unsafe { &*data })
    }

    /// Those that are done.
    fn found(&self) -> Vec<Found> {
        let look = |(at, pending): (usize, &Pending)| pending.look().map(|done| (at, done));
        self.pending().filter_map(look).collect()
    }

    /// Waits until one is done: its number, of which message, and its data. `None`: all are complete.
    ///
    /// # Panics
    /// If it has failed, as with all that follow.
    #[track_caller]
    pub fn wait_any(&mut self) -> Option<(usize, Status, &'a D)> {
        self.pending().next()?;
        let found = wait(poll_fn(|context| poll_any(self.pending(), context)));
        Some(self.take(found))
    }

    /// Waits until one at least is done, and gives all that are.
    #[track_caller]
    pub fn wait_some(&mut self, result: &mut Vec<(usize, Status, &'a D)>) {
        result.clear();
        result.extend(self.wait_any());
        for found in self.found() {
            result.push(self.take(found));
        }
    }

    /// Waits until all are done.
    #[track_caller]
    pub fn wait_all(&mut self, result: &mut Vec<(usize, Status, &'a D)>) {
        result.clear();
        for at in 0..self.requests.len() {
            if let Some((request, _)) = &self.requests[at] {
                // SAFETY: it is this collection's.
                let pending = unsafe { &*request.0 };
                let done = wait(poll_fn(|context| pending.poll(context)));
                result.push(self.take((at, done)));
            }
        }
    }

    /// One that is done. If there is none, all other ranks have a turn first.
    #[track_caller]
    pub fn test_any(&mut self) -> Option<(usize, Status, &'a D)> {
        let look = |(at, pending): (usize, &Pending)| pending.look().map(|done| (at, done));
        let found = self.pending().find_map(look);
        match found {
            Some(found) => Some(self.take(found)),
            None => {
                give_way();
                None
            }
        }
    }

    /// Those that are done. If there are none, all other ranks have a turn first.
    #[track_caller]
    pub fn test_some(&mut self, result: &mut Vec<(usize, Status, &'a D)>) {
        result.clear();
        for found in self.found() {
            result.push(self.take(found));
        }
        if result.is_empty() {
            give_way();
        }
    }

    /// All of them, if all are done, and whether they are. If they are not, all other ranks have a turn first.
    #[track_caller]
    pub fn test_all(&mut self, result: &mut Vec<(usize, Status, &'a D)>) -> bool {
        result.clear();
        if !self.pending().all(|(_, pending)| pending.is_done()) {
            give_way();
            return false;
        }
        self.wait_all(result);
        true
    }
}

/// As [`scope`](super::scope), with a collection of requests that can be waited for together, and has room for so many at first.
pub fn multiple_scope<'a, F, R, D>(reserve: usize, f: F) -> R
where
    D: 'a + ?Sized,
    F: FnOnce(&LocalScope<'a>, &mut RequestCollection<'a, D>) -> R,
{
    f(&LocalScope::new(), &mut RequestCollection::new(reserve))
}
