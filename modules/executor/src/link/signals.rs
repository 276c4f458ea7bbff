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

    /// Returns the state word of the producer's end if `producer` is true, otherwise of the
    /// consumer's end. The load is Relaxed.
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

    /// Arms the word of the consumer with `id`, because the consumer is about to wait. Issues a
    /// SeqCst fence. The consumer must check the ring again afterwards.
    #[inline]
    pub(super) fn arm_reader(&self, id: u32) {
        self.reader.swap(ARMED | (id & ID), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Stores `word`, including its marks, as the word of the producer, because the producer is
    /// about to wait. Issues a SeqCst fence. The producer must check the ring again afterwards.
    #[inline]
    pub(super) fn arm_writer(&self, word: u32) {
        self.writer.swap(word, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Clears the marks ARMED and STOP of the consumer if it is visibly armed, and returns its id,
    /// to be woken. Otherwise returns `None`. Issues no fence.
    #[inline(always)]
    pub(super) fn unarm_reader(&self) -> Option<u32> {
        unarm(&self.reader)
    }

    /// Clears the marks ARMED and STOP of the producer if it is visibly armed, like
    /// [`Signals::unarm_reader`]. A producer that waits only for the consumer to leave is not
    /// armed.
    #[inline(always)]
    pub(super) fn unarm_writer(&self) -> Option<u32> {
        unarm(&self.writer)
    }

    /// Issues a SeqCst fence, and clears the marks of the consumer as [`Signals::unarm_reader`]
    /// does. Returns its id if it was armed. A consumer that does not see the stores before this
    /// call is certainly found here.
    #[inline]
    pub(super) fn settle_reader(&self) -> Option<u32> {
        fence(Ordering::SeqCst);
        unarm(&self.reader)
    }

    /// Ends the wait of the producer, including a wait for the consumer to leave. Returns its id if
    /// it was armed. Otherwise returns `None`, also after a wait for the consumer to leave only.
    #[inline]
    pub(super) fn disarm_writer(&self) -> Option<u32> {
        if self.writer.load(Ordering::Relaxed) & STOP == 0 {
            return unarm(&self.writer);
        }
        let was = self.writer.fetch_and(!(ARMED | STOP), Ordering::Relaxed);
        (was & ARMED != 0).then_some(was & ID)
    }

    /// Marks the producer as gone. Ends the wait of the consumer and returns its id, or returns
    /// `None` if it does not wait.
    #[inline]
    pub(super) fn close_writer(&self) -> Option<u32> {
        self.writer.fetch_or(GONE, Ordering::Release);
        self.settle_reader()
    }

    /// Marks the consumer as gone. Ends the wait of the producer and returns its id, also if it
    /// waits only for the consumer to leave. Returns `None` if the producer does not wait or has
    /// left.
    #[inline]
    pub(super) fn close_reader(&self) -> Option<u32> {
        self.reader.fetch_or(GONE, Ordering::Release);
        fence(Ordering::SeqCst);
        let was = self.writer.fetch_and(!(ARMED | STOP), Ordering::Relaxed);
        (was & GONE == 0 && was & (ARMED | STOP) != 0).then_some(was & ID)
    }
}

/// Clears the marks ARMED and STOP of an armed word, and returns the id in it. Returns `None`,
/// without a change, if the word is not armed.
#[inline]
fn unarm(word: &AtomicU32) -> Option<u32> {
    if word.load(Ordering::Relaxed) & ARMED == 0 {
        return None;
    }
    let was = word.fetch_and(!(ARMED | STOP), Ordering::Relaxed);
    (was & ARMED != 0).then_some(was & ID)
}
