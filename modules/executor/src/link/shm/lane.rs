//! A lane: frames from one OS process to another, in order.
//!
//! A ring of bytes in shared memory with one writer and one reader. A frame is a header of 16 bytes and what it
//! carries, in one piece, at a multiple of 32. The first word of its header says that it is there: it is stored last,
//! with Release, and looked at first, with Acquire; before that, the first word of where the next frame will begin is
//! set to 0, so the reader stops there. So a small frame moves one cache line, the one that its reader looks at anyway,
//! and a writer that is killed leaves no half of one. Those words are set to 0 some lines ahead, after a frame was
//! published, and behind a frame of many lines where another such would end: to have that line from the reader's core would else be waited for. A frame that does not fit before the end of the ring begins at
//! its start, and a word says that the rest is passed by. `head` counts the bytes that were read: it is stored with
//! Release after they were, and loaded with Acquire before anything is written over them.
//!
//! A frame may be withheld, for a time: then those behind it cannot be reached, and all are published by one store.
//!
//! The reader trusts nothing: what cannot be a frame is an error. Its place is its own, and nothing is looked at
//! outside of the ring.

use std::cell::Cell;
use std::ptr::NonNull;

use super::ring::{ByteRing, CLEARED_LEAST, CLEARED_MOST, HEADER, MOST, ROOM, UNIT};
use crate::link::between::Header;
use crate::sync::Ordering;

/// The first word of what is no frame yet. That of a frame is its length and 1.
const NOTHING: u32 = 0;
/// In place of that: the next frame begins at the start of the ring.
const PASS: u32 = u32::MAX;

/// Whether the reader can read the memory of the writer; 0: it has not said so.
const GRANTED: u32 = 1;
const DENIED: u32 = 2;

/// A frame that cannot be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

#[inline(always)]
fn size_of(len: usize) -> u64 {
    ((HEADER + len) as u64).next_multiple_of(UNIT)
}

/// The writing end.
pub(crate) struct Sender {
    ring: ByteRing,
    /// Where the next frame begins. There is nothing there.
    tail: Cell<u64>,
    /// How much was read, as far as is known.
    head: Cell<u64>,
    /// Up to here first words are 0 from the tail on.
    cleared: Cell<u64>,
    /// Here it is, too, until the tail has passed it.
    foreseen: Cell<u64>,
    /// Where a frame is withheld, and its first word.
    held: Cell<Option<(u64, u32)>>,
}

impl Sender {
    /// # Safety
    /// It is the one sender of this lane there ever is.
    pub(crate) unsafe fn new(ring: ByteRing) -> Self {
        Sender {
            ring,
            tail: Cell::new(0),
            head: Cell::new(0),
            cleared: Cell::new(UNIT),
            foreseen: Cell::new(0),
            held: Cell::new(None),
        }
    }

    /// Whether there is room for so many bytes more, in memory, and for the word behind them.
    #[inline(always)]
    fn has_room(&self, size: u64) -> bool {
        self.tail.get() - self.head.get() + size + UNIT <= ROOM || self.look(size)
    }

    #[inline(never)]
    fn look(&self, size: u64) -> bool {
        let (known, tail) = (self.head.get(), self.tail.get());
        let head = self.ring.head().load(Ordering::Acquire);
        // A head that cannot be is as if nothing had been read.
        if (known..=tail).contains(&head) && head.is_multiple_of(UNIT) {
            self.head.set(head);
        }
        tail - self.head.get() + size + UNIT <= ROOM
    }

    /// Whether a frame with so many bytes can be sent now.
    pub(crate) fn is_ready(&self, len: usize) -> bool {
        let (size, rest) = (size_of(len), self.ring.rest(self.tail.get()));
        self.has_room(if rest < size { rest + size } else { size })
    }

    /// Sends a frame with at most [`MOST`] bytes; false: there is no room at the moment. One that can `wait` is withheld
    /// until another follows that cannot, or [`Sender::publish`] is called.
    #[inline]
    pub(crate) fn try_send(&self, header: Header, bytes: &[u8], wait: bool) -> bool {
        self.try_send_pieces(header, &[bytes], wait)
    }

    /// As [`Sender::try_send`], of bytes in pieces.
    #[inline(always)]
    pub(crate) fn try_send_pieces(&self, header: Header, pieces: &[&[u8]], wait: bool) -> bool {
        let len = pieces.iter().map(|piece| piece.len()).sum();
        assert!(len <= MOST);
        let (mut at, size) = (self.tail.get(), size_of(len));
        let rest = self.ring.rest(at);
        let passed = if rest < size { rest } else { 0 };
        if !self.has_room(passed + size) {
            return false;
        }
        if passed > 0 {
            self.clear_at(at + passed);
            self.say(at, PASS, true);
            at += passed;
        }
        // SAFETY: there is room for header and pieces up to the end of the ring. The reader has read what was there, and does
        // not look at more than the first word before that says that there is a frame.
        unsafe { self.ring.write(at, header, pieces) };
        self.clear_at(at + size);
        self.say(at, len as u32 + 1, wait);
        self.tail.set(at + size);
        if size > CLEARED_MOST {
            self.clear_for_another(size);
        } else if self.cleared.get() < at + size + CLEARED_LEAST {
            self.clear_ahead();
        }
        true
    }

    /// Has 0 for the first word at an index that has room, up to which all else is going to be written over.
    #[inline(always)]
    fn clear_at(&self, at: u64) {
        if self.cleared.get() <= at {
            if self.foreseen.get() != at {
                self.ring.first(at).store(NOTHING, Ordering::Relaxed);
            }
            self.cleared.set(at + UNIT);
        }
    }

    /// Sets the first word behind another frame of this size to 0, if what was there has been read.
    fn clear_for_another(&self, size: u64) {
        let end = self.tail.get() + size;
        if end + UNIT <= self.head.get() + ROOM {
            self.ring.first(end).store(NOTHING, Ordering::Relaxed);
            self.foreseen.set(end);
        }
    }

    /// Sets first words beyond the tail to 0, as far as what was there has been read.
    #[inline(never)]
    fn clear_ahead(&self) {
        let end = (self.tail.get() + CLEARED_MOST).min(self.head.get() + ROOM);
        let mut at = self.cleared.get();
        while at < end {
            self.ring.first(at).store(NOTHING, Ordering::Relaxed);
            at += UNIT;
        }
        self.cleared.set(at);
    }

    /// Stores a first word, or withholds it.
    #[inline(always)]
    fn say(&self, at: u64, word: u32, wait: bool) {
        match self.held.get() {
            // Nobody reaches it before the one that is withheld.
            Some(held) => {
                self.ring.first(at).store(word, Ordering::Relaxed);
                if !wait {
                    self.tell(held);
                }
            }
            None if wait => self.held.set(Some((at, word))),
            None => self.ring.first(at).store(word, Ordering::Release),
        }
    }

    fn tell(&self, (at, word): (u64, u32)) {
        self.held.set(None);
        self.ring.first(at).store(word, Ordering::Release);
    }

    /// Whether the reader can read the memory of this OS process, once it has said so.
    pub(crate) fn access(&self) -> Option<bool> {
        match self.ring.access().load(Ordering::Acquire) {
            0 => None,
            access => Some(access == GRANTED),
        }
    }

    /// Publishes what is withheld.
    #[inline]
    pub(crate) fn publish(&self) {
        if let Some(held) = self.held.get() {
            self.tell(held);
        }
    }
}

/// The reading end.
pub(crate) struct Receiver {
    ring: ByteRing,
    head: Cell<u64>,
}

/// A frame that is still in its lane.
pub(crate) struct LaneFrame {
    pub(crate) header: Header,
    /// What it carries: there until [`Receiver::pass`] is called.
    pub(crate) bytes: NonNull<[u8]>,
    /// Where the next one begins.
    end: u64,
}

impl Receiver {
    /// # Safety
    /// It is the one receiver of this lane there ever is.
    pub(crate) unsafe fn new(ring: ByteRing) -> Self {
        Receiver {
            ring,
            head: Cell::new(0),
        }
    }

    /// Says whether this OS process can read the memory of the writer.
    pub(crate) fn tell_access(&self, granted: bool) {
        let access = if granted { GRANTED } else { DENIED };
        self.ring.access().store(access, Ordering::Release);
    }

    /// Whether a frame is there.
    #[inline(always)]
    pub(crate) fn is_filled(&self) -> bool {
        self.ring.first(self.head.get()).load(Ordering::Acquire) != NOTHING
    }

    /// The next frame, which stays the next.
    #[inline]
    pub(crate) fn next(&self) -> Result<Option<LaneFrame>, Garbled> {
        let mut at = self.head.get();
        let mut word = self.ring.first(at).load(Ordering::Acquire);
        if word == NOTHING {
            return Ok(None);
        }
        if word == PASS {
            at += self.ring.rest(at);
            word = self.ring.first(at).load(Ordering::Acquire);
            // The frame was there before it was said where it is.
            if word == NOTHING || word == PASS {
                return Err(Garbled);
            }
        }
        let rest = self.ring.rest(at);
        let (len, size) = (word as usize - 1, size_of(word as usize - 1));
        if len > MOST || size > rest {
            return Err(Garbled);
        }
        // SAFETY: it is within the ring. What there is was written before the first word, and is not written again before
        // `head` is beyond it.
        let (header, bytes) = unsafe { self.ring.read(at, len) };
        Ok(Some(LaneFrame {
            header,
            bytes,
            end: at + size,
        }))
    }

    /// The frame was read.
    #[inline]
    pub(crate) fn pass(&self, frame: &LaneFrame) {
        self.head.set(frame.end);
        self.ring.head().store(frame.end, Ordering::Release);
    }
}
