//! Communicators. A message that is sent in one communicator is never received in another.

use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use super::entry::NONE;
use super::envelope::{Envelope, SPACES, Source, Status, TagOf, context};
use super::erased::{Erased, Wanted};
use super::error::Error;
use super::group::{Comparison, Group};
use super::matching::{SendMode, Sent};
use super::probe::{Message, Probing, find_or_yield};
use super::request::{Receiving, ReceivingInto, ReceivingMessage, Sending};
use super::state::{CommunicatorState, World};
use super::value::Value;
use super::world::{wake, wake_next};

impl CommunicatorState {
    /// Returns the number and the name, for the traffic counters.
    pub(super) fn known(&self) -> (u32, &str) {
        (self.number, &self.name)
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of ranks of the communicator that are on this scheduler.
    pub(super) fn local_count(&self) -> u32 {
        let distribution = self.distribution.as_ref();
        distribution.map_or(self.group.len(), |distribution| distribution.here.len())
    }

    /// Returns the index of a rank among the ranks of the communicator that are on this scheduler.
    /// Returns `None` if the rank is on another scheduler. If all ranks are here, the index is the
    /// rank, which is not checked.
    #[inline]
    pub(super) fn local_index(&self, rank: u32) -> Option<usize> {
        let index = match &self.distribution {
            Some(distribution) => distribution.here.rank_of(rank)?,
            None => rank,
        };
        Some(index as usize)
    }

    /// Returns the rank with an index that [`CommunicatorState::local_index`] returned. Returns
    /// `None` if ranks are on several schedulers and none here has this index.
    pub(super) fn rank_at_local_index(&self, index: u32) -> Option<u32> {
        match &self.distribution {
            Some(distribution) => distribution.here.at(index),
            None => Some(index),
        }
    }
}

impl Drop for CommunicatorState {
    fn drop(&mut self) {
        self.world.forget(self);
    }
}

/// A communicator, as seen by one of its ranks. Calls on it are calls of that rank.
#[derive(Clone)]
pub struct Communicator {
    shared: Rc<CommunicatorState>,
    rank: u32,
    /// World rank of this rank, or the number of its endpoint.
    member: u32,
    /// Context of the envelopes of messages.
    context: u32,
}

/// The message of a send, for [`Communicator::recall`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket(u64);

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Communicator");
        debug.field("name", &self.name()).field("rank", &self.rank);
        debug.field("size", &self.size()).finish()
    }
}

/// Returns the communicator of all processes of the run, ranked as in the network.
///
/// # Errors
/// [`Error::NoProcess`] outside of a process of a run, also on a thread that owns a rank.
/// [`Error::Over`] if the run has ended.
pub fn world() -> Result<Communicator, Error> {
    let (shared, rank) = World::current()?;
    Ok(Communicator::new(shared, rank))
}

impl Communicator {
    pub(super) fn new(shared: Rc<CommunicatorState>, rank: u32) -> Self {
        // `rank` is always a member of the group.
        let member = shared.group.at(rank).unwrap_or(NONE);
        let context = shared.number;
        Communicator {
            shared,
            rank,
            member,
            context,
        }
    }

    pub(super) fn shared(&self) -> &Rc<CommunicatorState> {
        &self.shared
    }

    /// Returns the rank of the caller in this communicator, from 0.
    #[inline]
    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    /// Returns the world rank of the caller, or the number of its endpoint.
    pub(super) fn member(&self) -> u32 {
        self.member
    }

    /// Returns the number of ranks.
    #[inline]
    pub fn size(&self) -> usize {
        self.shared.size as usize
    }

    /// Returns the name of the communicator in reports, such as "world" or "world.dup". Names need
    /// not be unique.
    pub fn name(&self) -> &str {
        self.shared.name()
    }

    /// Returns the group of processes and endpoints, in the order of their ranks.
    pub fn group(&self) -> &Group {
        &self.shared.group
    }

    /// Compares two communicators (`MPI_Comm_compare`). Handles of the same communicator are
    /// [`Comparison::Identical`], whatever their ranks. Communicators of different runs are
    /// [`Comparison::Unequal`].
    pub fn compare(&self, other: &Communicator) -> Comparison {
        let (this, other) = (&self.shared, &other.shared);
        if Rc::ptr_eq(this, other) {
            return Comparison::Identical;
        }
        // If one run is nested in another, equal ranks of the two runs are different processes.
        match Rc::ptr_eq(&this.world, &other.world) {
            false => Comparison::Unequal,
            true => match this.group.compare(&other.group) {
                Comparison::Identical => Comparison::Congruent,
                different => different,
            },
        }
    }

    /// Returns the same communicator with other messages: they are received only in the same
    /// message space of this communicator. Space 0 belongs to the communicator itself. The call is
    /// local, and collective calls do not depend on the space.
    ///
    /// # Panics
    /// If `space` is more than 3.
    pub fn apart(&self, space: u32) -> Communicator {
        assert!(space < SPACES, "message space {space} does not exist");
        Communicator {
            context: context(self.shared.number, space),
            ..self.clone()
        }
    }

    /// Returns the ticket of the message that was sent last on this scheduler. It is only valid for
    /// the caller's message if it is requested directly after the send.
    pub fn ticket(&self) -> Ticket {
        Ticket(self.world().matching.borrow().last())
    }

    /// Cancels a completed send to the rank `dest`, if its message still waits at that rank. Drops
    /// the message, and returns true in this case. Messages to another scheduler are not cancelled.
    /// Takes time linear in the number of messages that wait at the rank.
    pub fn recall(&self, dest: usize, ticket: Ticket) -> bool {
        let member = u32::try_from(dest)
            .ok()
            .and_then(|dest| self.shared.group.at(dest));
        let recalled = member.and_then(|member| {
            let world = self.world();
            world.change(|matching| matching.recall(member, ticket.0))
        });
        recalled.is_some_and(|(message, word)| {
            wake(word);
            // This drop runs user code, so it comes last.
            drop(message);
            true
        })
    }

    fn world(&self) -> &Rc<World> {
        &self.shared.world
    }

    /// Returns the envelope of a receive. `None` if the communicator does not have the source, or
    /// if the tag is negative.
    #[inline(always)]
    fn envelope(&self, source: Source, tag: TagOf) -> Option<Envelope> {
        let source = match source {
            Source::Any => None,
            Source::Rank(rank) if rank < self.shared.size as usize => Some(rank as u32),
            Source::Rank(_) => return None,
        };
        let tag = match tag {
            TagOf::Any => None,
            TagOf::Tag(tag) if tag >= 0 => Some(tag),
            TagOf::Tag(_) => return None,
        };
        Some(Envelope::new(self.context, source, tag))
    }

    /// Returns the envelope of a receive. Returns [`Error::Rank`] if the communicator does not have
    /// the source, and otherwise [`Error::Tag`] if the tag is negative.
    fn selector(&self, source: Source, tag: TagOf) -> Result<Envelope, Error> {
        self.envelope(source, tag)
            .ok_or_else(|| match (source, tag) {
                (Source::Rank(rank), _) if rank >= self.size() => {
                    Error::rank(source, self.shared.group.len())
                }
                (_, TagOf::Tag(tag)) => Error::Tag(tag),
                // Unreachable: the source is valid here, and any tag is accepted.
                (_, TagOf::Any) => Error::Inactive,
            })
    }

    #[inline]
    pub(super) fn post(
        &self,
        value: Erased,
        dest: usize,
        tag: i32,
        mode: SendMode,
        at: &'static Location<'static>,
    ) -> Sending {
        let world = self.world();
        let member = u32::try_from(dest)
            .ok()
            .and_then(|dest| self.shared.group.at(dest));
        let failed = |error: Error| world.change(|matching| matching.failed(error, at));
        let entry = match member {
            None => {
                let size = self.size();
                failed(Error::Rank { rank: dest, size })
            }
            Some(_) if tag < 0 => failed(Error::Tag(tag)),
            Some(member) => {
                let envelope = Envelope::new(self.context, Some(self.rank), Some(tag));
                // `Erased::size` calls user code, so it runs before any other step.
                let counted = world.traffic.as_ref().map(|to| (to, value.size() as u64));
                let sent =
                    match world.remote_scheduler(member) {
                        _ if world.is_over() => Err(value),
                        Some(to) => Ok(world.send_remote(to, member, envelope, value, mode, at)),
                        None => Ok(world
                            .change(|matching| matching.send(member, envelope, value, mode, at))),
                    };
                if let (Some((to, bytes)), Ok(Sent::Taken(_) | Sent::Left | Sent::Held(_))) =
                    (counted, &sent)
                {
                    // The message of an endpoint is counted for the process of the endpoint.
                    let process = |member| world.process_of(member).unwrap_or(member);
                    let (from, member) = (process(self.member), process(member));
                    let mut traffic = to.borrow_mut();
                    traffic.message(self.shared.known(), from, member, bytes);
                }
                match sent {
                    Ok(Sent::Taken(word)) => {
                        wake_next(word);
                        return Sending::done();
                    }
                    Ok(Sent::Left) => return Sending::done(),
                    Ok(Sent::Held(entry)) => entry,
                    // The drop of the value calls user code, so it runs after all other steps.
                    Ok(Sent::Refused(value)) => {
                        drop(value);
                        failed(Error::NotReady)
                    }
                    Err(value) => {
                        drop(value);
                        failed(Error::Over)
                    }
                }
            }
        };
        Sending::new(world, entry)
    }

    /// Sends a value to a rank: a standard send (`MPI_Send`, `MPI_Isend`). The message is sent by
    /// this call, even if the returned request is never awaited. Within an OS process, the value is
    /// moved, not copied.
    ///
    /// To a rank of this scheduler, the request completes immediately if a receive waits for the
    /// message, or if fewer than 64 messages wait at the destination. Otherwise it completes when
    /// this message has been received. To a rank of another scheduler, it completes immediately if
    /// the message has at most 64 KiB and the other scheduler has granted enough credit. Otherwise
    /// it completes when a receive has matched. Dropping the request does not cancel the send.
    ///
    /// # Errors
    /// The request completes with [`Error::Rank`] if the communicator does not have `dest`,
    /// [`Error::Tag`] if the tag is negative, or [`Error::Over`] if the run ends before the request
    /// completes. The message is not sent after the first two.
    #[track_caller]
    #[inline(always)]
    pub fn send<T: Value>(&self, value: T, dest: usize, tag: i32) -> Sending {
        self.send_at(value, dest, tag, Location::caller())
    }

    #[inline(always)]
    pub(super) fn send_at<T: Value>(
        &self,
        value: T,
        dest: usize,
        tag: i32,
        at: &'static Location<'static>,
    ) -> Sending {
        let value = || Erased::one(value);
        self.send_by(value, None, dest, tag, SendMode::Standard, at)
    }

    /// Sends the message that `value` creates, with the errors of [`send`](Self::send). A ready send
    /// may also fail with [`Error::NotReady`].
    ///
    /// In the fast path, a posted receive on this scheduler matches. Then the message is stored
    /// directly in the entry of the receive. If that has a buffer and `bytes` fit it, they are
    /// stored there, and `value` is not called. `bytes` must be the content of the message.
    #[inline(always)]
    pub(super) fn send_by(
        &self,
        value: impl FnOnce() -> Erased,
        bytes: Option<&[u8]>,
        dest: usize,
        tag: i32,
        mode: SendMode,
        at: &'static Location<'static>,
    ) -> Sending {
        if let Some(member) = u32::try_from(dest)
            .ok()
            .and_then(|dest| self.shared.group.at(dest))
            && tag >= 0
        {
            let world = self.world();
            let envelope = Envelope::new(self.context, Some(self.rank), Some(tag));
            let mut matching = world.matching.borrow_mut();
            if matching.straight
                && let Some(entry) = matching.take_posted(member, envelope)
            {
                if let Some(bytes) = bytes
                    && let Some(buffer) = &mut entry.buffer
                    && buffer.put(bytes)
                {
                    entry.put(Erased::placed(bytes.len()));
                } else {
                    entry.put(value());
                }
                let word = std::mem::take(&mut entry.word);
                drop(matching);
                wake_next(word);
                return Sending::done();
            }
        }
        self.post(value(), dest, tag, mode, at)
    }

    /// Sends a value like [`send`](Self::send), but completes only when a receive has taken the
    /// message, or when the run ends: a synchronous send (`MPI_Ssend`).
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    #[track_caller]
    pub fn ssend<T: Value>(&self, value: T, dest: usize, tag: i32) -> Sending {
        self.post(
            Erased::one(value),
            dest,
            tag,
            SendMode::Synchronous,
            Location::caller(),
        )
    }

    /// Sends a value like [`send`](Self::send), but always completes immediately: a buffered send
    /// (`MPI_Bsend`). The messages that wait use memory without a limit.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    #[track_caller]
    pub fn bsend<T: Value>(&self, value: T, dest: usize, tag: i32) -> Sending {
        self.post(
            Erased::one(value),
            dest,
            tag,
            SendMode::Buffered,
            Location::caller(),
        )
    }

    /// Sends a value like [`send`](Self::send), to a rank that has already posted the receive: a
    /// ready send (`MPI_Rsend`). To a rank of another scheduler, the request completes when that
    /// scheduler has matched or refused the message.
    ///
    /// # Errors
    /// As for [`send`](Self::send). [`Error::NotReady`] if no matching receive is posted. The
    /// message is then not sent.
    #[track_caller]
    pub fn rsend<T: Value>(&self, value: T, dest: usize, tag: i32) -> Sending {
        self.post(
            Erased::one(value),
            dest,
            tag,
            SendMode::Ready,
            Location::caller(),
        )
    }

    /// Sends a copy of a slice to a rank, as [`send`](Self::send) sends a value. If the slice has
    /// more than 64 KiB, the request completes only when the message has been received. The message
    /// can be received [into a slice](Self::recv_into) or as a vector.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    #[track_caller]
    pub fn send_slice<T: Value + Copy>(&self, values: &[T], dest: usize, tag: i32) -> Sending {
        self.send_vec(values.to_vec(), dest, tag)
    }

    /// Returns a send request that has completed with `error`.
    #[track_caller]
    pub(super) fn refuse(&self, error: Error) -> Sending {
        let at = Location::caller();
        let entry = self.world().change(|matching| matching.failed(error, at));
        Sending::new(self.world(), entry)
    }

    #[inline(never)]
    fn receive(
        &self,
        source: Source,
        tag: TagOf,
        wanted: Option<Wanted>,
        at: &'static Location<'static>,
    ) -> u32 {
        let world = self.world();
        let selector = self.selector(source, tag);
        let (entry, word) = world.change(|matching| match selector {
            Ok(_) if matching.is_over => (matching.failed(Error::Over, at), 0),
            Ok(selector) => matching.receive(self.member, selector, at),
            Err(error) => (matching.failed(error, at), 0),
        });
        wake(word);
        wanted.inspect(|&wanted| world.want(entry, wanted));
        entry
    }

    /// Receives a value from a rank or [`ANY_SOURCE`](super::ANY_SOURCE), with a tag or
    /// [`ANY_TAG`](super::ANY_TAG) (`MPI_Recv`, `MPI_Irecv`). The receive is posted by this call,
    /// not when the request is awaited. If the request is dropped, a message that it has taken goes
    /// to another receive or back to the queue.
    ///
    /// # Errors
    /// The request completes with [`Error::Rank`] if the communicator does not have the source,
    /// [`Error::Tag`] if the tag is negative, [`Error::Over`] if the run ends first, or
    /// [`Error::Type`] if the message is not a `T`. [`Error::Unreadable`] if the bytes of the
    /// message cannot be decoded. After the last two, the message is lost.
    #[track_caller]
    #[inline(always)]
    pub fn recv<T: Value>(&self, source: impl Into<Source>, tag: impl Into<TagOf>) -> Receiving<T> {
        self.recv_at(source.into(), tag.into(), Location::caller())
    }

    #[inline(always)]
    pub(super) fn recv_at<T: Value>(
        &self,
        source: Source,
        tag: TagOf,
        at: &'static Location<'static>,
    ) -> Receiving<T> {
        let wanted = Wanted::one::<T>();
        let posted = self
            .envelope(source, tag)
            .and_then(|envelope| self.post_receive(envelope, wanted, at));
        let entry = posted.unwrap_or_else(|| self.receive(source, tag, Some(wanted), at));
        Receiving::new(self.world(), entry)
    }

    /// Posts a receive and returns its entry: the fast path. Returns `None` if a message waits at
    /// this rank, if this rank has no mailbox yet, or if the run has ended.
    #[inline(always)]
    fn post_receive(
        &self,
        envelope: Envelope,
        wanted: Wanted,
        at: &'static Location<'static>,
    ) -> Option<u32> {
        let mut matching = self.world().matching.borrow_mut();
        matching.post(self.member, envelope, wanted, at)
    }

    /// Receives a slice, or one value, into the beginning of `room`, and posts the receive like
    /// [`recv`](Self::recv). [`Status::count`] is the number of elements that were sent. The
    /// elements of `room` after the message keep their values. A vector that was sent as one value,
    /// by [`send`](Self::send), counts as one element, so only its first element is stored.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv). [`Error::Truncated`] if the message has more elements than
    /// `room`, which then contains the first ones.
    #[track_caller]
    pub fn recv_into<'a, T: Value + Copy>(
        &self,
        room: &'a mut [T],
        source: impl Into<Source>,
        tag: impl Into<TagOf>,
    ) -> ReceivingInto<'a, T> {
        let (source, tag) = (source.into(), tag.into());
        let wanted = Some(Wanted::many::<T>());
        let entry = self.receive(source, tag, wanted, Location::caller());
        ReceivingInto::new(self.world(), entry, room)
    }

    /// Starts a request that takes a message out of the queue without opening it: a matched probe
    /// (`MPI_Mprobe`). The request completes when a message has arrived. Like a receive, it takes
    /// part in the matching from this call on.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv), without [`Error::Type`] and [`Error::Unreadable`].
    #[track_caller]
    pub fn mprobe(&self, source: impl Into<Source>, tag: impl Into<TagOf>) -> ReceivingMessage {
        let entry = self.receive(source.into(), tag.into(), None, Location::caller());
        ReceivingMessage::new(self.world(), entry)
    }

    /// Removes a message from the queue like [`mprobe`](Self::mprobe), if one has arrived
    /// (`MPI_Improbe`). Otherwise yields once to the other processes and returns `None`. The queue
    /// is checked when the future is first polled, not by this call. If the value of the message is
    /// still with another scheduler, the future waits for it.
    ///
    /// # Errors
    /// As for [`mprobe`](Self::mprobe).
    #[track_caller]
    pub fn improbe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagOf>,
    ) -> impl Future<Output = Result<Option<Message>, Error>> {
        let (at, member) = (Location::caller(), self.member);
        let selector = self.selector(source.into(), tag.into());
        let world = Rc::clone(self.world());
        let found = find_or_yield(move || {
            let selector = selector.clone()?;
            let taken = world.change(|matching| match matching.is_over {
                true => Err(Error::Over),
                false => Ok(matching.receive_now(member, selector, at)),
            })?;
            let receiving = taken.map(|(entry, word)| {
                wake(word);
                ReceivingMessage::new(&world, entry)
            });
            Ok(receiving)
        });
        async move {
            match found.await? {
                // The value may still be on the scheduler of the sender.
                Some(receiving) => receiving.await.map(Some),
                None => Ok(None),
            }
        }
    }

    /// Starts a probe that completes when a receive with this source and tag would find a message,
    /// and leaves the message in the queue (`MPI_Probe`).
    ///
    /// # Errors
    /// As for [`mprobe`](Self::mprobe).
    #[track_caller]
    pub fn probe(&self, source: impl Into<Source>, tag: impl Into<TagOf>) -> Probing {
        let at = Location::caller();
        let selector = self.selector(source.into(), tag.into());
        let entry = self.world().change(|matching| match selector {
            Ok(selector) => matching.probe(self.member, selector, at),
            Err(error) => matching.failed(error, at),
        });
        Probing::new(self.world(), entry)
    }

    /// Checks for a message like [`probe`](Self::probe), without waiting for one (`MPI_Iprobe`). If
    /// none has arrived, yields once to the other processes and returns `None`. The queue is
    /// checked when the future is first polled, not by this call.
    ///
    /// # Errors
    /// As for [`mprobe`](Self::mprobe).
    pub fn iprobe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagOf>,
    ) -> impl Future<Output = Result<Option<Status>, Error>> {
        let selector = self.selector(source.into(), tag.into());
        let (world, member) = (Rc::clone(self.world()), self.member);
        find_or_yield(move || {
            let selector = selector.clone()?;
            let matching = world.matching.borrow();
            if matching.is_over {
                return Err(Error::Over);
            }
            let found = matching.find(member, selector);
            Ok(found.map(|message| matching.slab.entries[message as usize].status()))
        })
    }

    /// Sends a value to one rank and receives a value from another (`MPI_Sendrecv`). Both
    /// operations begin with this call, and the future waits for both. `tag` is the tag of the
    /// message that is sent, and `of_tag` is the tag of the message that is received.
    ///
    /// # Errors
    /// As for [`send`](Self::send) and [`recv`](Self::recv). If the send fails, the receive is
    /// cancelled.
    #[track_caller]
    pub fn sendrecv<T: Value, U: Value>(
        &self,
        value: T,
        dest: usize,
        tag: i32,
        source: impl Into<Source>,
        of_tag: impl Into<TagOf>,
    ) -> impl Future<Output = Result<(U, Status), Error>> {
        let received = self.recv::<U>(source, of_tag);
        let sent = self.send(value, dest, tag);
        async move {
            sent.await?;
            received.await
        }
    }
}
