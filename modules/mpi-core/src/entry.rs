//! Entries of messages and receives, and the slab that contains them.

use std::mem;
use std::panic::Location;

use super::envelope::Envelope;
use super::erased::{Erased, Wanted};
use super::receive_buffer::ReceiveBuffer;

/// Not an entry.
pub(super) const NONE: u32 = u32::MAX;
/// Not an entry: the request is already complete, and its result has not been taken yet.
pub(super) const DONE: u32 = NONE - 1;

/// State of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryState {
    /// The entry is free. `next` is the next free entry.
    Free,
    /// A receive waits for a message.
    Posted,
    /// A probe waits for a message, and leaves it in the queue.
    Probing,
    /// A message waits for a receive. Its sender does not wait.
    Unexpected,
    /// A message waits for a receive, and the request of its sender waits as well.
    Held,
    /// A receive has its message, but the value has not yet arrived from another scheduler.
    Arriving,
    /// A receive has its message.
    Taken,
    /// A rank waits in a collective call.
    InCollective,
    /// An access to the memory of another rank waits for its answer.
    Accessing,
    /// An access whose answer has not arrived, and which has no waiter any longer.
    Abandoned,
    /// An access whose answer has arrived.
    Answered,
    /// A send whose message was taken, or a call that failed. The value of a failed call is the
    /// error.
    Done,
}

/// A message, a receive, or another pending call.
///
/// The first cache line has the fields that every message needs. The links of queues begin on the
/// second one. The alignment makes the running time independent of the address of the slab.
#[repr(C, align(64))]
pub(super) struct Entry {
    pub(super) value: Option<Erased>,
    /// Envelope of a message, or the messages that a receive accepts.
    pub(super) envelope: Envelope,
    /// State word of the waiter at this entry, as for a channel.
    pub(super) word: u32,
    /// Source position of the call.
    pub(super) at: &'static Location<'static>,
    /// World rank of the receiver or of the accessed memory, or the number of its endpoint.
    pub(super) member: u32,
    pub(super) state: EntryState,
    pub(super) previous: u32,
    pub(super) next: u32,
    /// Links between entries with the same envelope, if the queue has an index.
    pub(super) same_before: u32,
    pub(super) same_next: u32,
    /// Sequence number of the message or receive on this scheduler.
    pub(super) order: u64,
    /// Scheduler that sent the message. [`NONE`] if it was sent on this one.
    pub(super) from: u32,
    /// Type that the receive expects. Set if the message may arrive as bytes.
    pub(super) wanted: Option<Wanted>,
    /// Buffer of the receive. After the receive has taken a message, it contains the bytes of the
    /// message if the value is `placed`.
    pub(super) buffer: Option<ReceiveBuffer>,
    /// Credit in bytes to return to the sender when a receive takes the message.
    pub(super) credit: u32,
}

/// All entries of a scheduler. The number of an entry belongs to its request until the entry is
/// removed.
pub(super) struct Slab {
    pub(super) entries: Vec<Entry>,
    /// First free entry.
    pub(super) free: u32,
}

impl Slab {
    pub(super) fn new() -> Self {
        Slab {
            entries: Vec::new(),
            free: NONE,
        }
    }

    /// Adds an entry without an erased value and without a waiter, and returns its number.
    ///
    /// # Panics
    /// If the slab already has 2^32 - 2 entries.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        state: EntryState,
        member: u32,
        envelope: Envelope,
        order: u64,
        wanted: Option<Wanted>,
        at: &'static Location<'static>,
    ) -> u32 {
        let number = self.free;
        // The entry is written in place. `remove` has already reset the other fields, and the
        // queues set `same_before` and `same_next`.
        if let Some(free) = self.entries.get_mut(number as usize) {
            self.free = free.next;
            debug_assert!(free.credit == 0);
            (free.state, free.member, free.envelope) = (state, member, envelope);
            (free.order, free.at, free.wanted) = (order, at, wanted);
            (free.previous, free.next, free.from) = (NONE, NONE, NONE);
            free.buffer = None;
            return number;
        }
        self.push(state, member, envelope, order, wanted, at)
    }

    /// Adds an entry like [`Slab::add`], at the end of the slab. Panics if the slab already has
    /// 2^32 - 2 entries.
    #[inline(never)]
    fn push(
        &mut self,
        state: EntryState,
        member: u32,
        envelope: Envelope,
        order: u64,
        wanted: Option<Wanted>,
        at: &'static Location<'static>,
    ) -> u32 {
        let number = u32::try_from(self.entries.len()).ok();
        let number = number.filter(|&number| number < DONE);
        let number = number.expect("fewer than 2^32 - 2 messages and requests at a time");
        self.entries.push(Entry {
            value: None,
            envelope,
            word: 0,
            at,
            member,
            state,
            previous: NONE,
            next: NONE,
            same_before: NONE,
            same_next: NONE,
            order,
            from: NONE,
            wanted,
            buffer: None,
            credit: 0,
        });
        number
    }

    /// Frees the entry with number `at`. Its value and its waiter must have been taken. Panics if
    /// the number does not exist.
    #[inline]
    pub(super) fn remove(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        entry.word = 0;
        entry.release(at, &mut self.free);
    }
}

impl Entry {
    /// Stores the value of the message. The entry must not have an erased value yet.
    #[inline(always)]
    pub(super) fn put(&mut self, value: Erased) {
        debug_assert!(self.value.is_none());
        // The old value is `None`, so forgetting it saves the check for a drop.
        mem::forget(self.value.replace(value));
    }

    /// Marks the entry as free, and makes it the first of the list of free entries. It must have no
    /// value and no waiter. `number` is its own number, and `free` is the first free entry of its
    /// slab.
    #[inline(always)]
    pub(super) fn release(&mut self, number: u32, free: &mut u32) {
        debug_assert!(self.value.is_none() && self.state != EntryState::Free && self.word == 0);
        self.state = EntryState::Free;
        self.next = std::mem::replace(free, number);
    }
}
