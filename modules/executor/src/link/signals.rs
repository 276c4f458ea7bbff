//! The state words of the two ends of a ring, and the handshake by which each side sleeps until the
//! other has done something. [`waiter`](super::waiter) describes the bits of the words, and
//! [`spsc`](super::spsc) explains why the orderings suffice.

use super::waiter::{ARMED, GONE, ID, NO_ID, STOP};
use crate::sync::{AtomicU32, Ordering, fence};

pub(super) struct Signals {
    reader: AtomicU32,
    writer: AtomicU32,
}

impl Signals {
    #[inline]
    pub(super) fn new() -> Self {
        Signals {
            reader: AtomicU32::new(NO_ID),
            writer: AtomicU32::new(NO_ID),
        }
    }

    /// Returns the state word of an end. The load is Relaxed.
    #[inline(always)]
    pub(super) fn word(&self, producer: bool) -> u32 {
        let end = match producer {
            true => &self.writer,
            false => &self.reader,
        };
        end.load(Ordering::Relaxed)
    }

    /// Returns true if the producer has left. All of its tokens are visible then.
    #[inline(always)]
    pub(super) fn is_ended(&self) -> bool {
        self.writer.load(Ordering::Acquire) & GONE != 0
    }

    /// Returns true if the consumer has left.
    #[inline(always)]
    pub(super) fn is_stopped(&self) -> bool {
        self.reader.load(Ordering::Acquire) & GONE != 0
    }

    /// Arms the word of the consumer, which is about to wait. The consumer must check the ring
    /// again afterwards.
    #[inline]
    pub(super) fn arm_reader(&self, id: u32) {
        self.reader.swap(ARMED | (id & ID), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Stores the word of the producer, which is about to wait. The producer must check the ring
    /// again afterwards.
    #[inline]
    pub(super) fn arm_writer(&self, word: u32) {
        self.writer.swap(word, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Clears the marks of a waiting consumer, if it is visibly armed. Returns its id in that case.
    #[inline(always)]
    pub(super) fn unarm_reader(&self) -> Option<u32> {
        unarm(&self.reader)
    }

    /// Clears the marks of a waiting producer, like [`Signals::unarm_reader`].
    #[inline(always)]
    pub(super) fn unarm_writer(&self) -> Option<u32> {
        unarm(&self.writer)
    }

    /// Clears the marks of a waiting consumer after a fence. Returns its id if it was armed. A
    /// consumer that does not see the stores before this call is certainly found here.
    #[inline]
    pub(super) fn settle_reader(&self) -> Option<u32> {
        fence(Ordering::SeqCst);
        unarm(&self.reader)
    }

    /// Ends the wait of the producer, including a wait for the consumer to leave. Returns its id if
    /// it was armed.
    #[inline]
    pub(super) fn disarm_writer(&self) -> Option<u32> {
        if self.writer.load(Ordering::Relaxed) & STOP == 0 {
            return unarm(&self.writer);
        }
        let was = self.writer.fetch_and(!(ARMED | STOP), Ordering::Relaxed);
        (was & ARMED != 0).then_some(was & ID)
    }

    /// Marks the producer as gone. Returns the id of the consumer if it waits.
    #[inline]
    pub(super) fn close_writer(&self) -> Option<u32> {
        self.writer.fetch_or(GONE, Ordering::Release);
        self.settle_reader()
    }

    /// Marks the consumer as gone. Returns the id of the producer if it waits, also if it waits
    /// only for the consumer to leave. Returns `None` if the producer has left.
    #[inline]
    pub(super) fn close_reader(&self) -> Option<u32> {
        self.reader.fetch_or(GONE, Ordering::Release);
        fence(Ordering::SeqCst);
        let was = self.writer.fetch_and(!(ARMED | STOP), Ordering::Relaxed);
        (was & GONE == 0 && was & (ARMED | STOP) != 0).then_some(was & ID)
    }
}

/// Clears the marks of an armed word. Returns the id if it was armed.
#[inline]
fn unarm(word: &AtomicU32) -> Option<u32> {
    if word.load(Ordering::Relaxed) & ARMED == 0 {
        return None;
    }
    let was = word.fetch_and(!(ARMED | STOP), Ordering::Relaxed);
    (was & ARMED != 0).then_some(was & ID)
}
