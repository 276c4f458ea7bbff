//! How the two sides of a ring wait for each other: by polling, or by sleeping until they are
//! woken.

use std::hint;

use super::super::waiter::{ARMED, ID};
use super::{Consumer, OFFERED, Ring};
use crate::sync::Ordering;

impl<T, A> Ring<T, A> {
    /// Ends the wait of the consumer and returns its id, to be woken, if it waits for tokens.
    /// Otherwise returns `None`. Issues the SeqCst fence after the tokens that were put in.
    #[inline]
    pub fn flush_put(&self) -> Option<u32> {
        self.signals().settle_reader()
    }

    /// Ends the wait of the consumer and returns its id, to be woken, if it waits for tokens.
    /// Otherwise returns `None`. The caller must have issued a SeqCst fence after the tokens were
    /// put in.
    #[inline]
    pub fn unarm_reader(&self) -> Option<u32> {
        self.signals().unarm_reader()
    }

    /// Ends the wait of the producer and returns its id, to be woken, if it waits for space.
    /// Otherwise returns `None`. The caller must have issued a SeqCst fence after the tokens were
    /// taken out.
    #[inline]
    pub fn unarm_writer(&self) -> Option<u32> {
        self.signals().unarm_writer()
    }

    /// Updates the number of pauses before the consumer polls with [`Ring::reader_is_ready`]. Has
    /// no effect while the ring has only the two slots in place.
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

    /// Updates the number of pauses before the producer polls with [`Ring::writer_is_ready`]. Has
    /// no effect while the ring has only the two slots in place.
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

    /// Records whether a process waits at the producer's end if `producer` is true, otherwise at
    /// the consumer's end. Returns the value recorded before, which is false at first.
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
    /// left. If `idle` is true and pauses have paid recently, first spins for a moment to let the
    /// producer get ahead.
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

    /// Returns true if the ring has no space for another token. If a token is in the rendezvous
    /// slot, returns true if the ring has no space for that token. `order` is the ordering of the
    /// load of `head`.
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

    /// Ends the wait of the consumer. Returns its id if it was still armed. Otherwise returns
    /// `None`: the producer is about to wake it, or it did not wait.
    #[inline]
    pub fn disarm_reader(&self) -> Option<u32> {
        self.signals().unarm_reader()
    }

    /// Ends the wait of the producer, also one for the consumer to leave. Returns its id if it was
    /// still armed. Otherwise returns `None`: the consumer is about to wake it, or it did not wait
    /// for space.
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

    /// Returns the state word of the producer's end if `producer` is true, otherwise of the
    /// consumer's end.
    #[inline]
    pub fn word(&self, producer: bool) -> u32 {
        self.signals().word(producer)
    }

    /// Returns true if the consumer has left.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.signals().is_stopped()
    }

    /// Marks the producer as gone. Ends the wait of the consumer and returns its id, to be woken.
    /// Returns `None` if it does not wait.
    #[inline]
    pub fn close_writer(&self) -> Option<u32> {
        self.signals().close_writer()
    }

    /// Marks the consumer as gone. Tokens that are popped afterwards do not count as read. Ends the
    /// wait of the producer and returns its id, also if it waits only for the consumer to leave
    /// ([`Ring::arm_stop`]). Returns `None` if the producer does not wait or has left.
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
