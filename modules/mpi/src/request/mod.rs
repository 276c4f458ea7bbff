//! Requests: calls that were begun, and what waits for them.
//!
//! A [`Request`] borrows the buffer that it sends or receives, as long as its scope says: a [`scope`] of its own, or for ever by
//! [`StaticScope`]. Nothing is written into a buffer but when its request is waited for or tested, so one that is let go of cannot do
//! harm: it is cancelled. All the same, a request that is dropped without having been completed is a mistake, and a panic.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

mod guard;
mod lent;
mod pending;
mod scope;
mod several;

pub use guard::{CancelGuard, WaitGuard};
pub(crate) use lent::Lent;
pub(crate) use pending::{
    Begun, Called, Collective, Done, Pending, Receive, Send, complete, give_way, owned,
};
pub use pending::{MPI_Request, RSMPI_REQUEST_NULL};
pub use scope::{LocalScope, Scope, StaticScope, scope};
pub use several::{RequestCollection, multiple_scope, wait_any};

use crate::CallError;
use crate::fiber::wait;
use crate::raw::AsRaw;
use crate::status::Status;

/// A call that was begun, and the buffer that it borrows.
#[must_use]
pub struct Request<'a, D: ?Sized, S: Scope<'a> = StaticScope> {
    request: MPI_Request,
    /// What is borrowed as long as `'a`: a pointer, as it may be written to by another one meanwhile.
    data: *const D,
    scope: S,
    phantom: PhantomData<(&'a D, Cell<&'a ()>)>,
}

impl<'a, D: fmt::Debug + ?Sized, S: Scope<'a>> fmt::Debug for Request<'a, D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its data may change when it is completed, so they are not looked at before.
        f.debug_struct("Request")
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}

// SAFETY: the handle is valid as long as this is.
unsafe impl<'a, D: ?Sized, S: Scope<'a>> AsRaw for Request<'a, D, S> {
    type Raw = MPI_Request;

    fn as_raw(&self) -> Self::Raw {
        self.request
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> Drop for Request<'a, D, S> {
    fn drop(&mut self) {
        // SAFETY: it is registered, and this is its end.
        unsafe { self.scope.unregister() };
        // SAFETY: nobody else has it; what was begun is cancelled by being dropped.
        drop(unsafe { owned(self.request) });
        if !std::thread::panicking() {
            panic!("request was dropped without being completed");
        }
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> Request<'a, D, S> {
    /// A call that was begun, with what it borrows.
    ///
    /// # Safety
    /// The data have to be borrowed as long as `'a`, by nobody else if the call writes to them.
    pub(crate) unsafe fn begin(begun: impl Begun + 'a, data: *const D, scope: S) -> Self {
        let begun: Box<dyn Begun + 'a> = Box::new(begun);
        // SAFETY: it is used no longer than `'a`: this value ends before, and who takes the handle out of it has to see to that.
        let begun: Box<dyn Begun> = unsafe { std::mem::transmute(begun) };
        // SAFETY: the handle is new.
        unsafe { Self::made(Pending::handle(begun), data, scope) }
    }

    /// # Safety
    /// As [`from_raw`](Self::from_raw).
    unsafe fn made(request: MPI_Request, data: *const D, scope: S) -> Self {
        scope.register();
        // SAFETY: it is this value's from now on.
        if let Some(lent) = unsafe { &*request.0 }.lent() {
            scope.lends(lent);
        }
        Request {
            request,
            data,
            scope,
            phantom: PhantomData,
        }
    }

    /// A request of its parts.
    ///
    /// # Safety
    /// They have to come from [`into_raw`](Self::into_raw), with the same data.
    pub unsafe fn from_raw(request: MPI_Request, data: &'a D, scope: S) -> Self {
        // SAFETY: as the caller says.
        unsafe { Self::made(request, data, scope) }
    }

    /// Its parts, the pointer to the data as such.
    fn parts(self) -> (MPI_Request, *const D, S) {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again, nor dropped; and its scope knows of it.
        unsafe {
            let scope = std::ptr::read(&this.scope);
            scope.unregister();
            (this.request, this.data, scope)
        }
    }

    /// Its parts.
    ///
    /// # Safety
    /// Whoever has them has to make a request of them again, before the data are used.
    pub unsafe fn into_raw(self) -> (MPI_Request, &'a D, S) {
        let (request, data, scope) = self.parts();
        // SAFETY: they are borrowed as long as `'a`.
        (request, unsafe { &*data }, scope)
    }

    /// Waits until it is done, and says of which message.
    ///
    /// # Panics
    /// If it has failed: see [`try_wait`](Self::try_wait).
    #[track_caller]
    pub fn wait(self) -> Status {
        crate::done(self.try_wait())
    }

    /// As [`wait`](Self::wait), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Truncated`] and others, as of the call that was begun.
    #[track_caller]
    pub fn try_wait(self) -> Result<Status, CallError> {
        self.finish().0
    }

    #[track_caller]
    fn finish(self) -> (Result<Status, CallError>, *const D) {
        let (request, data, _scope) = self.parts();
        // SAFETY: nobody else has it.
        let pending = unsafe { owned(request) };
        let done = wait(std::future::poll_fn(|context| pending.poll(context)));
        (done.map(Status::from_raw), data)
    }

    /// As [`wait`](Self::wait), and gives the data back.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn wait_for_data(self) -> &'a D {
        let (done, data) = self.finish();
        crate::done(done);
        // SAFETY: they are borrowed as long as `'a`, and nobody writes to them any more.
        unsafe { &*data }
    }

    /// As [`wait`](Self::wait).
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn wait_without_status(self) {
        self.wait();
    }

    /// What has come of it, if it is done; if it is not, all others have a turn first.
    ///
    /// # Errors
    /// The request, if it is not done.
    ///
    /// # Panics
    /// If it has failed.
    #[track_caller]
    pub fn test(self) -> Result<Status, Self> {
        self.test_with_data().map(|(status, _)| status)
    }

    /// As [`test`](Self::test), and gives the data back.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn test_with_data(self) -> Result<(Status, &'a D), Self> {
        // SAFETY: it is this value's.
        let found = unsafe { &*self.request.0 }.look();
        match found {
            None => {
                give_way();
                Err(self)
            }
            Some(done) => {
                let (request, data, _scope) = self.parts();
                // SAFETY: nobody else has it.
                drop(unsafe { owned(request) });
                let status = Status::from_raw(crate::done(done));
                // SAFETY: they are borrowed as long as `'a`, and nobody writes to them any more.
                Ok((status, unsafe { &*data }))
            }
        }
    }

    /// Takes it back, if it can be: a message that nobody has received yet, a receive that nobody has waited for. It has to be waited
    /// for all the same.
    pub fn cancel(&self) {
        // SAFETY: it is this value's.
        unsafe { &*self.request.0 }.cancel();
    }

    /// The same request for a shorter time.
    pub fn shrink_scope_to<'b, S2>(self, scope: S2) -> Request<'b, D, S2>
    where
        'a: 'b,
        S2: Scope<'b>,
    {
        let (request, data, _scope) = self.parts();
        // SAFETY: the data are borrowed as long as `'b`.
        unsafe { Request::made(request, data, scope) }
    }
}
