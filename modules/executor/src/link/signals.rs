//! The words that say who waits at either end of a ring, and the handshake by which each side can
//! sleep until the other has done something. What the words hold is said in [`waiter`](super::waiter),
//! why the orderings suffice in [`spsc`](super::spsc).

use super::waiter::{ARMED, GONE, ID, NOBODY, STOP};
use crate::sync::{AtomicU32, Ordering, fence};

pub(super) struct Signals {
    reader: AtomicU32,
    writer: AtomicU32,
}

impl Signals {
    #[inline]
    pub(super) fn new() -> Self {
        Signals {
            reader: AtomicU32::new(NOBODY),
            writer: AtomicU32::new(NOBODY),
        }
    }

    /// The word of an end. Relaxed.
    #[inline(always)]
    pub(super) fn word(&self, producer: bool) -> u32 {
        let end = match producer {
            true => &self.writer,
            false => &self.reader,
        };
        end.load(Ordering::Relaxed)
    }

    /// Whether the producer has left: then all of its tokens can be seen.
    #[inline(always)]
    pub(super) fn is_ended(&self) -> bool {
        self.writer.load(Ordering::Acquire) & GONE != 0
    }

    /// Whether the consumer has left.
    #[inline(always)]
    pub(super) fn is_stopped(&self) -> bool {
        self.reader.load(Ordering::Acquire) & GONE != 0
    }

    /// The consumer is about to wait: before it looks once more.
    #[inline]
    pub(super) fn arm_reader(&self, id: u32) {
        self.reader.swap(ARMED | (id & ID), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The producer is about to wait, by this word: before it looks once more.
    #[inline]
    pub(super) fn arm_writer(&self, word: u32) {
        self.writer.swap(word, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Takes the mark of who waits off the reader's word, if it can be seen; the id, if it was armed.
    #[inline(always)]
    pub(super) fn unarm_reader(&self) -> Option<u32> {
        unarm(&self.reader)
    }

    /// As [`Signals::unarm_reader`], for the writer's.
    #[inline(always)]
    pub(super) fn unarm_writer(&self) -> Option<u32> {
        unarm(&self.writer)
    }

    /// The same for certain, after something else was stored.
    #[inline]
    pub(super) fn settle_reader(&self) -> Option<u32> {
        fence(Ordering::SeqCst);
        unarm(&self.reader)
    }

    /// The producer waits no more, not even for the consumer to leave. Its id, if it was armed.
    #[inline]
    pub(super) fn disarm_writer(&self) -> Option<u32> {
        if self.writer.load(Ordering::Relaxed) & STOP == 0 {
            return unarm(&self.writer);
        }
        let was = self.writer.fetch_and(!(ARMED | STOP), Ordering::Relaxed);
        (was & ARMED != 0).then_some(was & ID)
    }

    /// The producer leaves. Whom to wake.
    #[inline]
    pub(super) fn close_writer(&self) -> Option<u32> {
        self.writer.fetch_or(GONE, Ordering::Release);
        self.settle_reader()
    }

    /// The consumer leaves. Whom to wake: also a producer that waits for nothing else.
    #[inline]
    pub(super) fn close_reader(&self) -> Option<u32> {
        self.reader.fetch_or(GONE, Ordering::Release);
        fence(Ordering::SeqCst);
        let was = self.writer.fetch_and(!(ARMED | STOP), Ordering::Relaxed);
        (was & GONE == 0 && was & (ARMED | STOP) != 0).then_some(was & ID)
    }
}

/// Takes the marks of who waits off an armed word; the id, if it was armed.
#[inline]
fn unarm(word: &AtomicU32) -> Option<u32> {
    if word.load(Ordering::Relaxed) & ARMED == 0 {
        return None;
    }
    let was = word.fetch_and(!(ARMED | STOP), Ordering::Relaxed);
    (was & ARMED != 0).then_some(was & ID)
}
