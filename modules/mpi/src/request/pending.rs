//! What requests stand for: a call that was begun and may not be done yet.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use graphmap_runtime::mpi as core;
use graphmap_runtime::mpi::Request as _;

use super::lent::Lent;
use crate::abi::MPI_Status;
use crate::fiber::{poll_once, wait};
use crate::place::{Place, empty_status, status};
use crate::shared::Messages;

/// A call that was begun. What it borrows is written to only when it is polled.
pub(crate) trait Begun {
    /// Asks whether it is done.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>>;

    /// Whether it is known that it is done, so that nobody need wait.
    fn is_done(&self) -> bool {
        false
    }

    /// What it has lent to others until it is over.
    fn lent(&self) -> Option<Lent> {
        None
    }

    /// Whoever polled it does not wait any more.
    fn disarm(&mut self) {}

    /// Takes it back, if it can be, which is done with then.
    fn cancel(&mut self) -> bool {
        false
    }
}

/// A send that was begun.
pub(crate) struct Send(Option<core::Sending>);

impl Send {
    pub(crate) fn new(sending: core::Sending) -> Self {
        Send(Some(sending))
    }
}

impl Begun for Send {
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
        // One that comes too late is sent, and needs nobody for that.
        self.0.take().map(core::Request::cancel);
        true
    }
}

/// A receive into a buffer that was begun.
pub(crate) struct Receive {
    receiving: Option<core::Receiving<core::Packed>>,
    place: Place,
    /// Where ranks begin in the communicator that carries the message.
    offset: usize,
}

impl Receive {
    /// # Safety
    /// The buffer has to be borrowed as long as this may be polled.
    pub(crate) unsafe fn new(
        receiving: core::Receiving<core::Packed>,
        place: Place,
        offset: usize,
    ) -> Self {
        Receive {
            receiving: Some(receiving),
            place,
            offset,
        }
    }

    /// Begins one whose elements who sends may put in their place.
    ///
    /// # Safety
    /// The buffer has to be borrowed until this is done or dropped: to forget it ends neither.
    #[track_caller]
    #[inline]
    pub(crate) unsafe fn into_place(
        by: Messages<'_>,
        source: core::Source,
        tag: core::TagOf,
        place: Place,
    ) -> Self {
        // SAFETY: as the caller says.
        unsafe {
            let receiving = match place.receive_buffer() {
                Some((to, room)) => by.communicator.recv_packed_at(to, room, source, tag),
                None => by.communicator.recv(source, tag),
            };
            Receive::new(receiving, place, by.offset)
        }
    }
}

impl Begun for Receive {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        let Some(receiving) = &mut self.receiving else {
            return Poll::Ready(Err(core::Error::Inactive));
        };
        Pin::new(receiving).poll(context).map(|received| {
            let (bytes, told) = received?;
            // Otherwise there are none, or they are in their place already.
            if !bytes.is_empty() {
                // SAFETY: as whoever has made this has said.
                unsafe { self.place.fill(&bytes) }?;
            }
            Ok(status(told, self.offset))
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
pub(crate) enum Called<R> {
    One(core::Collective<R>),
    Two(Pin<Box<dyn Future<Output = Result<R, core::Error>>>>),
}

impl<R> Called<R> {
    pub(crate) fn two(call: impl Future<Output = Result<R, core::Error>> + 'static) -> Self {
        Called::Two(Box::pin(call))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<R, core::Error>> {
        match self {
            Called::One(call) => Pin::new(call).poll(context),
            Called::Two(call) => call.as_mut().poll(context),
        }
    }
}

/// A collective call that was begun, and what is done with what it gives.
pub(crate) struct Collective<R, F> {
    call: Called<R>,
    finish: Option<F>,
    lent: Option<Lent>,
}

impl<R, F: FnOnce(R) -> Result<(), core::Error>> Collective<R, F> {
    pub(crate) fn new(call: Called<R>, finish: F) -> Self {
        Collective {
            call,
            finish: Some(finish),
            lent: None,
        }
    }

    /// With what it has lent to others until it is over.
    pub(crate) fn lending(mut self, lent: Lent) -> Self {
        self.lent = Some(lent);
        self
    }
}

impl<R, F: FnOnce(R) -> Result<(), core::Error>> Begun for Collective<R, F> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        self.call.poll(context).map(|result| {
            let finish = self.finish.take().ok_or(core::Error::Inactive)?;
            finish(result?)?;
            Ok(empty_status())
        })
    }

    fn lent(&self) -> Option<Lent> {
        self.lent.clone()
    }
}

/// A call that was begun, or why it was not.
impl<B: Begun> Begun for Result<B, core::Error> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        match self {
            Ok(begun) => begun.poll(context),
            Err(error) => Poll::Ready(Err(error.clone())),
        }
    }

    fn lent(&self) -> Option<Lent> {
        self.as_ref().ok()?.lent()
    }
}

/// Something that is done already.
pub(crate) struct Done(pub(crate) Option<Result<MPI_Status, core::Error>>);

impl Begun for Done {
    fn poll(&mut self, _context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        Poll::Ready(self.0.take().unwrap_or(Err(core::Error::Inactive)))
    }
}

/// Waits for a call that was begun.
#[track_caller]
pub(crate) fn complete(mut begun: impl Begun) -> Result<MPI_Status, core::Error> {
    if begun.is_done()
        && let Poll::Ready(done) = begun.poll(&mut Context::from_waker(Waker::noop()))
    {
        return done;
    }
    wait(poll_fn(|context| begun.poll(context)))
}

/// A request that was begun.
#[allow(non_camel_case_types)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MPI_Request(pub(crate) *mut Pending);

/// No request: one that is done, and has told so.
pub const RSMPI_REQUEST_NULL: MPI_Request = MPI_Request(std::ptr::null_mut());

/// What a handle of a request points to.
pub(crate) struct Pending(RefCell<State>);

enum State {
    Active(Box<dyn Begun>),
    /// It is done, and has not told yet.
    Done(Result<MPI_Status, core::Error>),
}

impl Pending {
    /// A handle of a call that was begun, which somebody has to free.
    pub(crate) fn handle(begun: Box<dyn Begun>) -> MPI_Request {
        let pending = Box::new(Pending(RefCell::new(State::Active(begun))));
        MPI_Request(Box::into_raw(pending))
    }

    /// Asks whether it is done.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        match &mut *self.0.borrow_mut() {
            State::Active(begun) => begun.poll(context),
            State::Done(done) => Poll::Ready(done.clone()),
        }
    }

    /// What it has lent to others until it is over.
    pub(super) fn lent(&self) -> Option<Lent> {
        match &*self.0.borrow() {
            State::Active(begun) => begun.lent(),
            State::Done(_) => None,
        }
    }

    /// Whoever polled it does not wait any more.
    pub(crate) fn disarm(&self) {
        if let State::Active(begun) = &mut *self.0.borrow_mut() {
            begun.disarm();
        }
    }

    /// Takes it back, if it can be.
    pub(crate) fn cancel(&self) {
        let mut state = self.0.borrow_mut();
        if let State::Active(begun) = &mut *state
            && begun.cancel()
        {
            *state = State::Done(Ok(empty_status()));
        }
    }

    /// Whether it is done, which it will tell whoever asks.
    pub(crate) fn is_done(&self) -> bool {
        match self.look() {
            Some(done) => {
                *self.0.borrow_mut() = State::Done(done);
                true
            }
            None => false,
        }
    }

    /// Whether it is done, and what has come of it.
    pub(crate) fn look(&self) -> Option<Result<MPI_Status, core::Error>> {
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

/// What a handle points to, which nobody else has from now on.
///
/// # Safety
/// The handle has to be one of [`Pending::handle`], and nobody may use it again.
pub(crate) unsafe fn owned(request: MPI_Request) -> Box<Pending> {
    // SAFETY: it was made by `Box::into_raw`.
    unsafe { Box::from_raw(request.0) }
}

/// Lets all others have a turn.
#[track_caller]
pub(crate) fn give_way() {
    if !std::thread::panicking() {
        wait(graphmap_runtime::yield_now());
    }
}

impl Begun for Box<dyn Begun> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<MPI_Status, core::Error>> {
        (**self).poll(context)
    }

    fn lent(&self) -> Option<Lent> {
        (**self).lent()
    }

    fn disarm(&mut self) {
        (**self).disarm();
    }

    fn cancel(&mut self) -> bool {
        (**self).cancel()
    }
}
