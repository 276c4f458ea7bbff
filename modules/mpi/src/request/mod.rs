//! Requests: calls that have started, and that can be waited for, tested and cancelled.
//!
//! A [`Request`] borrows the buffer that it sends or receives. The scope of the request determines
//! how long: until the end of a [`scope`], or `'static` by [`StaticScope`]. The buffer is written
//! to only when the request is waited for or tested. Dropping a request is therefore sound. It ends
//! a receive, but a message that was sent is still delivered, and the other ranks of a collective
//! call still get its result. The drop nevertheless panics, because each request must be completed.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

mod guard;
mod loan;
mod pending;
mod scope;
mod several;

pub use guard::{CancelGuard, WaitGuard};
pub(crate) use loan::Loan;
pub(crate) use pending::{
    Collective, CollectiveCall, Done, Pending, Receive, Send, StartedCall, complete, owned,
    yield_to_ranks,
};
pub use pending::{MPI_Request, RSMPI_REQUEST_NULL};
pub use scope::{LocalScope, Scope, StaticScope, scope};
pub use several::{RequestCollection, multiple_scope, wait_any};

use crate::CallError;
use crate::fiber::wait;
use crate::raw::AsRaw;
use crate::status::Status;

/// A call that was started, and the buffer that it borrows.
#[must_use]
pub struct Request<'a, D: ?Sized, S: Scope<'a> = StaticScope> {
    request: MPI_Request,
    /// The data, which are borrowed for `'a`. A pointer, because another pointer may write to the
    /// data meanwhile.
    data: *const D,
    scope: S,
    phantom: PhantomData<(&'a D, Cell<&'a ()>)>,
}

impl<'a, D: fmt::Debug + ?Sized, S: Scope<'a>> fmt::Debug for Request<'a, D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The data are not printed, because the call may change them until it is complete.
        f.debug_struct("Request")
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}

// SAFETY: the handle is valid as long as the request lives.
unsafe impl<'a, D: ?Sized, S: Scope<'a>> AsRaw for Request<'a, D, S> {
    type Raw = MPI_Request;

    fn as_raw(&self) -> Self::Raw {
        self.request
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> Drop for Request<'a, D, S> {
    fn drop(&mut self) {
        // SAFETY: the request is registered, and ends here.
        unsafe { self.scope.unregister() };
        // SAFETY: only the request has the handle. Dropping the call cancels it.
        drop(unsafe { owned(self.request) });
        if !std::thread::panicking() {
            panic!("request was dropped without being completed");
        }
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> Request<'a, D, S> {
    /// Makes a request of a call that was started, and registers it and its loan with the scope.
    /// `data` is the buffer that the call borrows.
    ///
    /// # Safety
    /// `data` must be borrowed for `'a`, exclusively if the call writes to them.
    pub(crate) unsafe fn begin(started: impl StartedCall + 'a, data: *const D, scope: S) -> Self {
        let started: Box<dyn StartedCall + 'a> = Box::new(started);
        // SAFETY: the call is not used beyond `'a`, because the request ends before. A caller that
        // takes the handle out of the request must ensure the same.
        let started: Box<dyn StartedCall> = unsafe { std::mem::transmute(started) };
        // SAFETY: the handle is new, so no other request has it.
        unsafe { Self::made(Pending::handle(started), data, scope) }
    }

    /// Makes a request of its parts, and registers the request and its loan with the scope.
    ///
    /// # Safety
    /// As for [`from_raw`](Self::from_raw).
    unsafe fn made(request: MPI_Request, data: *const D, scope: S) -> Self {
        scope.register();
        // SAFETY: the handle belongs to this request from now on.
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

    /// Makes a request of its parts: a handle, the data that the call borrows, and a scope.
    ///
    /// # Safety
    /// The parts must come from [`into_raw`](Self::into_raw), with the same data.
    pub unsafe fn from_raw(request: MPI_Request, data: &'a D, scope: S) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::made(request, data, scope) }
    }

    /// Returns the parts, with the data as a pointer. Unregisters the request from its scope. The
    /// call continues, and the caller must end it.
    fn parts(self) -> (MPI_Request, *const D, S) {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither used again nor dropped. The request is registered with its
        // scope.
        unsafe {
            let scope = std::ptr::read(&this.scope);
            scope.unregister();
            (this.request, this.data, scope)
        }
    }

    /// Returns the parts: the handle, the data and the scope. Unregisters the request from its
    /// scope. Does not complete the call, which continues.
    ///
    /// # Safety
    /// The caller must make a request of the parts again before it uses the data.
    pub unsafe fn into_raw(self) -> (MPI_Request, &'a D, S) {
        let (request, data, scope) = self.parts();
        // SAFETY: the data are borrowed for `'a`.
        (request, unsafe { &*data }, scope)
    }

    /// Blocks until the call is done, and returns the status of its message. The status of a send,
    /// of a collective call and of a cancelled call is empty: source -2, tag -1, and no elements.
    ///
    /// # Panics
    /// If the call has failed: see [`try_wait`](Self::try_wait). All functions that wait also panic
    /// if the caller is not on the stack of a rank, is inside an operation of a reduction or the
    /// poll of a future, or would have to block while its stack is unwinding.
    #[track_caller]
    pub fn wait(self) -> Status {
        crate::done(self.try_wait())
    }

    /// Blocks as [`wait`](Self::wait), but returns errors.
    ///
    /// # Errors
    /// The errors of the call that was started, such as [`CallError::Truncated`], and
    /// [`CallError::Over`] if the run has ended.
    ///
    /// # Panics
    /// If the caller is not on the stack of a rank, or would have to block while its stack is
    /// unwinding.
    #[track_caller]
    pub fn try_wait(self) -> Result<Status, CallError> {
        self.finish().0
    }

    #[track_caller]
    fn finish(self) -> (Result<Status, CallError>, *const D) {
        let (request, data, _scope) = self.parts();
        // SAFETY: only the request has the handle.
        let pending = unsafe { owned(request) };
        let done = wait(std::future::poll_fn(|context| pending.poll(context)));
        (done.map(Status::from_raw), data)
    }

    /// Blocks until the call is done, and returns the data.
    ///
    /// # Panics
    /// If the call has failed, if the caller is not on the stack of a rank, or if the call would
    /// have to block while the stack is unwinding.
    #[track_caller]
    pub fn wait_for_data(self) -> &'a D {
        let (done, data) = self.finish();
        crate::done(done);
        // SAFETY: the data are borrowed for `'a`, and the call that might write to them has ended.
        unsafe { &*data }
    }

    /// Blocks until the call is done.
    ///
    /// # Panics
    /// If the call has failed, if the caller is not on the stack of a rank, or if the call would
    /// have to block while the stack is unwinding.
    #[track_caller]
    pub fn wait_without_status(self) {
        self.wait();
    }

    /// Returns the status of the message if the call is done. If the call is not done, lets all
    /// other ranks run once and returns the request.
    ///
    /// # Errors
    /// The request, if the call is not done.
    ///
    /// # Panics
    /// If the call has failed, or if the caller is not on the stack of a rank.
    #[track_caller]
    pub fn test(self) -> Result<Status, Self> {
        self.test_with_data().map(|(status, _)| status)
    }

    /// Tests as [`test`](Self::test), but also returns the data.
    ///
    /// # Errors
    /// The request, if the call is not done.
    ///
    /// # Panics
    /// If the call has failed, or if the caller is not on the stack of a rank.
    #[track_caller]
    pub fn test_with_data(self) -> Result<(Status, &'a D), Self> {
        // SAFETY: the handle belongs to this request.
        let found = unsafe { &*self.request.0 }.try_status();
        match found {
            None => {
                yield_to_ranks();
                Err(self)
            }
            Some(done) => {
                let (request, data, _scope) = self.parts();
                // SAFETY: only the request has the handle.
                drop(unsafe { owned(request) });
                let status = Status::from_raw(crate::done(done));
                // SAFETY: the data are borrowed for `'a`, and the call that might write to them has
                // ended.
                Ok((status, unsafe { &*data }))
            }
        }
    }

    /// Cancels the call if possible. A receive can be cancelled until it is completed. A send can
    /// be cancelled while it would block and its destination runs on the same thread. Otherwise its
    /// message is delivered. A send and a cancelled receive are then done with an empty status, and
    /// an error of the send is lost. This has no effect on collective calls. The request must still
    /// be completed.
    pub fn cancel(&self) {
        // SAFETY: the handle belongs to this request.
        unsafe { &*self.request.0 }.cancel();
    }

    /// Returns the same request in a shorter scope: unregisters it from its scope, and registers it
    /// with `scope`.
    pub fn shrink_scope_to<'b, S2>(self, scope: S2) -> Request<'b, D, S2>
    where
        'a: 'b,
        S2: Scope<'b>,
    {
        let (request, data, _scope) = self.parts();
        // SAFETY: the data are borrowed for `'b`, because `'a` outlives it.
        unsafe { Request::made(request, data, scope) }
    }
}
