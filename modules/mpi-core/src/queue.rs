//! Queue of the receives, or of the unexpected messages, of a rank.
//!
//! It is a linked list through the slab of entries, in order. Most lists have one entry or a few. A
//! long list gets an index by envelope, so that a match is found in constant time. The entries with
//! the same envelope form a list of their own.

use std::collections::HashMap;
use std::collections::hash_map;

use super::entry::{Entry, NONE};
use super::envelope::{Envelope, Mixing};

/// Length from which a list has an index.
const LONG: u32 = 32;

/// First and last of the entries with the same envelope.
type Index = HashMap<Envelope, (u32, u32), Mixing>;

pub(super) struct MatchQueue {
    head: u32,
    tail: u32,
    len: u32,
    index: Option<Box<Index>>,
}

impl MatchQueue {
    pub(super) const EMPTY: MatchQueue = MatchQueue {
        head: NONE,
        tail: NONE,
        len: 0,
        index: None,
    };

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Returns the number of the first entry, or `None` if the queue is empty.
    pub(super) fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// Appends the new entry `at`, which must not be in a queue. Its `order` must be larger than
    /// that of all entries in the queue.
    #[inline(always)]
    pub(super) fn push(&mut self, entries: &mut [Entry], at: u32) {
        if self.head == NONE {
            // An empty list has no index, and a new entry has no neighbours.
            debug_assert!(
                entries[at as usize].previous == NONE && entries[at as usize].next == NONE
            );
            (self.head, self.tail, self.len) = (at, at, 1);
            return;
        }
        self.insert_behind(entries, self.tail, at);
    }

    /// Inserts the entry `at` by its `order`, in which the queue ascends. The entry must not be in
    /// a queue. Takes time linear in the number of entries before it.
    pub(super) fn insert(&mut self, entries: &mut [Entry], at: u32) {
        let order = entries[at as usize].order;
        let mut before = NONE;
        let mut next = self.head;
        while next != NONE && entries[next as usize].order < order {
            (before, next) = (next, entries[next as usize].next);
        }
        self.insert_behind(entries, before, at);
    }

    #[inline(never)]
    fn insert_behind(&mut self, entries: &mut [Entry], before: u32, at: u32) {
        let next = match before {
            NONE => self.head,
            before => entries[before as usize].next,
        };
        entries[at as usize].previous = before;
        entries[at as usize].next = next;
        *match before {
            NONE => &mut self.head,
            before => &mut entries[before as usize].next,
        } = at;
        *match next {
            NONE => &mut self.tail,
            next => &mut entries[next as usize].previous,
        } = at;
        self.len += 1;
        if let Some(index) = &mut self.index {
            enter(index, entries, at);
        } else if self.len == LONG {
            self.build(entries);
        }
    }

    #[cold]
    fn build(&mut self, entries: &mut [Entry]) {
        let mut index = Box::<Index>::default();
        let mut at = self.head;
        while at != NONE {
            enter(&mut index, entries, at);
            at = entries[at as usize].next;
        }
        self.index = Some(index);
    }

    /// Removes an entry, which must be in this queue.
    #[inline(always)]
    pub(super) fn remove(&mut self, entries: &mut [Entry], at: u32) {
        if self.len == 1 {
            debug_assert!(self.head == at);
            (self.head, self.tail, self.len) = (NONE, NONE, 0);
            if self.index.is_some() {
                self.forget_index();
            }
            return;
        }
        self.unlink(entries, at);
    }

    #[inline(never)]
    fn forget_index(&mut self) {
        self.index = None;
    }

    /// Removes an entry of this queue, which must have at least two entries.
    #[inline(never)]
    fn unlink(&mut self, entries: &mut [Entry], at: u32) {
        let Entry { previous, next, .. } = entries[at as usize];
        *match previous {
            NONE => &mut self.head,
            previous => &mut entries[previous as usize].next,
        } = next;
        *match next {
            NONE => &mut self.tail,
            next => &mut entries[next as usize].previous,
        } = previous;
        self.len -= 1;
        if let Some(index) = &mut self.index {
            leave(index, entries, at);
        }
    }

    /// Returns the entry of the first message that a receive with the envelope `receive` accepts,
    /// or `None`.
    #[inline]
    pub(super) fn first_for(&self, entries: &[Entry], receive: Envelope) -> Option<u32> {
        if let Some(index) = &self.index
            && receive.is_exact()
        {
            return index.get(&receive).map(|&(first, _)| first);
        }
        self.find(entries, |message| receive.takes(message))
    }

    /// Removes and returns the first receive that accepts a message with the envelope `message`,
    /// with its entry number. `None` if no receive does.
    #[inline(always)]
    pub(super) fn take_first_that_takes<'a>(
        &mut self,
        entries: &'a mut [Entry],
        message: Envelope,
    ) -> Option<(u32, &'a mut Entry)> {
        let first = self.head;
        let only = self.len == 1 && self.index.is_none();
        if only && entries.get(first as usize)?.envelope.takes(message) {
            (self.head, self.tail, self.len) = (NONE, NONE, 0);
            return Some((first, &mut entries[first as usize]));
        }
        let receive = self.first_that_takes(entries, message)?;
        self.remove(entries, receive);
        Some((receive, &mut entries[receive as usize]))
    }

    /// Returns the entry of the first receive that accepts a message with the envelope `message`,
    /// or `None`.
    #[inline(always)]
    pub(super) fn first_that_takes(&self, entries: &[Entry], message: Envelope) -> Option<u32> {
        // It is usually the only one.
        match entries.get(self.head as usize) {
            None => None,
            Some(first) if first.envelope.takes(message) => Some(self.head),
            Some(_) => self.later_that_takes(entries, message),
        }
    }

    #[inline(never)]
    fn later_that_takes(&self, entries: &[Entry], message: Envelope) -> Option<u32> {
        match &self.index {
            Some(index) => first_taker(index, entries, message),
            None => self.find(entries, |receive| receive.takes(message)),
        }
    }

    #[inline(always)]
    fn find(&self, entries: &[Entry], fits: impl Fn(Envelope) -> bool) -> Option<u32> {
        let mut at = self.head;
        while at != NONE {
            let entry = &entries[at as usize];
            if fits(entry.envelope) {
                return Some(at);
            }
            at = entry.next;
        }
        None
    }
}

/// Returns the entry of the receive with the smallest `order` in `index` that accepts `message`, or
/// `None` if no receive does.
fn first_taker(index: &Index, entries: &[Entry], message: Envelope) -> Option<u32> {
    let first = message.takers().into_iter();
    let first = first.filter_map(|receive| index.get(&receive));
    let first = first.map(|&(first, _)| first);
    first.min_by_key(|&first| entries[first as usize].order)
}

/// Inserts the entry `at` into the list of its envelope, which ascends in `order`. The position is
/// nearly always the end. Creates the list if the envelope has none.
fn enter(index: &mut Index, entries: &mut [Entry], at: u32) {
    let order = entries[at as usize].order;
    match index.entry(entries[at as usize].envelope) {
        hash_map::Entry::Vacant(place) => {
            place.insert((at, at));
            (
                entries[at as usize].same_before,
                entries[at as usize].same_next,
            ) = (NONE, NONE);
        }
        hash_map::Entry::Occupied(mut place) => {
            let (first, last) = place.get_mut();
            let (mut before, mut next) = (*last, NONE);
            while before != NONE && entries[before as usize].order > order {
                (before, next) = (entries[before as usize].same_before, before);
            }
            (
                entries[at as usize].same_before,
                entries[at as usize].same_next,
            ) = (before, next);
            *match before {
                NONE => first,
                before => &mut entries[before as usize].same_next,
            } = at;
            *match next {
                NONE => last,
                next => &mut entries[next as usize].same_before,
            } = at;
        }
    }
}

fn leave(index: &mut Index, entries: &mut [Entry], at: u32) {
    let (before, next) = (
        entries[at as usize].same_before,
        entries[at as usize].same_next,
    );
    if before != NONE {
        entries[before as usize].same_next = next;
    }
    if next != NONE {
        entries[next as usize].same_before = before;
    }
    let envelope = entries[at as usize].envelope;
    if before == NONE && next == NONE {
        index.remove(&envelope);
    } else if let Some((first, last)) = index.get_mut(&envelope) {
        if before == NONE {
            *first = next;
        }
        if next == NONE {
            *last = before;
        }
    }
}
