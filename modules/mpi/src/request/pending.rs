//! Calls that were started and may not be done yet. The handle of a request points to one.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use graphmap_runtime::mpi as core;
use graphmap_runtime::mpi::Request as _;

use super::loan::Loan;
use crate::abi::MPI_Status;
use crate::buffer_range::{BufferRange, empty_status, status};
use crate::fiber::{poll_once, wait};
use crate::shared::Messages;

/// A call that was started. Buffers it borrows are written to only when it is polled, except as
/// [`Receive::into_buffer`] describes.
pub(crate) trait StartedCall {
    /// Polls the call for its status, or for its error. After the status or an error was returned,
    /// or the call was cancelled, it must not be polled again. The result is then usually
    /// `Error::Inactive`, but a collective call on an intercommunicator panics.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>>;

    /// Returns true if the call is known to be done, so that a poll returns its status. The default
    /// is false.
    fn is_done(&self) -> bool {
        false
    }

    /// Returns the operation that the call has lent to other ranks, if any.
    fn lent(&self) -> Option<Loan> {
        None
    }

    /// Disarms the wait that the last poll has registered. The default has no effect.
    fn disarm(&mut self) {}

    /// Cancels the call if possible. Returns true if the call is done afterwards. The default has
    /// no effect and returns false.
    fn cancel(&mut self) -> bool {
        false
    }
}

/// A send that was started.
pub(crate) struct Send(Option<core::Sending>);

impl Send {
    pub(crate) fn new(sending: core::Sending) -> Self {
        Send(Some(sending))
    }
}

impl StartedCall for Send {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        match &mut self.0 {
            Some(sending) => Pin::new(sending).poll(context).map_ok(|()| empty_status()),
            None => Poll::Ready(Err(core::Error::Inactive)),
        }
    }

    fn is_done(&self) -> bool {
        self.0.as_ref().is_none_or(core::Request::is_done)
    }

    fn disarm(&mut self) {
        if let Some(sending) = &mut self.0 {
            sending.disarm();
        }
    }

    fn cancel(&mut self) -> bool {
        // A send that cannot be cancelled any more is delivered without a request.
        self.0.take().map(core::Request::cancel);
        true
    }
}

/// A receive into a buffer.
pub(crate) struct Receive {
    receiving: Option<core::Receiving<core::Packed>>,
    range: BufferRange,
    /// Rank in the carrying communicator that is rank 0 for the program.
    offset: usize,
}

impl Receive {
    /// Wraps a receive, whose elements are unpacked when it is polled.
    ///
    /// # Safety
    /// The buffer must be borrowed as long as the receive may be polled.
    pub(crate) unsafe fn new(
        receiving: core::Receiving<core::Packed>,
        range: BufferRange,
        offset: usize,
    ) -> Self {
        Receive {
            receiving: Some(receiving),
            range,
            offset,
        }
    }

    /// Begins a receive whose sender may write the elements directly into the buffer.
    ///
    /// # Safety
    /// The buffer must be borrowed until the receive is complete or dropped. To forget the receive
    /// does not end the borrow.
    #[track_caller]
    #[inline]
    pub(crate) unsafe fn into_buffer(
        by: Messages<'_>,
        source: core::Source,
        tag: core::TagOf,
        range: BufferRange,
    ) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let receiving = match range.receive_buffer() {
                Some((to, room)) => by.communicator.recv_packed_at(to, room, source, tag),
                None => by.communicator.recv(source, tag),
            };
            Receive::new(receiving, range, by.offset)
        }
    }
}

impl StartedCall for Receive {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        let Some(receiving) = &mut self.receiving else {
            return Poll::Ready(Err(core::Error::Inactive));
        };
        Pin::new(receiving).poll(context).map(|received| {
            let (bytes, core_status) = received?;
            // Empty bytes mean that the message is empty, or that the sender has written the
            // elements.
            if !bytes.is_empty() {
                // SAFETY: the code that made the receive guarantees that the buffer is still
                // borrowed.
                unsafe { self.range.fill(&bytes) }?;
            }
            Ok(status(core_status, self.offset))
        })
    }

    fn is_done(&self) -> bool {
        self.receiving.as_ref().is_none_or(core::Request::is_done)
    }

    fn disarm(&mut self) {
        if let Some(receiving) = &mut self.receiving {
            receiving.disarm();
        }
    }

    fn cancel(&mut self) -> bool {
        self.receiving.take().is_some_and(core::Request::cancel)
    }
}

/// A collective call of one group or of two.
pub(crate) enum CollectiveCall<R> {
    One(core::Collective<R>),
    Two(Pin<Box<dyn Future<Output = Result<R, core::Error>>>>),
}

impl<R> CollectiveCall<R> {
    pub(crate) fn two(call: impl Future<Output = Result<R, core::Error>> + 'static) -> Self {
        CollectiveCall::Two(Box::pin(call))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<R, core::Error>> {
        match self {
            CollectiveCall::One(call) => Pin::new(call).poll(context),
            CollectiveCall::Two(call) => call.as_mut().poll(context),
        }
    }
}

/// A collective call that was started, and the closure that stores its result.
pub(crate) struct Collective<R, F> {
    call: CollectiveCall<R>,
    finish: Option<F>,
    lent: Option<Loan>,
}

impl<R, F: FnOnce(R) -> Result<(), core::Error>> Collective<R, F> {
    pub(crate) fn new(call: CollectiveCall<R>, finish: F) -> Self {
        Collective {
            call,
            finish: Some(finish),
            lent: None,
        }
    }

    /// Records the loan of the operation that the call has lent to other ranks, and returns the
    /// call.
    pub(crate) fn lending(mut self, lent: Loan) -> Self {
        self.lent = Some(lent);
        self
    }
}

impl<R, F: FnOnce(R) -> Result<(), core::Error>> StartedCall for Collective<R, F> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        self.call.poll(context).map(|result| {
            let finish = self.finish.take().ok_or(core::Error::Inactive)?;
            finish(result?)?;
            Ok(empty_status())
        })
    }

    fn lent(&self) -> Option<Loan> {
        self.lent.clone()
    }
}

/// A call that was started, or the error that prevented it.
impl<B: StartedCall> StartedCall for Result<B, core::Error> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        match self {
            Ok(started) => started.poll(context),
            Err(error) => Poll::Ready(Err(error.clone())),
        }
    }

    fn lent(&self) -> Option<Loan> {
        self.as_ref().ok()?.lent()
    }
}

/// A call that is done already. `None` if its status was returned.
pub(crate) struct Done(pub(crate) Option<Result<MPI_Status, core::Error>>);

impl StartedCall for Done {
    fn poll(&mut self, _context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        Poll::Ready(self.0.take().unwrap_or(Err(core::Error::Inactive)))
    }
}

/// Blocks until the call is done, and returns its status.
///
/// # Errors
/// The errors of the call.
///
/// # Panics
/// As [`wait`], unless the call is known to be done.
#[track_caller]
pub(crate) fn complete(mut started: impl StartedCall) -> Result<MPI_Status, core::Error> {
    if started.is_done()
        && let Poll::Ready(done) = started.poll(&mut Context::from_waker(Waker::noop()))
    {
        return done;
    }
    wait(poll_fn(|context| started.poll(context)))
}

/// Handle of a request.
#[allow(non_camel_case_types)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MPI_Request(pub(crate) *mut Pending);

/// Null handle, as of a request that was completed.
pub const RSMPI_REQUEST_NULL: MPI_Request = MPI_Request(std::ptr::null_mut());

/// The call that the handle of a request points to.
pub(crate) struct Pending(RefCell<State>);

enum State {
    Active(Box<dyn StartedCall>),
    /// The call is done, and its status was not returned yet.
    Done(Result<MPI_Status, core::Error>),
}

impl Pending {
    /// Allocates a handle of a call. The caller must free it by [`owned`].
    pub(crate) fn handle(started: Box<dyn StartedCall>) -> MPI_Request {
        let pending = Box::new(Pending(RefCell::new(State::Active(started))));
        MPI_Request(Box::into_raw(pending))
    }

    /// Polls the call for its status, or for its error. A status that [`is_done`](Self::is_done) or
    /// [`cancel`](Self::cancel) has stored is returned at once, and stays stored.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        match &mut *self.0.borrow_mut() {
            State::Active(started) => started.poll(context),
            State::Done(done) => Poll::Ready(done.clone()),
        }
    }

    /// Returns the operation that the call has lent to other ranks, if any. Returns `None` if a
    /// status is stored already.
    pub(super) fn lent(&self) -> Option<Loan> {
        match &*self.0.borrow() {
            State::Active(started) => started.lent(),
            State::Done(_) => None,
        }
    }

    /// Disarms the wait that the last poll has registered.
    pub(crate) fn disarm(&self) {
        if let State::Active(started) = &mut *self.0.borrow_mut() {
            started.disarm();
        }
    }

    /// Cancels the call if possible, and then stores an empty status for the next poll. No effect
    /// if a status is stored already.
    pub(crate) fn cancel(&self) {
        let mut state = self.0.borrow_mut();
        if let State::Active(started) = &mut *state
            && started.cancel()
        {
            *state = State::Done(Ok(empty_status()));
        }
    }

    /// Returns true if the call is done. Polls it once, and then stores its status or error for the
    /// next poll. Panics as [`try_status`](Self::try_status).
    pub(crate) fn is_done(&self) -> bool {
        match self.try_status() {
            Some(done) => {
                *self.0.borrow_mut() = State::Done(done);
                true
            }
            None => false,
        }
    }

    /// Polls the call once. Returns its status or error, or `None` if it is not done. Does not
    /// block, and leaves no wait registered. The caller must keep the result, because the call must
    /// not be polled again.
    ///
    /// # Panics
    /// As [`poll_once`].
    pub(crate) fn try_status(&self) -> Option<Result<MPI_Status, core::Error>> {
        let polled = poll_once(pin!(poll_fn(|context| match self.poll(context) {
            Poll::Pending => {
                self.disarm();
                Poll::Ready(None)
            }
            Poll::Ready(done) => Poll::Ready(Some(done)),
        })));
        match polled {
            Poll::Ready(found) => found,
            Poll::Pending => None,
        }
    }
}

/// Takes ownership of the call behind a handle.
///
/// # Safety
/// The handle must come from [`Pending::handle`], and must not be used again.
pub(crate) unsafe fn owned(request: MPI_Request) -> Box<Pending> {
    // SAFETY: the pointer comes from `Box::into_raw`, and the caller gives up the handle.
    unsafe { Box::from_raw(request.0) }
}

/// Lets all other ranks of the thread run once. No effect while the stack is unwound. Panics as
/// [`wait`].
#[track_caller]
pub(crate) fn yield_to_ranks() {
    if !std::thread::panicking() {
        wait(graphmap_runtime::yield_now());
    }
}

impl StartedCall for Box<dyn StartedCall> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        (**self).poll(context)
    }

    fn is_done(&self) -> bool {
        (**self).is_done()
    }

    fn lent(&self) -> Option<Loan> {
        (**self).lent()
    }

    fn disarm(&mut self) {
        (**self).disarm();
    }

    fn cancel(&mut self) -> bool {
        (**self).cancel()
    }
}
