//! A byte ring in shared memory with one writer and one reader: it passes frames from one scheduler
//! to another, in order.
//!
//! A frame is a header of 16 bytes and its payload, in one piece, at a multiple of 32. The first
//! word of the header marks the frame as present. The writer stores it last, with Release, and the
//! reader loads it first, with Acquire. Before that, the writer sets the first word of the next
//! frame to 0, so the reader stops there. A small frame therefore moves only the cache line that
//! its reader polls anyway. A writer that is killed leaves no partial frame.
//!
//! After a frame is published, the writer sets the first words of some lines ahead to 0. After a
//! frame of many lines it sets the word at which another such frame would end. Otherwise the next
//! frame would wait for that line from the reader's core. If a frame does not fit before the end of
//! the ring, it begins at the start, and a word marks the rest as skipped. `head` counts the bytes
//! that were read. The reader stores it with Release afterwards, and the writer loads it with
//! Acquire before it overwrites anything.
//!
//! A frame may be withheld for a time. The frames after it cannot be reached then, and one store
//! publishes all of them.
//!
//! The reader does not trust the contents: an invalid frame is an error. The reader keeps its own
//! index, and reads only within the ring.

use std::cell::Cell;
use std::ptr::NonNull;

use super::ring::{ByteRing, CAPACITY, CLEARED_LEAST, CLEARED_MOST, HEADER, MAX_PAYLOAD, UNIT};
use crate::link::between::Header;
use crate::sync::Ordering;

/// The first word before a frame is present. The first word of a frame is its length plus 1.
const EMPTY: u32 = 0;
/// The first word that marks the rest of the ring as skipped: the next frame begins at the start.
const SKIP: u32 = u32::MAX;

/// Whether the reader can read the memory of the writer. 0 means that it has not answered.
const GRANTED: u32 = 1;
const DENIED: u32 = 2;

/// The error of an invalid frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidFrame;

#[inline(always)]
fn size_of(len: usize) -> u64 {
    ((HEADER + len) as u64).next_multiple_of(UNIT)
}

/// The writing end.
pub(crate) struct Sender {
    ring: ByteRing,
    /// Index at which the next frame will begin. No frame is present there.
    tail: Cell<u64>,
    /// The last value of the reader's `head` that was loaded.
    head: Cell<u64>,
    /// The first words from the tail up to this index are 0.
    cleared: Cell<u64>,
    /// The first word at this index is 0, too, until the tail has passed it.
    cleared_ahead: Cell<u64>,
    /// Index and first word of the withheld frame.
    held: Cell<Option<(u64, u32)>>,
}

impl Sender {
    /// Creates the writing end.
    ///
    /// # Safety
    /// At most one sender may ever be created for this byte ring.
    pub(crate) unsafe fn new(ring: ByteRing) -> Self {
        Sender {
            ring,
            tail: Cell::new(0),
            head: Cell::new(0),
            cleared: Cell::new(UNIT),
            cleared_ahead: Cell::new(0),
            held: Cell::new(None),
        }
    }

    /// Returns true if the ring has space for `size` bytes after the tail and for the first word
    /// after them. Loads the reader's `head` if the last known value does not suffice.
    #[inline(always)]
    fn has_room(&self, size: u64) -> bool {
        self.tail.get() - self.head.get() + size + UNIT <= CAPACITY || self.update_head(size)
    }

    #[inline(never)]
    fn update_head(&self, size: u64) -> bool {
        let (known, tail) = (self.head.get(), self.tail.get());
        let head = self.ring.head().load(Ordering::Acquire);
        // An impossible `head` is ignored, as if the reader had not advanced.
        if (known..=tail).contains(&head) && head.is_multiple_of(UNIT) {
            self.head.set(head);
        }
        tail - self.head.get() + size + UNIT <= CAPACITY
    }

    /// Returns true if a frame with a payload of `len` bytes can be sent now. `len` must be at most
    /// [`MAX_PAYLOAD`].
    pub(crate) fn is_ready(&self, len: usize) -> bool {
        let (size, rest) = (size_of(len), self.ring.rest(self.tail.get()));
        self.has_room(if rest < size { rest + size } else { size })
    }

    /// Sends a frame. Returns false if there is no space at the moment. If `wait` is true, the
    /// frame is withheld until a frame with `wait` false follows, or [`Sender::publish`] is called.
    ///
    /// # Panics
    /// Panics if the payload has more than [`MAX_PAYLOAD`] bytes.
    #[inline]
    pub(crate) fn try_send(&self, header: Header, bytes: &[u8], wait: bool) -> bool {
        self.try_send_pieces(header, &[bytes], wait)
    }

    /// Sends a frame as [`Sender::try_send`] does, whose payload is the concatenation of the
    /// pieces.
    ///
    /// # Panics
    /// Panics if the pieces together have more than [`MAX_PAYLOAD`] bytes.
    #[inline(always)]
    pub(crate) fn try_send_pieces(&self, header: Header, pieces: &[&[u8]], wait: bool) -> bool {
        let len = pieces.iter().map(|piece| piece.len()).sum();
        assert!(len <= MAX_PAYLOAD);
        let (mut at, size) = (self.tail.get(), size_of(len));
        let rest = self.ring.rest(at);
        let passed = if rest < size { rest } else { 0 };
        if !self.has_room(passed + size) {
            return false;
        }
        if passed > 0 {
            self.clear_at(at + passed);
            self.set_first_word(at, SKIP, true);
            at += passed;
        }
        // SAFETY: the ring has space for the header and the pieces before its end. The reader has
        // read the previous contents, and reads only the first word until that marks a frame as
        // present.
        unsafe { self.ring.write(at, header, pieces) };
        self.clear_at(at + size);
        self.set_first_word(at, len as u32 + 1, wait);
        self.tail.set(at + size);
        if size > CLEARED_MOST {
            self.clear_for_another(size);
        } else if self.cleared.get() < at + size + CLEARED_LEAST {
            self.clear_ahead();
        }
        true
    }

    /// Makes the first word at index `at` 0, unless it is known to be 0. The ring must have space
    /// there, and everything before `at` is about to be overwritten.
    #[inline(always)]
    fn clear_at(&self, at: u64) {
        if self.cleared.get() <= at {
            if self.cleared_ahead.get() != at {
                self.ring.first(at).store(EMPTY, Ordering::Relaxed);
            }
            self.cleared.set(at + UNIT);
        }
    }

    /// Sets the first word after another frame of this size to 0, if the previous contents there
    /// have been read.
    fn clear_for_another(&self, size: u64) {
        let end = self.tail.get() + size;
        if end + UNIT <= self.head.get() + CAPACITY {
            self.ring.first(end).store(EMPTY, Ordering::Relaxed);
            self.cleared_ahead.set(end);
        }
    }

    /// Sets the first words after the tail to 0, as far as the previous contents have been read.
    #[inline(never)]
    fn clear_ahead(&self) {
        let end = (self.tail.get() + CLEARED_MOST).min(self.head.get() + CAPACITY);
        let mut at = self.cleared.get();
        while at < end {
            self.ring.first(at).store(EMPTY, Ordering::Relaxed);
            at += UNIT;
        }
        self.cleared.set(at);
    }

    /// Stores the first word of a frame at index `at`. If `wait` is true and no word is withheld,
    /// withholds this one instead. If another word is already withheld and `wait` is false,
    /// publishes that one too, and with it all frames after it.
    #[inline(always)]
    fn set_first_word(&self, at: u64, word: u32, wait: bool) {
        match self.held.get() {
            // The reader cannot reach this word before the withheld one.
            Some(held) => {
                self.ring.first(at).store(word, Ordering::Relaxed);
                if !wait {
                    self.publish_word(held);
                }
            }
            None if wait => self.held.set(Some((at, word))),
            None => self.ring.first(at).store(word, Ordering::Release),
        }
    }

    fn publish_word(&self, (at, word): (u64, u32)) {
        self.held.set(None);
        self.ring.first(at).store(word, Ordering::Release);
    }

    /// Returns true if the reader can read the memory of this OS process and prefers to. Returns
    /// `None` if the reader has not answered.
    pub(crate) fn access(&self) -> Option<bool> {
        match self.ring.access().load(Ordering::Acquire) {
            0 => None,
            access => Some(access == GRANTED),
        }
    }

    /// Publishes the withheld frame and all frames after it. Has no effect if none is withheld.
    #[inline]
    pub(crate) fn publish(&self) {
        if let Some(held) = self.held.get() {
            self.publish_word(held);
        }
    }
}

/// The reading end.
pub(crate) struct Receiver {
    ring: ByteRing,
    head: Cell<u64>,
}

/// A frame that is still in its byte ring.
pub(crate) struct RingFrame {
    pub(crate) header: Header,
    /// The payload, valid until [`Receiver::pass`] is called.
    pub(crate) bytes: NonNull<[u8]>,
    /// Index of the next frame.
    end: u64,
}

impl Receiver {
    /// Creates the reading end.
    ///
    /// # Safety
    /// At most one receiver may ever be created for this byte ring.
    pub(crate) unsafe fn new(ring: ByteRing) -> Self {
        Receiver {
            ring,
            head: Cell::new(0),
        }
    }

    /// Answers the writer whether this OS process can read its memory and prefers to. A later call
    /// replaces the answer.
    pub(crate) fn set_access(&self, granted: bool) {
        let access = if granted { GRANTED } else { DENIED };
        self.ring.access().store(access, Ordering::Release);
    }

    /// Returns true if a frame is present.
    #[inline(always)]
    pub(crate) fn is_filled(&self) -> bool {
        self.ring.first(self.head.get()).load(Ordering::Acquire) != EMPTY
    }

    /// Returns the next frame, and leaves it in the ring, where it stays until [`Receiver::pass`].
    /// Returns `None` if no frame is present.
    ///
    /// # Errors
    /// Returns [`InvalidFrame`] if the frame is longer than a frame can be or does not fit before
    /// the end of the ring, or if no frame follows the unused bytes at the end.
    #[inline]
    pub(crate) fn next(&self) -> Result<Option<RingFrame>, InvalidFrame> {
        let mut at = self.head.get();
        let mut word = self.ring.first(at).load(Ordering::Acquire);
        if word == EMPTY {
            return Ok(None);
        }
        if word == SKIP {
            at += self.ring.rest(at);
            word = self.ring.first(at).load(Ordering::Acquire);
            // The writer stores the frame before the word that refers to it.
            if word == EMPTY || word == SKIP {
                return Err(InvalidFrame);
            }
        }
        let rest = self.ring.rest(at);
        let (len, size) = (word as usize - 1, size_of(word as usize - 1));
        if len > MAX_PAYLOAD || size > rest {
            return Err(InvalidFrame);
        }
        // SAFETY: the frame is within the ring. Its contents were written before the first word,
        // and are not overwritten before `head` is beyond them.
        let (header, bytes) = unsafe { self.ring.read(at, len) };
        Ok(Some(RingFrame {
            header,
            bytes,
            end: at + size,
        }))
    }

    /// Marks the frame, and all before it, as read, so that the writer may overwrite them.
    #[inline]
    pub(crate) fn pass(&self, frame: &RingFrame) {
        self.head.set(frame.end);
        self.ring.head().store(frame.end, Ordering::Release);
    }
}
