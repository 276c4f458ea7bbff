//! How the sides of a ring wait for each other: they look, or they sleep until they are woken.

use std::hint;

use super::super::waiter::{ARMED, ID};
use super::{Consumer, OFFERED, Ring};
use crate::sync::Ordering;

impl<T, A> Ring<T, A> {
    /// Who is to be woken for the tokens that were put in.
    #[inline]
    pub fn flush_put(&self) -> Option<u32> {
        self.signals().settle_reader()
    }

    /// As [`Ring::flush_put`], by who has a fence (SeqCst) behind the tokens.
    #[inline]
    pub fn unarm_reader(&self) -> Option<u32> {
        self.signals().unarm_reader()
    }

    /// Who is to be woken for the tokens that were taken out, by who has a fence (SeqCst) behind that.
    #[inline]
    pub fn unarm_writer(&self) -> Option<u32> {
        self.signals().unarm_writer()
    }

    /// Says that the consumer is going to look for tokens by [`Ring::reader_is_ready`].
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    #[inline]
    pub unsafe fn pace_reader(&self) {
        if let Some(wide) = self.wide() {
            let (capacity, taken) = (self.capacity(), self.taken());
            // SAFETY: `reading` is the consumer's, who calls.
            wide.reading(|own| unsafe { (*own).pace.waits(taken, capacity) });
        }
    }

    /// As [`Ring::pace_reader`], for the producer.
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    #[inline]
    pub unsafe fn pace_writer(&self) {
        if let Some(wide) = self.wide() {
            let (capacity, put) = (self.capacity(), self.tail());
            // SAFETY: `writing` is the producer's, who calls.
            wide.writing(|own| unsafe { (*own).pace.waits(put, capacity) });
        }
    }

    /// Notes whether somebody waits at an end, and tells what was noted before.
    ///
    /// # Safety
    /// Only the thread of that end may call this.
    pub unsafe fn set_waits(&self, producer: bool, waits: bool) -> bool {
        let noted = match producer {
            true => &self.producer.0.waits,
            false => &self.consumer.0.waits,
        };
        noted.with_mut(|noted| {
            // SAFETY: it is the caller's.
            let before = unsafe { *noted };
            // The other side looks at this line: it is not written for nothing.
            if before != waits {
                // SAFETY: as above.
                unsafe { *noted = waits };
            }
            before
        })
    }

    /// Whether the consumer need not wait: there is a token, or the producer has left. If `idle`,
    /// and that has paid lately, lets the producer get ahead first.
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
        if idle && let Some(wide) = self.wide() {
            // SAFETY: `reading` is the consumer's, who calls.
            let pauses = wide.reading(|own| unsafe { (*own).pace.pauses() });
            if tail - head <= pauses.into() {
                pause(pauses);
            }
        }
        true
    }

    /// Whether there is no room for the token in the rendezvous slot, or for another.
    #[inline]
    fn is_full(&self, order: Ordering) -> bool {
        let tail = self.producer.0.tail.load(Ordering::Relaxed);
        let more = u64::from(tail & OFFERED == 0);
        (tail & !OFFERED) + more > self.consumer.0.head.load(order) + self.capacity()
    }

    /// Whether the producer need not wait: there is room, or the consumer has left. As
    /// [`Ring::reader_is_ready`].
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    #[inline]
    pub unsafe fn writer_is_ready(&self, idle: bool) -> bool {
        if self.is_full(Ordering::Relaxed) {
            return self.is_stopped();
        }
        if idle && let Some(wide) = self.wide() {
            // SAFETY: `writing` is the producer's, who calls.
            let pauses = wide.writing(|own| unsafe { (*own).pace.pauses() });
            if self.capacity() + self.taken() <= self.tail() + u64::from(pauses) {
                pause(pauses);
            }
        }
        true
    }

    /// Says that the consumer, called `id`, is about to wait. False: it need not, so it is to
    /// disarm and look again.
    #[inline]
    pub fn arm_reader(&self, id: u32) -> bool {
        self.signals().arm_reader(id);
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        self.producer.0.tail.load(Ordering::Acquire) & !OFFERED <= head
            && !self.signals().is_ended()
    }

    /// The consumer does not wait any more. Its id, if it was still armed: else the producer is
    /// about to wake it.
    #[inline]
    pub fn disarm_reader(&self) -> Option<u32> {
        self.signals().unarm_reader()
    }

    /// As [`Ring::disarm_reader`], for the producer.
    #[inline]
    pub fn disarm_writer(&self) -> Option<u32> {
        self.signals().disarm_writer()
    }

    /// Says that the producer, called `id`, is about to wait. False: it need not, so it is to
    /// disarm and look again.
    #[inline]
    pub fn arm_writer(&self, id: u32) -> bool {
        self.signals().arm_writer(ARMED | (id & ID));
        self.is_full(Ordering::Acquire) && !self.is_stopped()
    }

    /// Says that the producer waits only for the consumer to leave, by a word with STOP; armed only
    /// if what the consumer takes may wake it too. True: the consumer has left already.
    #[inline]
    pub fn arm_stop(&self, word: u32) -> bool {
        self.signals().arm_writer(word);
        self.is_stopped()
    }

    /// Who waits at the producer's end, or at the consumer's: a word.
    #[inline]
    pub fn word(&self, producer: bool) -> u32 {
        self.signals().word(producer)
    }

    /// Whether the consumer has left.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.signals().is_stopped()
    }

    /// The producer leaves. Returns who is to be woken.
    #[inline]
    pub fn close_writer(&self) -> Option<u32> {
        self.signals().close_writer()
    }

    /// The consumer leaves: what it pops from now on was not read. Returns who is to be woken: also a
    /// producer that waits just for this ([`Ring::arm_stop`]).
    #[inline]
    pub fn close_reader(&self) -> Option<u32> {
        let Consumer { head, left, .. } = &self.consumer.0;
        left.store(head.load(Ordering::Relaxed), Ordering::Relaxed);
        self.signals().close_reader()
    }
}

/// Looks away for a moment.
#[inline]
fn pause(times: u32) {
    for _ in 0..times {
        hint::spin_loop();
    }
}
