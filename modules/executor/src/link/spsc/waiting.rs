//! How the two sides of a ring wait for each other: by polling, or by sleeping until they are
//! woken.

use std::hint;

use super::super::waiter::{ARMED, ID};
use super::{Consumer, OFFERED, Ring};
use crate::sync::Ordering;

impl<T, A> Ring<T, A> {
    /// Returns the id of the consumer if it waits for the tokens that were put in. Issues the
    /// SeqCst fence itself.
    #[inline]
    pub fn flush_put(&self) -> Option<u32> {
        self.signals().settle_reader()
    }

    /// Returns the id of the consumer if it waits for the tokens that were put in. The caller must
    /// have issued a SeqCst fence after the tokens.
    #[inline]
    pub fn unarm_reader(&self) -> Option<u32> {
        self.signals().unarm_reader()
    }

    /// Returns the id of the producer if it waits for space and tokens were taken out. The caller
    /// must have issued a SeqCst fence after the tokens were taken out.
    #[inline]
    pub fn unarm_writer(&self) -> Option<u32> {
        self.signals().unarm_writer()
    }

    /// Updates the number of pauses before the consumer polls with [`Ring::reader_is_ready`].
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    #[inline]
    pub unsafe fn pace_reader(&self) {
        if let Some(segments) = self.segments() {
            let (capacity, taken) = (self.capacity(), self.taken());
            // SAFETY: only the consumer uses `reading`, and its thread is the caller.
            segments.reading(|own| unsafe { (*own).pace.waits(taken, capacity) });
        }
    }

    /// Updates the number of pauses before the producer polls with [`Ring::writer_is_ready`].
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    #[inline]
    pub unsafe fn pace_writer(&self) {
        if let Some(segments) = self.segments() {
            let (capacity, put) = (self.capacity(), self.tail());
            // SAFETY: only the producer uses `writing`, and its thread is the caller.
            segments.writing(|own| unsafe { (*own).pace.waits(put, capacity) });
        }
    }

    /// Records whether a process waits at an end. Returns the value recorded before.
    ///
    /// # Safety
    /// Only the thread of that end may call this.
    pub unsafe fn set_waits(&self, producer: bool, waits: bool) -> bool {
        let noted = match producer {
            true => &self.producer.0.waits,
            false => &self.consumer.0.waits,
        };
        noted.with_mut(|noted| {
            // SAFETY: only the thread of this end accesses the flag.
            let before = unsafe { *noted };
            // Written only if it changes, because the other side reads this cache line.
            if before != waits {
                // SAFETY: as above.
                unsafe { *noted = waits };
            }
            before
        })
    }

    /// Returns true if the consumer need not wait, because a token is available or the producer has
    /// left. If `idle` is true and pauses have paid recently, first lets the producer get ahead.
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    #[inline]
    pub unsafe fn reader_is_ready(&self, idle: bool) -> bool {
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        let tail = self.tail();
        if tail <= head {
            return self.signals().is_ended();
        }
        if idle && let Some(segments) = self.segments() {
            // SAFETY: only the consumer uses `reading`, and its thread is the caller.
            let pauses = segments.reading(|own| unsafe { (*own).pace.pauses() });
            if tail - head <= pauses.into() {
                pause(pauses);
            }
        }
        true
    }

    /// Returns true if the ring has no space for another token, or for the one in the rendezvous
    /// slot.
    #[inline]
    fn is_full(&self, order: Ordering) -> bool {
        let tail = self.producer.0.tail.load(Ordering::Relaxed);
        let more = u64::from(tail & OFFERED == 0);
        (tail & !OFFERED) + more > self.consumer.0.head.load(order) + self.capacity()
    }

    /// Returns true if the producer need not wait, because the ring has space or the consumer has
    /// left. `idle` has the same effect as in [`Ring::reader_is_ready`].
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    #[inline]
    pub unsafe fn writer_is_ready(&self, idle: bool) -> bool {
        if self.is_full(Ordering::Relaxed) {
            return self.is_stopped();
        }
        if idle && let Some(segments) = self.segments() {
            // SAFETY: only the producer uses `writing`, and its thread is the caller.
            let pauses = segments.writing(|own| unsafe { (*own).pace.pauses() });
            if self.capacity() + self.taken() <= self.tail() + u64::from(pauses) {
                pause(pauses);
            }
        }
        true
    }

    /// Arms the consumer's end with `id` before the consumer waits. Returns false if the consumer
    /// need not wait, because a token is available or the producer has left. The consumer must then
    /// disarm and check again.
    #[inline]
    pub fn arm_reader(&self, id: u32) -> bool {
        self.signals().arm_reader(id);
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        self.producer.0.tail.load(Ordering::Acquire) & !OFFERED <= head
            && !self.signals().is_ended()
    }

    /// Ends the wait of the consumer. Returns its id if it was still armed. Otherwise the producer
    /// is about to wake it.
    #[inline]
    pub fn disarm_reader(&self) -> Option<u32> {
        self.signals().unarm_reader()
    }

    /// Ends the wait of the producer. Returns its id if it was still armed, like
    /// [`Ring::disarm_reader`].
    #[inline]
    pub fn disarm_writer(&self) -> Option<u32> {
        self.signals().disarm_writer()
    }

    /// Arms the producer's end with `id` before the producer waits. Returns false if the producer
    /// need not wait, because the ring has space or the consumer has left. The producer must then
    /// disarm and check again.
    #[inline]
    pub fn arm_writer(&self, id: u32) -> bool {
        self.signals().arm_writer(ARMED | (id & ID));
        self.is_full(Ordering::Acquire) && !self.is_stopped()
    }

    /// Arms the producer's end with a word that contains STOP, so that the producer waits only for
    /// the consumer to leave. The word contains ARMED only if a token that is taken may wake the
    /// producer too. Returns true if the consumer has already left.
    #[inline]
    pub fn arm_stop(&self, word: u32) -> bool {
        self.signals().arm_writer(word);
        self.is_stopped()
    }

    /// Returns the state word of the producer's end, or of the consumer's.
    #[inline]
    pub fn word(&self, producer: bool) -> u32 {
        self.signals().word(producer)
    }

    /// Returns true if the consumer has left.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.signals().is_stopped()
    }

    /// Marks the producer as gone. Returns the id of the consumer if it waits.
    #[inline]
    pub fn close_writer(&self) -> Option<u32> {
        self.signals().close_writer()
    }

    /// Marks the consumer as gone. Tokens that are popped afterwards do not count as read. Returns
    /// the id of the producer if it waits, also if it waits only for the consumer to leave
    /// ([`Ring::arm_stop`]).
    #[inline]
    pub fn close_reader(&self) -> Option<u32> {
        let Consumer { head, left, .. } = &self.consumer.0;
        left.store(head.load(Ordering::Relaxed), Ordering::Relaxed);
        self.signals().close_reader()
    }
}

/// Spins for a number of iterations.
#[inline]
fn pause(times: u32) {
    for _ in 0..times {
        hint::spin_loop();
    }
}
