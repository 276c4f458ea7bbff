//! Probes: messages that are inspected before they are received.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::entry::{EntryState, NONE};
use super::envelope::Status;
use super::erased::Erased;
use super::error::Error;
use super::state::World;
use super::unpack::{open, unpack};
use super::value::Value;
use graphmap_executor::exec::introspection::yield_now;

/// Calls `find` once, when the future is first polled, and returns its result. If that is `None`,
/// yields once to all other processes before returning. Errors of `find` are returned at once.
pub(super) async fn find_or_yield<T>(
    find: impl Fn() -> Result<Option<T>, Error>,
) -> Result<Option<T>, Error> {
    let found = find()?;
    if found.is_none() {
        yield_now().await;
    }
    Ok(found)
}

/// A started probe. It completes with the status of a message that stays in the queue. Dropping it
/// ends the probe.
#[must_use = "if the probe is not awaited, its result is lost"]
pub struct Probing {
    world: Rc<World>,
    entry: u32,
}

impl Probing {
    pub(super) fn new(world: &Rc<World>, entry: u32) -> Self {
        let world = Rc::clone(world);
        Probing { world, entry }
    }
}

impl Future for Probing {
    type Output = Result<Status, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (world, at) = (&self.world, self.entry);
        loop {
            let mut matching = world.matching.borrow_mut();
            let entry = &mut matching.slab.entries[at as usize];
            if entry.state == EntryState::Done {
                let error = entry.value.take();
                drop(matching);
                let error = error.and_then(Erased::into_error);
                return Poll::Ready(Err(error.unwrap_or(Error::Inactive)));
            }
            if matching.is_over {
                return Poll::Ready(Err(Error::Over));
            }
            let entry = &matching.slab.entries[at as usize];
            let (member, envelope) = (entry.member, entry.envelope);
            if let Some(message) = matching.find(member, envelope) {
                let status = matching.slab.entries[message as usize].status();
                return Poll::Ready(Ok(status));
            }
            drop(matching);
            world.wait(context, at, EntryState::Probing);
            // Waiting with a foreign waker runs user code, which may have sent a message.
            if world.matching.borrow().find(member, envelope).is_none() {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for Probing {
    fn drop(&mut self) {
        self.world.withdraw(self.entry);
    }
}

/// A message that a matched probe has found. No other receive can take it. Dropping it returns the
/// message to the queue.
pub struct Message {
    world: Rc<World>,
    entry: u32,
    status: Status,
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Message").field(&self.status).finish()
    }
}

impl Message {
    /// Creates a handle of the message in `entry`, which a receive has taken. The handle owns the
    /// entry.
    pub(super) fn new(world: &Rc<World>, entry: u32) -> Self {
        let status = world.matching.borrow().slab.entries[entry as usize].status();
        Message {
            world: Rc::clone(world),
            entry,
            status,
        }
    }

    /// Returns the source, the tag and the number of elements of the message, without receiving it.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Subtracts `offset` from the source in the status, for a communicator with other ranks. Wraps
    /// around if the source is smaller.
    pub(super) fn with_source_behind(mut self, offset: usize) -> Self {
        self.status.source = self.status.source.wrapping_sub(offset);
        self
    }

    fn take(mut self) -> Result<Erased, Error> {
        let at = std::mem::replace(&mut self.entry, NONE);
        let (value, word) = self.world.change(|matching| {
            let entry = &mut matching.slab.entries[at as usize];
            let taken = (entry.value.take(), std::mem::take(&mut entry.word));
            matching.slab.remove(at);
            taken
        });
        self.world.unhook(at, word);
        value.ok_or(Error::Over)
    }

    /// Receives the message as a value.
    ///
    /// # Errors
    /// [`Error::Type`] if the message is not a `T`. [`Error::Unreadable`] if its bytes cannot be
    /// decoded. [`Error::Over`] if the run has ended. The message is lost in each case.
    pub fn recv<T: Value>(self) -> Result<(T, Status), Error> {
        let (status, world) = (self.status, Rc::clone(&self.world));
        Ok((open(&world, self.take()?)?, status))
    }

    /// Receives the message into the beginning of `room`. Elements are stored as by
    /// [`Communicator::recv_into`](super::Communicator::recv_into).
    ///
    /// # Errors
    /// [`Error::Type`] if the message has elements of another type. [`Error::Truncated`] if it has
    /// more elements than `room`, which then contains the first ones. [`Error::Unreadable`] and
    /// [`Error::Over`] as for [`recv`](Self::recv).
    pub fn recv_into<T: Value + Copy>(self, room: &mut [T]) -> Result<Status, Error> {
        let (status, world) = (self.status, Rc::clone(&self.world));
        unpack(&world, self.take()?, room)?;
        Ok(status)
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        if self.entry != NONE {
            self.world.withdraw(self.entry);
        }
    }
}
