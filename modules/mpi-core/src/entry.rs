//! What is kept of a message or of a receive, and the slab they are all in.

use std::mem;
use std::panic::Location;

use super::envelope::Envelope;
use super::parcel::{Parcel, Wanted};
use super::receive_buffer::ReceiveBuffer;

/// No entry.
pub(super) const NONE: u32 = u32::MAX;
/// No entry, as what was begun is done already, and that has yet to be told.
pub(super) const DONE: u32 = NONE - 1;

/// What has become of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryState {
    /// There is none; `next` is the next of those.
    Free,
    /// A receive waits for a message.
    Posted,
    /// A probe waits for a message, which it leaves where it is.
    Probing,
    /// A message waits for a receive. Nobody waits for that.
    Unexpected,
    /// A message waits for a receive, and a request of its sender for that.
    Held,
    /// A receive has its message, whose value is still on its way from another scheduler.
    Coming,
    /// The message that a receive was to take.
    Taken,
    /// A rank waits in a collective call.
    Meeting,
    /// An access to the memory of another rank waits for its answer.
    Accessing,
    /// Nobody waits for the answer any more, which is still to come.
    Forgotten,
    /// The answer is there.
    Answered,
    /// What a sender waited for: its message was taken. Or a call that could not be made: the error is the parcel.
    Done,
}

/// A cache line of what every message needs, and one for where it is in its lists: without that, time would depend on where
/// memory begins.
#[repr(C, align(64))]
pub(super) struct Entry {
    pub(super) parcel: Option<Parcel>,
    /// Of a message, or what a receive takes.
    pub(super) envelope: Envelope,
    /// The word of who waits for a change: as in a channel.
    pub(super) word: u32,
    /// Where the call is.
    pub(super) at: &'static Location<'static>,
    /// The rank in the world at which it is.
    pub(super) home: u32,
    pub(super) state: EntryState,
    pub(super) previous: u32,
    pub(super) next: u32,
    /// Among those of the same envelope, where there is an index.
    pub(super) same_before: u32,
    pub(super) same_next: u32,
    /// Counts up through all messages and receives.
    pub(super) order: u64,
    /// The scheduler that a message has come from; [`NONE`]: this one.
    pub(super) from: u32,
    /// What it is received as, if that may come as bytes.
    pub(super) wanted: Option<Wanted>,
    /// Where a receive would have its message. One that has it has it there, if it was put there.
    pub(super) buffer: Option<ReceiveBuffer>,
    /// What its sender is to be told that there is room for again, in bytes.
    pub(super) credit: u32,
}

/// All entries of a scheduler's ranks. Who has the number of one has it until it gives it back.
pub(super) struct Slab {
    pub(super) entries: Vec<Entry>,
    /// The first of those that are free.
    pub(super) free: u32,
}

impl Slab {
    pub(super) fn new() -> Self {
        Slab {
            entries: Vec::new(),
            free: NONE,
        }
    }

    /// A new entry without a parcel, for which nobody waits: its number.
    ///
    /// # Panics
    /// If there are 2^32 - 2.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        state: EntryState,
        home: u32,
        envelope: Envelope,
        order: u64,
        wanted: Option<Wanted>,
        at: &'static Location<'static>,
    ) -> u32 {
        let number = self.free;
        // Written where it is: what `remove` leaves as it has to be is left, and what lists have is theirs to write.
        if let Some(free) = self.entries.get_mut(number as usize) {
            self.free = free.next;
            debug_assert!(free.credit == 0);
            (free.state, free.home, free.envelope) = (state, home, envelope);
            (free.order, free.at, free.wanted) = (order, at, wanted);
            (free.previous, free.next, free.from) = (NONE, NONE, NONE);
            free.buffer = None;
            return number;
        }
        self.push(state, home, envelope, order, wanted, at)
    }

    /// The same, where none is free.
    #[inline(never)]
    fn push(
        &mut self,
        state: EntryState,
        home: u32,
        envelope: Envelope,
        order: u64,
        wanted: Option<Wanted>,
        at: &'static Location<'static>,
    ) -> u32 {
        let number = u32::try_from(self.entries.len()).ok();
        let number = number.filter(|&number| number < DONE);
        let number = number.expect("fewer than 2^32 - 2 messages and requests at a time");
        self.entries.push(Entry {
            parcel: None,
            envelope,
            word: 0,
            at,
            home,
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

    /// Gives an entry back. Its parcel has been taken out.
    #[inline]
    pub(super) fn remove(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        entry.word = 0;
        entry.release(at, &mut self.free);
    }
}

impl Entry {
    /// Has this message from here on; it had none.
    #[inline(always)]
    pub(super) fn put(&mut self, parcel: Parcel) {
        debug_assert!(self.parcel.is_none());
        // Nothing is dropped, and so nothing is looked for that might be.
        mem::forget(self.parcel.replace(parcel));
    }

    /// Is one of those that are free, by its number. Nobody waits for it any more.
    #[inline(always)]
    pub(super) fn release(&mut self, number: u32, free: &mut u32) {
        debug_assert!(self.parcel.is_none() && self.state != EntryState::Free && self.word == 0);
        self.state = EntryState::Free;
        self.next = std::mem::replace(free, number);
    }
}
