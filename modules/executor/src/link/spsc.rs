//! A bounded lock-free ring between one producer and one consumer on different threads, with the
//! handshake by which each can sleep until the other has done something.
//!
//! The ring has three cache lines, by the side that writes them. The producer's line contains
//! `tail` and slots for two tokens, the consumer's contains `head`. The third contains data that
//! rarely changes: the state words, the capacity, and a pointer to more slots. While each side
//! waits for the other all the time, a token moves only the producer's line to the consumer and the
//! consumer's line back. So neither side keeps other data in them. Once two tokens are in a ring
//! that may hold them, the ring gets more slots. Each side then also gets a line of its own, in
//! which it stores how far the other was at the last check (`segment`).
//!
//! If a ring of capacity one is full, the producer puts its token into the second slot, the
//! *rendezvous slot*, and waits for space. When there is space, the token counts as written. A
//! consumer that reaches the token earlier takes it immediately, so two tokens pass in the time of
//! one. Until either happens, the producer may withdraw the token.
//!
//! # Why the orderings suffice
//!
//! * *Tokens.* The producer writes a slot, then stores `tail`. The consumer loads `tail`, then
//!   reads the slot. The store is at least Release and the load at least Acquire, so the write of
//!   the slot happens before the read. The same holds for `head` in the other direction, before a
//!   slot is used again.
//! * *Rendezvous.* A mark in `tail` says that the last token is in the rendezvous slot. To take it,
//!   the consumer puts the token's ticket, which is unique, into `claim`. To withdraw it, the
//!   producer puts the ticket there with another mark. Both use read-modify-writes, so the first
//!   one gets the token, and the other sees that. The producer lowers `tail` first, so a consumer
//!   that comes too late loads a `tail` without the token. If the producer is too late itself, it
//!   raises `tail` again. The consumer reads the slot only after it has claimed the token, and the
//!   producer only after it has withdrawn it, so never both do. Tickets increase, so the consumer
//!   finds in `claim` whether its ticket is out of date. The ticket may also be newer than the
//!   `tail` that the consumer loaded. Then the token at `head` is either an older one that has left
//!   the rendezvous slot, or the new one. The consumer may take it in both cases. The new token,
//!   claimed too early, cannot be withdrawn: it is written.
//! * *Sleep.* The consumer stores ARMED and then loads `tail`. The producer stores `tail` and then
//!   loads ARMED. Each stores to one location and then loads the other, so under Release and
//!   Acquire both could load the old value, and the wake-up would be lost. Therefore each has a
//!   SeqCst fence between store and load. One fence comes first in the single order of fences, and
//!   the load after the other one sees the store before it. A fence takes longer than a token. So a
//!   producer of many tokens checks for ARMED without a fence, which nearly always finds it. It
//!   checks once more after a fence when the poll of its process ends ([`Ring::unarm_reader`]). A
//!   wake-up can be late by a poll, but is never lost. The same holds for a writer that waits for
//!   space, and for GONE in place of an index.
//! * *Wake.* ARMED is cleared by a read-modify-write, so of several threads that try, one wakes. It
//!   is also set by one, so both sides agree on a single order of all changes of a word. The
//!   consumer may arm again in between. It then gets an early wake-up, finds no token, and arms
//!   again.
//! * *Leaving.* The producer stores GONE after its last `tail`, and the consumer loads GONE before
//!   `tail`. So if the consumer sees GONE, it sees every token. The consumer stores GONE before it
//!   drops the remaining tokens, and [`Ring::offered`] loads GONE after `head`. So if the producer
//!   sees a `head` that a dropped token has moved, it sees GONE. It then also sees `left`, the
//!   index at which the reading ended.
//! * *More slots.* They are stored in `segments` before any `tail` that is beyond the two slots in
//!   place.

mod waiting;

use std::mem;
use std::ptr;

use super::segment::{Line, Segments, Slot, slot};
use super::signals::Signals;
use super::waiter::GONE;
use crate::finally::Finally;
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering, UnsafeCell};

/// Mark in `tail`: the last token is in the rendezvous slot.
const OFFERED: u64 = 1 << 63;
/// Mark in `claim`, together with a ticket: the consumer has claimed the token.
const TAKEN: u64 = 1;

#[repr(C)]
struct Producer<T> {
    /// Number of tokens that have been put in, and the mark OFFERED.
    tail: AtomicU64,
    /// The ticket of the last token in the rendezvous slot, an even number.
    ticket: AtomicU64,
    two: [Slot<T>; 2],
    /// True if a process waits at this end, as last recorded by this end.
    waits: UnsafeCell<bool>,
}

#[repr(C)]
struct Consumer {
    /// Number of tokens that have been taken out.
    head: AtomicU64,
    claim: AtomicU64,
    /// Value of `head` when the consumer left.
    left: AtomicU64,
    /// The same as the producer's `waits`.
    waits: UnsafeCell<bool>,
}

#[repr(C)]
struct Rest<T, A> {
    signals: Signals,
    segments: AtomicPtr<Segments<T>>,
    capacity: AtomicU32,
    about: A,
}

/// The result of a push. `Done` and `Offered` contain the id to wake. Without an id, the caller
/// must call [`Ring::unarm_reader`]. `Full` and `Gone` contain the token that was not put in: the
/// ring has no space, or the consumer has left.
pub enum Push<T> {
    Done(Option<u32>),
    Offered(Option<u32>),
    Full(T),
    Gone(T),
}

/// The result of a pop. `Value` contains the token and the id to wake. Without an id, the caller
/// must call [`Ring::unarm_writer`]. `Empty` means that the ring has no token, and `End` that the
/// producer has left as well.
pub enum Pop<T> {
    Value(T, Option<u32>),
    Empty,
    End,
}

/// The state of a token in the rendezvous slot.
#[derive(Debug, PartialEq, Eq)]
pub enum Offered {
    /// The ring has no space for it yet.
    Waits,
    /// It is in the ring, or was taken out.
    Done,
    /// The consumer has left without it.
    Refused,
}

/// A single-producer single-consumer ring, with data of its owner in the line that rarely changes.
/// See the description of the module.
#[repr(C)]
pub struct Ring<T, A = ()> {
    producer: Line<Producer<T>>,
    consumer: Line<Consumer>,
    rest: Line<Rest<T, A>>,
}

// SAFETY: `T` must be `Send` because tokens cross threads through the ring. Every other field is
// either atomic or used by one side only, as the contracts of the unsafe methods require. The ring
// owns the allocation behind `segments`.
unsafe impl<T: Send, A: Send> Send for Ring<T, A> {}
// SAFETY: as above. `A` must be `Sync` because `about` is shared by reference.
unsafe impl<T: Send, A: Sync> Sync for Ring<T, A> {}

impl<T, A> Ring<T, A> {
    /// Creates an empty ring with the data of its owner. A capacity of 0 counts as 1.
    pub fn new(capacity: u32, about: A) -> Self {
        Ring {
            producer: Line(Producer {
                tail: AtomicU64::new(0),
                ticket: AtomicU64::new(0),
                two: [slot(), slot()],
                waits: UnsafeCell::new(false),
            }),
            consumer: Line(Consumer {
                head: AtomicU64::new(0),
                claim: AtomicU64::new(TAKEN),
                left: AtomicU64::new(u64::MAX),
                waits: UnsafeCell::new(false),
            }),
            rest: Line(Rest {
                signals: Signals::new(),
                segments: AtomicPtr::new(ptr::null_mut()),
                capacity: AtomicU32::new(capacity.max(1)),
                about,
            }),
        }
    }

    #[inline(always)]
    pub fn about(&self) -> &A {
        &self.rest.0.about
    }

    #[inline(always)]
    fn signals(&self) -> &Signals {
        &self.rest.0.signals
    }

    /// Returns the slots outside of the ring, or `None` if it has only the two slots in place.
    #[inline(always)]
    fn segments(&self) -> Option<&Segments<T>> {
        // SAFETY: the pointer is null, or valid until the ring is dropped.
        unsafe { self.rest.0.segments.load(Ordering::Acquire).as_ref() }
    }

    /// Returns the number of tokens that the producer has put in. The mark is removed, because a
    /// producer that puts in another token has none in the rendezvous slot.
    #[inline(always)]
    fn tail(&self) -> u64 {
        self.producer.0.tail.load(Ordering::Relaxed) & !OFFERED
    }

    #[inline(always)]
    fn in_place(&self, at: u64) -> &Slot<T> {
        &self.producer.0.two[at as usize & 1]
    }

    /// Puts in a token. Returns it in [`Push::Gone`] if the consumer has left, or in [`Push::Full`]
    /// if there is no space. If the result contains no id to wake, the caller must call
    /// [`Ring::unarm_reader`] after a fence, once for any number of tokens.
    ///
    /// If `offer` is true and a ring of capacity one is just full, the token goes into the
    /// rendezvous slot. The caller must then call [`Ring::offered`] until it no longer returns
    /// `Waits`, or [`Ring::take_back`].
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    #[inline]
    pub unsafe fn push(&self, value: T, offer: bool) -> Push<T> {
        if self.signals().word(false) & GONE != 0 {
            return Push::Gone(value);
        }
        let tail = self.tail();
        if let Some(segments) = self.segments() {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.push_to_segments(segments, tail, value) };
        }
        let there = tail - self.consumer.0.head.load(Ordering::Acquire);
        if there == 0 {
            return Push::Done(self.put(self.in_place(tail), tail + 1, value));
        }
        let capacity = self.capacity();
        if capacity > there {
            let segments = self.widen(tail, capacity);
            // SAFETY: guaranteed by the caller.
            return unsafe { self.push_to_segments(segments, tail, value) };
        }
        if !offer || there > 1 {
            // If a token in the rendezvous slot was forgotten, it cannot be withdrawn any more.
            self.producer.0.tail.store(tail, Ordering::Release);
            return Push::Full(value);
        }
        let ticket = self.producer.0.ticket.load(Ordering::Relaxed) + 2;
        // SAFETY: the slot is free, because the token before the last one has been taken out.
        unsafe { self.in_place(tail).with_mut(|slot| (*slot).write(value)) };
        self.producer.0.ticket.store(ticket, Ordering::Release);
        self.producer
            .0
            .tail
            .store((tail + 1) | OFFERED, Ordering::Release);
        Push::Offered(self.signals().unarm_reader())
    }

    #[inline(always)]
    fn put(&self, slot: *const Slot<T>, tail: u64, value: T) -> Option<u32> {
        // SAFETY: the slot is free: `head` has passed it, and Acquire ordered the read of it before
        // this write. The consumer does not access it before `tail` is stored.
        unsafe { (*slot).with_mut(|slot| (*slot).write(value)) };
        self.producer.0.tail.store(tail, Ordering::Release);
        self.signals().unarm_reader()
    }

    /// Puts in a token if the producer knows of space without loading the consumer's line, and
    /// calls `token` only in that case. Returns `Some` with the value of [`Push::Done`], or `None`
    /// if no token was put in, because no space is known or the consumer has left.
    ///
    /// # Safety
    /// Only the producer's thread may call this. `token` must not access the ring.
    #[inline(always)]
    pub unsafe fn try_push_cached(&self, token: impl FnOnce() -> T) -> Option<Option<u32>> {
        let tail = self.tail();
        // SAFETY: only the producer uses `writing`, and the ring has space for the token at `tail`.
        let slot = self
            .segments()?
            .writing(|own| unsafe { ((*own).limit > tail).then(|| (*own).slot(tail)) })?;
        if self.signals().word(false) & GONE != 0 {
            return None;
        }
        Some(self.put(slot, tail + 1, token()))
    }

    /// Puts in a token if the ring has only the two slots in place, the consumer has taken all
    /// tokens, and it has not left. Calls `token` only in that case. Returns as
    /// [`Ring::try_push_cached`] does.
    ///
    /// # Safety
    /// As for [`Ring::try_push_cached`].
    #[inline(always)]
    pub unsafe fn push_in_place(&self, token: impl FnOnce() -> T) -> Option<Option<u32>> {
        let tail = self.tail();
        let head = self.consumer.0.head.load(Ordering::Acquire);
        if self.segments().is_some() || head != tail || self.signals().word(false) & GONE != 0 {
            return None;
        }
        Some(self.put(self.in_place(tail), tail + 1, token()))
    }

    /// Puts a token into the slots outside of the ring, if there is space. Returns [`Push::Done`]
    /// or [`Push::Full`], and does not check whether the consumer has left.
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    #[inline]
    unsafe fn push_to_segments(&self, segments: &Segments<T>, tail: u64, value: T) -> Push<T> {
        // SAFETY: only the producer uses `writing`, and the ring has space for the token whose slot
        // is used.
        let slot = segments.writing(|own| unsafe {
            let room = (*own).limit != tail || {
                let head = self.consumer.0.head.load(Ordering::Acquire);
                let end = head + self.capacity();
                (*own).limit = tail;
                if tail < end {
                    (*own).make_room(head, tail, end);
                }
                tail < end
            };
            room.then(|| (*own).slot(tail))
        });
        match slot {
            Some(slot) => Push::Done(self.put(slot, tail + 1, value)),
            None => Push::Full(value),
        }
    }

    #[cold]
    #[inline(never)]
    fn widen(&self, from: u64, capacity: u64) -> &Segments<T> {
        let segments = Box::into_raw(Segments::create(from, capacity));
        self.rest.0.segments.store(segments, Ordering::Release);
        // SAFETY: the allocation is valid until the ring is dropped.
        unsafe { &*segments }
    }

    /// Returns the state of the token that was put into the rendezvous slot. [`Offered::Waits`]:
    /// the ring has no space for it yet. [`Offered::Done`]: the ring has space, or the consumer has
    /// taken it. [`Offered::Refused`]: the consumer has left without reading it.
    ///
    /// # Safety
    /// Only the producer's thread may call this, after a push has put a token into the rendezvous
    /// slot.
    pub unsafe fn offered(&self) -> Offered {
        let tail = self.tail();
        let head = self.consumer.0.head.load(Ordering::Acquire);
        if self.is_stopped() {
            return match tail > self.consumer.0.left.load(Ordering::Relaxed) {
                true => Offered::Refused,
                false => Offered::Done,
            };
        }
        match tail - head > self.capacity() {
            true => Offered::Waits,
            false => Offered::Done,
        }
    }

    /// Withdraws the token from the rendezvous slot, and returns it. Returns `None` if the consumer
    /// has taken the token or is about to take it. Then the caller must call [`Ring::flush_put`].
    ///
    /// # Safety
    /// As for [`Ring::offered`], and at most once for each token.
    pub unsafe fn take_back(&self) -> Option<T> {
        let Producer { tail, ticket, .. } = &self.producer.0;
        let (end, ticket) = (self.tail(), ticket.load(Ordering::Relaxed));
        tail.store(end - 1, Ordering::Release);
        if self.consumer.0.claim.swap(ticket, Ordering::AcqRel) == ticket | TAKEN {
            tail.store(end, Ordering::Release);
            return None;
        }
        let slot = self.in_place(end - 1);
        // SAFETY: the slot contains the token, and the consumer knows that it may not take it.
        Some(slot.with(|slot| unsafe { (*slot).assume_init_read() }))
    }

    /// Returns the index below which the consumer may take tokens, or `head` if the ring has none.
    /// `head` is the index of the next token to take. Claims the token in the rendezvous slot if it
    /// is the next one.
    #[inline]
    fn available_end(&self, head: u64) -> u64 {
        loop {
            let tail = self.producer.0.tail.load(Ordering::Acquire);
            let end = tail & !OFFERED;
            if tail & OFFERED == 0 || end != head + 1 {
                return head.max(end - u64::from(tail != end));
            }
            let ticket = self.producer.0.ticket.load(Ordering::Acquire);
            let claim = &self.consumer.0.claim;
            let (was, mine) = (claim.load(Ordering::Acquire), ticket | TAKEN);
            // If `was` is not lower, the token was withdrawn, or came after a withdrawn one.
            let free = was < ticket;
            let (first, next) = (Ordering::AcqRel, Ordering::Acquire);
            if was == mine || free && claim.compare_exchange(was, mine, first, next).is_ok() {
                return end;
            }
        }
    }

    /// Takes out a token of which the consumer knows without loading the producer's line. Returns
    /// it with the id to wake, as [`Ring::pop`] does, or `None` if the consumer knows of no token.
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    #[inline(always)]
    pub unsafe fn try_pop_cached(&self) -> Option<(T, Option<u32>)> {
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        let segments = self.segments()?;
        // SAFETY: only the consumer uses `reading`.
        let slot = segments.reading(|own| unsafe {
            let there = (*own).seen > head && segments.from <= head;
            there.then(|| (*own).slot(head))
        })?;
        // SAFETY: the slot contains the token.
        Some(unsafe { self.take_from(slot, head) })
    }

    /// Takes out a token as [`Ring::pop`] does, if the ring has only the two slots in place and no
    /// token is in the rendezvous slot. Otherwise returns `None`. Also returns `None` in place of
    /// [`Pop::End`], if the ring is empty and the producer has left.
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    #[inline(always)]
    pub unsafe fn pop_in_place(&self) -> Option<Pop<T>> {
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        let tail = self.producer.0.tail.load(Ordering::Acquire);
        // A token in another slot was put in after `segments` was stored, so it is visible here.
        if tail & OFFERED != 0 || self.segments().is_some() {
            return None;
        }
        if tail <= head {
            return (!self.signals().is_ended()).then_some(Pop::Empty);
        }
        // SAFETY: the token was put in, and its slot is in place.
        let (value, waiter) = unsafe { self.take_from(self.in_place(head), head) };
        Some(Pop::Value(value, waiter))
    }

    /// Takes the next token out of its slot. Returns it with the id to wake.
    ///
    /// # Safety
    /// Only the consumer's thread may call this. The slot must contain the token at `head`, and the
    /// consumer must be allowed to take it.
    #[inline(always)]
    unsafe fn take_from(&self, slot: *const Slot<T>, head: u64) -> (T, Option<u32>) {
        // SAFETY: the slot was written before `tail` passed it. The producer does not access it
        // before `head` has passed it, and it cannot withdraw a token that was claimed.
        let value = unsafe { (*slot).with(|slot| (*slot).assume_init_read()) };
        self.consumer.0.head.store(head + 1, Ordering::Release);
        (value, self.signals().unarm_writer())
    }

    /// Takes out the oldest token. Returns [`Pop::Empty`] if the ring has none, or [`Pop::End`] if
    /// the producer has left as well. If the result contains no id to wake, the caller must call
    /// [`Ring::unarm_writer`] after a fence, once for any number of tokens.
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    #[inline]
    pub unsafe fn pop(&self) -> Pop<T> {
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        let mut segments = self.segments();
        // SAFETY: only the consumer uses `reading`.
        let seen = segments.map_or(0, |segments| segments.reading(|own| unsafe { (*own).seen }));
        if seen <= head {
            let mut end = self.available_end(head);
            if end == head {
                if !self.signals().is_ended() {
                    return Pop::Empty;
                }
                end = self.available_end(head);
                if end == head {
                    return Pop::End;
                }
            }
            // The ring may have got more slots since the first load.
            segments = self.segments();
            if let Some(segments) = segments {
                // SAFETY: as above.
                segments.reading(|own| unsafe { (*own).seen = end });
            }
        }
        let slot = match segments {
            Some(segments) if segments.from <= head => {
                // SAFETY: as above. The slot contains the token, because `seen` or `look` is beyond
                // `head`.
                segments.reading(|own| unsafe { (*own).slot(head) })
            }
            _ => &raw const *self.in_place(head),
        };
        // SAFETY: the slot contains the token, and if it was offered, it is claimed.
        let (value, waiter) = unsafe { self.take_from(slot, head) };
        Pop::Value(value, waiter)
    }

    /// Returns the number of tokens that have been read so far. Tokens that are popped after
    /// [`Ring::close_reader`] do not count.
    pub fn taken(&self) -> u64 {
        let Consumer { head, left, .. } = &self.consumer.0;
        head.load(Ordering::Acquire)
            .min(left.load(Ordering::Relaxed))
    }

    /// Returns the number of tokens that the ring may hold. A token in the rendezvous slot does not
    /// count.
    pub fn capacity(&self) -> u64 {
        self.rest.0.capacity.load(Ordering::Relaxed).into()
    }

    /// Increases the capacity to `capacity`. A lower value has no effect.
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    pub unsafe fn grow(&self, capacity: u32) {
        if u64::from(capacity) > self.capacity() {
            // The producer's `limit` may stay, because the producer checks again when it gets
            // there.
            self.rest.0.capacity.store(capacity, Ordering::Relaxed);
        }
    }
}

impl<T, A> Ring<T, A> {
    /// Takes out and drops all tokens of a ring to which no other reference exists. If the drop of
    /// a token panics, the others are dropped nevertheless, and the panic continues.
    fn drop_tokens(&self) {
        // SAFETY: no other thread has the ring, so this one may act as the consumer.
        while let Pop::Value(token, _) = unsafe { self.pop() } {
            let rest = Finally(|| self.drop_tokens());
            drop(token);
            mem::forget(rest);
        }
    }
}

impl<T, A> Drop for Ring<T, A> {
    fn drop(&mut self) {
        self.drop_tokens();
        let segments = self.rest.0.segments.load(Ordering::Relaxed);
        if !segments.is_null() {
            // SAFETY: `widen` allocated it, and no other reference exists.
            drop(unsafe { Box::from_raw(segments) });
        }
    }
}
