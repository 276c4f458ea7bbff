//! Requests: operations that have started and may not have completed. Each is a future.

use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::entry::{DONE, Entry, EntryState, NONE};
use super::envelope::Status;
use super::erased::Erased;
use super::error::Error;
use super::packed::Packed;
use super::probe::Message;
use super::receive_buffer::ReceiveBuffer;
use super::state::World;
use super::unpack::{open, unpack};
use super::value::Value;
use graphmap_executor::exec::current;
use graphmap_executor::exec::introspection::yield_now;
use graphmap_executor::link::waiter::ARMED;

impl Entry {
    /// Returns the status of the message in this entry. A source or tag that accepts any is
    /// returned as 0. The count is 0 if the entry has no value.
    pub(super) fn status(&self) -> Status {
        Status {
            source: self.envelope.source().unwrap_or(0) as usize,
            tag: self.envelope.tag().unwrap_or(0),
            count: self.value.as_ref().map_or(0, Erased::count),
        }
    }
}

/// The entry of a request, which is released when this is dropped.
pub(super) struct Handle {
    /// `None` after the outcome was returned.
    world: Option<Rc<World>>,
    entry: u32,
}

/// Result of a receive.
pub(super) struct Taken {
    pub(super) value: Erased,
    pub(super) status: Status,
}

impl Handle {
    #[inline]
    pub(super) fn new(world: &Rc<World>, entry: u32) -> Self {
        Handle {
            world: Some(Rc::clone(world)),
            entry,
        }
    }

    fn is_active(&self) -> bool {
        self.world.is_some() || self.entry == DONE
    }

    /// Returns true if the outcome is known or was already returned, or if the run has ended.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        let done = |world: &Rc<World>| {
            let matching = world.matching.borrow();
            let entry = matching.slab.entries.get(self.entry as usize);
            matching.is_over
                || entry.is_none_or(|entry| {
                    matches!(
                        entry.state,
                        EntryState::Taken | EntryState::Answered | EntryState::Done
                    )
                })
        };
        self.world.as_ref().is_none_or(done)
    }

    /// Returns the outcome, which must be known, and releases the entry. The outcome is `None` for
    /// a send. Returns [`Error::Inactive`] if the outcome was already returned, the error of a call
    /// that failed, and [`Error::Over`] if the run ended first. Removes the waiter.
    #[inline]
    fn finish(&mut self) -> Result<Option<Taken>, Error> {
        let Some(world) = self.world.take() else {
            return Err(Error::Inactive);
        };
        if self.entry == NONE {
            return Ok(None);
        }
        let at = std::mem::replace(&mut self.entry, NONE);
        let (taken, word, given_up) = world.change(|matching| {
            let entry = &mut matching.slab.entries[at as usize];
            let (status, state, word) =
                (entry.status(), entry.state, std::mem::take(&mut entry.word));
            let value = entry.value.take();
            let given_up = match state {
                EntryState::Taken | EntryState::Answered | EntryState::Done => {
                    matching.slab.remove(at);
                    None
                }
                // The run is over.
                _ => matching.withdraw(at).0,
            };
            let taken = match (state, value) {
                (EntryState::Taken | EntryState::Answered, Some(value)) => {
                    Ok(Some(Taken { value, status }))
                }
                (EntryState::Done, None) => Ok(None),
                (EntryState::Done, Some(error)) => Err(error.into_error().unwrap_or(Error::Over)),
                _ => Err(Error::Over),
            };
            (taken, word, given_up)
        });
        world.unhook(at, word);
        // This drop runs user code, so it comes last.
        drop(given_up);
        taken
    }

    /// Fast path of a receive, for an entry without a waiter. Returns the value of a completed
    /// receive if `open` returns it with its number of elements, and frees the entry. If the
    /// receive waits, registers the polling process as the waiter and returns [`Poll::Pending`].
    /// Returns `None` if the general path is needed, as for a foreign waker or after the end of the
    /// run.
    #[inline(always)]
    fn poll_at_once<T: Value>(
        &mut self,
        context: &Context<'_>,
        open: impl FnOnce(&mut Option<Erased>) -> Option<(T, usize)>,
    ) -> Option<Poll<(T, Status)>> {
        let world = self.world.as_ref()?;
        let mut matching = world.matching.borrow_mut();
        let is_over = matching.is_over;
        let slab = &mut matching.slab;
        let entry = slab.entries.get_mut(self.entry as usize)?;
        if entry.word != 0 {
            return None;
        }
        if entry.state == EntryState::Posted && !is_over {
            entry.word = ARMED | current::plain_waiter(context)?;
            return Some(Poll::Pending);
        }
        if entry.state != EntryState::Taken {
            return None;
        }
        let (source, tag) = entry.envelope.of_message();
        let (value, count) = open(&mut entry.value)?;
        entry.release(self.entry, &mut slab.free);
        drop(matching);
        (self.entry, self.world) = (NONE, None);
        let status = Status { source, tag, count };
        Some(Poll::Ready((value, status)))
    }

    /// Returns the outcome, with the errors of [`Handle::finish`]. If it is not known yet,
    /// registers the waker of `context` and returns [`Poll::Pending`].
    #[inline]
    pub(super) fn poll(&mut self, context: &Context<'_>) -> Poll<Result<Option<Taken>, Error>> {
        loop {
            if let (Some(world), false) = (&self.world, self.entry == NONE) {
                let matching = world.matching.borrow();
                let state = matching.slab.entries[self.entry as usize].state;
                let is_over = matching.is_over;
                drop(matching);
                let waits = matches!(
                    state,
                    EntryState::Posted
                        | EntryState::Arriving
                        | EntryState::Held
                        | EntryState::Accessing
                ) && !is_over;
                if waits {
                    if world.wait(context, self.entry, state) {
                        return Poll::Pending;
                    }
                    continue;
                }
            }
            return Poll::Ready(self.finish());
        }
    }

    /// Removes the waiter from the entry, if it has one. The request continues.
    pub(super) fn disarm(&mut self) {
        if let (Some(world), false) = (&self.world, self.entry == NONE) {
            let word = world.change(|matching| matching.take_word(self.entry));
            world.unhook(self.entry, word);
        }
    }

    /// Cancels a send whose message was not received, drops the message, and returns true. Returns
    /// false if the send has completed, is inactive, or is to another scheduler.
    fn withdraw_send(&mut self) -> bool {
        let Some(world) = &self.world else {
            return false;
        };
        if self.entry == NONE {
            return false;
        }
        let unsent = world.change(|matching| matching.withdraw_send(self.entry));
        let Some((value, word)) = unsent else {
            return false;
        };
        world.unhook(self.entry, word);
        (self.entry, self.world) = (NONE, None);
        drop(value);
        true
    }
}

impl Drop for Handle {
    #[inline]
    fn drop(&mut self) {
        if self.entry != NONE
            && let Some(world) = &self.world
        {
            world.withdraw(self.entry);
        }
    }
}

/// A started operation, such as a send or a receive. Await it, test it, or wait for several with
/// [`wait_all`](super::wait_all), [`wait_any`](super::wait_any) or [`wait_some`](super::wait_some).
///
/// A request becomes *inactive* when its outcome has been returned. Awaiting an inactive request
/// returns [`Error::Inactive`], and functions that wait for several requests skip it. Only
/// [`wait_all`](super::wait_all) also returns this error for it.
pub trait Request: Future<Output = Result<Self::Outcome, Error>> + Unpin {
    /// Result of the operation.
    type Outcome;

    /// Returns true if the outcome has not been returned yet.
    fn is_active(&self) -> bool;

    /// Returns true if awaiting it would not block. This includes inactive requests.
    fn is_done(&self) -> bool;

    /// Returns the outcome if it is known. Otherwise yields once to all other processes and returns
    /// `None`.
    ///
    /// # Errors
    /// The errors of the request, and [`Error::Inactive`] if the request is inactive.
    #[allow(async_fn_in_trait)]
    async fn test(&mut self) -> Result<Option<Self::Outcome>, Error>
    where
        Self: Sized,
    {
        if self.is_done() {
            return self.await.map(Some);
        }
        yield_now().await;
        Ok(None)
    }

    /// Cancels the request. Returns true if it was in time, and false for an inactive request. A
    /// receive can be cancelled until its outcome is returned. If it has taken a message, the
    /// message goes to another receive or back to its queue. A send can be cancelled while its
    /// message is not received and awaiting the send would block, but not if the destination is on
    /// another scheduler. Collective calls and accesses to windows cannot be cancelled. An
    /// operation that is not cancelled continues, and its outcome is lost.
    fn cancel(self) -> bool;

    /// Removes the waker of an earlier poll.
    #[doc(hidden)]
    fn disarm(&mut self);
}

/// A started send. Dropping it does not cancel the send.
#[must_use = "if the send is not awaited, its errors are lost"]
pub struct Sending(Handle);

impl Sending {
    /// Creates a send that has completed.
    #[inline(always)]
    pub(super) fn done() -> Self {
        Sending(Handle {
            world: None,
            entry: DONE,
        })
    }

    #[inline]
    pub(super) fn new(world: &Rc<World>, entry: u32) -> Self {
        Sending(Handle::new(world, entry))
    }

    /// Cancels the send as [`Request::cancel`], but the send continues if it is too late. After a
    /// cancellation, the request is inactive.
    pub fn try_cancel(&mut self) -> bool {
        self.0.withdraw_send()
    }
}

impl Future for Sending {
    type Output = Result<(), Error>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.0.entry == DONE {
            self.0.entry = NONE;
            return Poll::Ready(Ok(()));
        }
        self.0.poll(context).map(|outcome| outcome.map(drop))
    }
}

impl Request for Sending {
    type Outcome = ();

    fn is_active(&self) -> bool {
        self.0.is_active()
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.0.is_done()
    }

    fn cancel(mut self) -> bool {
        self.try_cancel()
    }

    fn disarm(&mut self) {
        self.0.disarm();
    }
}

/// Implements the methods of [`Request`] that all receives share. Dropping a receive cancels it.
macro_rules! as_a_receive {
    () => {
        fn is_active(&self) -> bool {
            self.handle.is_active()
        }

        #[inline]
        fn is_done(&self) -> bool {
            self.handle.is_done()
        }

        fn cancel(self) -> bool {
            self.handle.is_active()
        }

        fn disarm(&mut self) {
            self.handle.disarm();
        }
    };
}

/// A started receive. Dropping it returns its message to the queue.
#[must_use = "if the receive is not awaited, it takes no message"]
pub struct Receiving<T> {
    handle: Handle,
    _value: PhantomData<fn() -> T>,
}

impl<T> Receiving<T> {
    #[inline]
    pub(super) fn new(world: &Rc<World>, entry: u32) -> Self {
        Receiving {
            handle: Handle::new(world, entry),
            _value: PhantomData,
        }
    }
}

impl Receiving<Packed> {
    /// Makes the bytes of the message arrive in `buffer`, if the receive has no message yet.
    /// Otherwise drops `buffer`, and the message arrives as a value. Only
    /// [`send_bytes`](super::Communicator::send_bytes) on the same scheduler uses the buffer.
    pub(super) fn into_buffer(self, buffer: ReceiveBuffer) -> Self {
        if let Some(world) = &self.handle.world
            && let entries = &mut world.matching.borrow_mut().slab.entries
            && let Some(entry) = entries.get_mut(self.handle.entry as usize)
            && entry.state == EntryState::Posted
        {
            entry.buffer = Some(buffer);
        }
        self
    }
}

impl<T: Value> Receiving<T> {
    #[inline(never)]
    fn poll_long(&mut self, context: &Context<'_>) -> Poll<Result<(T, Status), Error>> {
        if let Some(outcome) = self.handle.poll_at_once(context, Erased::open_at) {
            return outcome.map(Ok);
        }
        let world = self.handle.world.clone();
        self.handle.poll(context).map(|outcome| {
            let Taken { value, status } = outcome?.ok_or(Error::Over)?;
            let world = world.ok_or(Error::Over)?;
            Ok((open(&world, value)?, status))
        })
    }
}

impl<T: Value> Future for Receiving<T> {
    type Output = Result<(T, Status), Error>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.handle.poll_at_once(context, Erased::open_here) {
            Some(outcome) => outcome.map(Ok),
            None => self.poll_long(context),
        }
    }
}

impl<T: Value> Request for Receiving<T> {
    type Outcome = (T, Status);

    as_a_receive!();
}

/// A started receive into a slice. Dropping it returns its message to the queue.
#[must_use = "if the receive is not awaited, it takes no message"]
pub struct ReceivingInto<'a, T> {
    handle: Handle,
    room: &'a mut [T],
}

impl<'a, T> ReceivingInto<'a, T> {
    pub(super) fn new(world: &Rc<World>, entry: u32, room: &'a mut [T]) -> Self {
        let handle = Handle::new(world, entry);
        ReceivingInto { handle, room }
    }
}

impl<T: Value + Copy> Future for ReceivingInto<'_, T> {
    type Output = Result<Status, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let world = self.handle.world.clone();
        self.handle.poll(context).map(|outcome| {
            let Taken { value, status } = outcome?.ok_or(Error::Over)?;
            unpack(&*world.ok_or(Error::Over)?, value, self.room)?;
            Ok(status)
        })
    }
}

impl<T: Value + Copy> Request for ReceivingInto<'_, T> {
    type Outcome = Status;

    as_a_receive!();
}

/// A started matched probe. Dropping it returns its message to the queue.
#[must_use = "if the probe is not awaited, it takes no message"]
pub struct ReceivingMessage {
    handle: Handle,
}

impl ReceivingMessage {
    pub(super) fn new(world: &Rc<World>, entry: u32) -> Self {
        let handle = Handle::new(world, entry);
        ReceivingMessage { handle }
    }
}

impl Future for ReceivingMessage {
    type Output = Result<Message, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // The entry is kept, so that the message can return to the queue.
        if let (Some(world), false) = (&this.handle.world, this.handle.entry == NONE) {
            let state = world.matching.borrow().slab.entries[this.handle.entry as usize].state;
            if state == EntryState::Taken && !world.is_over() {
                let entry = std::mem::replace(&mut this.handle.entry, NONE);
                let message = Message::new(world, entry);
                this.handle.world = None;
                return Poll::Ready(Ok(message));
            }
        }
        match this.handle.poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(_)) => Poll::Ready(Err(Error::Over)),
        }
    }
}

impl Request for ReceivingMessage {
    type Outcome = Message;

    as_a_receive!();
}
