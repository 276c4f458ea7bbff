//! A bounded lock-free ring between one producer and one consumer on different threads, with the
//! handshake by which each can sleep until the other has done something.
//!
//! Three cache lines, by who writes them: the producer's (`tail`, and slots for two tokens), the
//! consumer's (`head`), and one for what hardly changes: who sleeps, the capacity, where more slots
//! are. While each side waits for the other all the time, a token moves the producer's line over and
//! the consumer's back, and no other: neither side keeps anything else in them. Once two tokens are
//! in a ring that may hold them, it gets more slots, and each side a line of its own, in which it
//! notes how far the other was when it last looked (`segment`).
//!
//! A producer that finds a ring of capacity one full leaves its token in the second slot, the *rendezvous slot*,
//! and waits until there is room: then the token is written. The consumer takes it all the same if it
//! comes to it before, so two tokens go over in the time of one. Until either happens the producer
//! may take it back.
//!
//! # Why the orderings suffice
//!
//! * *Tokens.* The producer writes a slot, then stores `tail`; the consumer loads `tail`, then
//!   reads the slot. Store at least Release, load at least Acquire: the write of the slot happens
//!   before the read. The same with `head` in the other direction before a slot is used again.
//! * *Rendezvous.* `tail` says by a mark that its last token is in the rendezvous slot. To take it, the consumer puts
//!   the token's ticket, which no other has, into `claim`; to take it back, the producer puts it
//!   there, with another mark: by read-modify-writes, so who comes first has it, and the other sees
//!   that. The producer lowers `tail` before, so a consumer that came too late looks at a `tail`
//!   without the token, and raises it again if it came too late itself. The consumer reads the slot
//!   after it has claimed the token, and the producer after it has taken it back: never both.
//!   Tickets rise, so what the consumer finds in `claim` tells whether its ticket is an old one.
//!   It may also be newer than the `tail` that the consumer saw. Then the token at `head` is an
//!   older one that is not in the rendezvous slot any more, or this one; it is there to be taken in any case, and
//!   the newer one, claimed too early, cannot be taken back: it is written.
//! * *Sleep.* The consumer stores ARMED and then loads `tail`; the producer stores `tail` and then
//!   loads ARMED. Each writes one place and then reads the other, so both could read the old
//!   value under Release and Acquire, and the wake-up would be lost. Between store and load each
//!   has a SeqCst fence: in the single order of fences one comes first, and the load behind the
//!   other sees what was stored before it. A fence takes longer than a token, so who puts many in
//!   looks for ARMED without one, which finds it nearly always, and once more behind a fence
//!   when its process's turn ends ([`Ring::unarm_reader`]): a wake-up can be late by a turn, but
//!   is never lost. The same holds for a writer waiting for room, and for
//!   GONE in place of an index.
//! * *Wake.* ARMED is taken away by a read-modify-write, so of several who try, one wakes. It is
//!   set by one, too: so all changes of a word stand in one order that both sides agree on.
//!   The consumer may arm again in the middle of that: then the wake-up it gets is early, finds
//!   nothing, and it arms again.
//! * *Leaving.* The producer's GONE is stored after the last `tail`, and loaded before `tail` is: who
//!   sees GONE sees every token. The consumer's is stored before it drops what is left, and loaded
//!   after `head` is: who sees a `head` that a dropped token has moved sees GONE, and `left`, which
//!   tells where the reading ended.
//! * *More slots.* They are stored in `wide` before a `tail` that is beyond those in place.

mod waiting;

use std::mem;
use std::ptr;

use super::segment::{Line, Slot, Wide, slot};
use super::signals::Signals;
use super::waiter::GONE;
use crate::finally::Finally;
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering, UnsafeCell};

/// In `tail`: the last token is in the rendezvous slot.
const OFFERED: u64 = 1 << 63;
/// In `claim`, with a ticket: the consumer was first.
const TAKEN: u64 = 1;

#[repr(C)]
struct Producer<T> {
    /// How many tokens have been put in, and the mark OFFERED.
    tail: AtomicU64,
    /// The ticket of the last token in the rendezvous slot: an even number.
    ticket: AtomicU64,
    two: [Slot<T>; 2],
    /// Somebody waits at this end, as far as its process knows.
    waits: UnsafeCell<bool>,
}

#[repr(C)]
struct Consumer {
    /// How many tokens have been taken out.
    head: AtomicU64,
    claim: AtomicU64,
    /// How many had been when the consumer left.
    left: AtomicU64,
    /// As the producer's.
    waits: UnsafeCell<bool>,
}

#[repr(C)]
struct Rest<T, A> {
    signals: Signals,
    wide: AtomicPtr<Wide<T>>,
    capacity: AtomicU32,
    about: A,
}

/// What a push did; `Done` and `Offered` name who is to be woken, or leave that to
/// [`Ring::unarm_reader`].
pub enum Push<T> {
    Done(Option<u32>),
    Offered(Option<u32>),
    Full(T),
    Gone(T),
}

/// What a pop did; `Value` names who is to be woken, or leaves that to [`Ring::unarm_writer`].
pub enum Pop<T> {
    Value(T, Option<u32>),
    Empty,
    End,
}

/// What has become of a token in the rendezvous slot.
#[derive(Debug, PartialEq, Eq)]
pub enum Offered {
    /// There is no room for it yet.
    Waits,
    /// It is in the ring, or was taken out.
    Done,
    /// The consumer has left without it.
    Refused,
}

/// The ring, and what else its owner wants to have in the line that hardly changes. See the module's
/// text.
#[repr(C)]
pub struct Ring<T, A = ()> {
    producer: Line<Producer<T>>,
    consumer: Line<Consumer>,
    rest: Line<Rest<T, A>>,
}

// SAFETY: tokens cross threads through the ring, hence `T: Send`; every other field is either
// atomic or touched by one side only, which the contracts of the unsafe methods demand. What is behind
// `wide` is the ring's own.
unsafe impl<T: Send, A: Send> Send for Ring<T, A> {}
// SAFETY: as above; `about` is given out by reference.
unsafe impl<T: Send, A: Sync> Sync for Ring<T, A> {}

impl<T, A> Ring<T, A> {
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
                wide: AtomicPtr::new(ptr::null_mut()),
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

    /// The slots that are not in place, once there are any.
    #[inline(always)]
    fn wide(&self) -> Option<&Wide<T>> {
        // SAFETY: once it is stored it stays until the ring goes.
        unsafe { self.rest.0.wide.load(Ordering::Acquire).as_ref() }
    }

    /// How many tokens have been put in, for the producer: who puts in another has none in the rendezvous slot.
    #[inline(always)]
    fn tail(&self) -> u64 {
        self.producer.0.tail.load(Ordering::Relaxed) & !OFFERED
    }

    #[inline(always)]
    fn in_place(&self, at: u64) -> &Slot<T> {
        &self.producer.0.two[at as usize & 1]
    }

    /// Puts a token in. If that names nobody to be woken, [`Ring::unarm_reader`] has to be asked
    /// behind a fence, once for any number of tokens.
    ///
    /// If `offer`, and a ring of capacity one is just full, leaves it in the rendezvous slot. It is to be followed by
    /// [`Ring::offered`] until that does not wait, or by [`Ring::take_back`].
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    #[inline]
    pub unsafe fn push(&self, value: T, offer: bool) -> Push<T> {
        if self.signals().word(false) & GONE != 0 {
            return Push::Gone(value);
        }
        let tail = self.tail();
        if let Some(wide) = self.wide() {
            // SAFETY: the caller's promise.
            return unsafe { self.push_wide(wide, tail, value) };
        }
        let there = tail - self.consumer.0.head.load(Ordering::Acquire);
        if there == 0 {
            return Push::Done(self.put(self.in_place(tail), tail + 1, value));
        }
        let capacity = self.capacity();
        if capacity > there {
            let wide = self.widen(tail, capacity);
            // SAFETY: the caller's promise.
            return unsafe { self.push_wide(wide, tail, value) };
        }
        if !offer || there > 1 {
            // Of a token in the rendezvous slot that was forgotten there is none any more.
            self.producer.0.tail.store(tail, Ordering::Release);
            return Push::Full(value);
        }
        let ticket = self.producer.0.ticket.load(Ordering::Relaxed) + 2;
        // SAFETY: the slot is free: the token before the one that is there has been taken out.
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
        // SAFETY: the slot is free: head has passed it by, and Acquire ordered the reading of it
        // before this. The consumer does not look at it before `tail` is stored.
        unsafe { (*slot).with_mut(|slot| (*slot).write(value)) };
        self.producer.0.tail.store(tail, Ordering::Release);
        self.signals().unarm_reader()
    }

    /// Puts a token in where the producer knows of room without a look at the consumer's line; `token`
    /// is asked for it then. What is returned is that of [`Push::Done`].
    ///
    /// # Safety
    /// Only the producer's thread may call this; `token` does not touch the ring.
    #[inline(always)]
    pub unsafe fn push_at_once(&self, token: impl FnOnce() -> T) -> Option<Option<u32>> {
        let tail = self.tail();
        // SAFETY: `writing` is the producer's, and the slot that of a token for which there is room.
        let slot = self
            .wide()?
            .writing(|own| unsafe { ((*own).limit > tail).then(|| (*own).slot(tail)) })?;
        if self.signals().word(false) & GONE != 0 {
            return None;
        }
        Some(self.put(slot, tail + 1, token()))
    }

    /// The same for a ring that has no more slots than those in place, if the consumer has taken all.
    ///
    /// # Safety
    /// As for [`Ring::push_at_once`].
    #[inline(always)]
    pub unsafe fn push_in_place(&self, token: impl FnOnce() -> T) -> Option<Option<u32>> {
        let tail = self.tail();
        let head = self.consumer.0.head.load(Ordering::Acquire);
        if self.wide().is_some() || head != tail || self.signals().word(false) & GONE != 0 {
            return None;
        }
        Some(self.put(self.in_place(tail), tail + 1, token()))
    }

    /// # Safety
    /// Only the producer's thread may call this.
    #[inline]
    unsafe fn push_wide(&self, wide: &Wide<T>, tail: u64, value: T) -> Push<T> {
        // SAFETY: `writing` is the producer's, and the slot that of a token for which there is room.
        let slot = wide.writing(|own| unsafe {
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
    fn widen(&self, from: u64, capacity: u64) -> &Wide<T> {
        let wide = Box::into_raw(Wide::create(from, capacity));
        self.rest.0.wide.store(wide, Ordering::Release);
        // SAFETY: it stays until the ring goes.
        unsafe { &*wide }
    }

    /// What has become of the token in the rendezvous slot.
    ///
    /// # Safety
    /// Only the producer's thread may call this, after a push left a token in the rendezvous slot.
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

    /// Takes the token in the rendezvous slot back, unless the consumer has it or is about to: then
    /// [`Ring::flush_put`] has to be asked.
    ///
    /// # Safety
    /// As for [`Ring::offered`]; the token is in the rendezvous slot no more.
    pub unsafe fn take_back(&self) -> Option<T> {
        let Producer { tail, ticket, .. } = &self.producer.0;
        let (end, ticket) = (self.tail(), ticket.load(Ordering::Relaxed));
        tail.store(end - 1, Ordering::Release);
        if self.consumer.0.claim.swap(ticket, Ordering::AcqRel) == ticket | TAKEN {
            tail.store(end, Ordering::Release);
            return None;
        }
        let slot = self.in_place(end - 1);
        // SAFETY: the token is there, and the consumer knows that it is not its own.
        Some(slot.with(|slot| unsafe { (*slot).assume_init_read() }))
    }

    /// Up to which index the consumer may take tokens, which is `head` if there are none. The token in
    /// hand is claimed if it is the next.
    #[inline]
    fn look(&self, head: u64) -> u64 {
        loop {
            let tail = self.producer.0.tail.load(Ordering::Acquire);
            let end = tail & !OFFERED;
            if tail & OFFERED == 0 || end != head + 1 {
                return head.max(end - u64::from(tail != end));
            }
            let ticket = self.producer.0.ticket.load(Ordering::Acquire);
            let claim = &self.consumer.0.claim;
            let (was, mine) = (claim.load(Ordering::Acquire), ticket | TAKEN);
            // What is not below has been taken back, or came after one that has.
            let free = was < ticket;
            let (first, next) = (Ordering::AcqRel, Ordering::Acquire);
            if was == mine || free && claim.compare_exchange(was, mine, first, next).is_ok() {
                return end;
            }
        }
    }

    /// Takes a token out of which the consumer knows without a look at the producer's line. With whom to
    /// wake, as [`Ring::pop`].
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    #[inline(always)]
    pub unsafe fn pop_at_once(&self) -> Option<(T, Option<u32>)> {
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        let wide = self.wide()?;
        // SAFETY: what is behind `reading` is the consumer's.
        let slot = wide.reading(|own| unsafe {
            let there = (*own).seen > head && wide.from <= head;
            there.then(|| (*own).slot(head))
        })?;
        // SAFETY: the token is there.
        Some(unsafe { self.take_from(slot, head) })
    }

    /// As [`Ring::pop`], of a ring that has no more slots than those in place, and no token in the rendezvous slot: `None` if it has.
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    #[inline(always)]
    pub unsafe fn pop_in_place(&self) -> Option<Pop<T>> {
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        let tail = self.producer.0.tail.load(Ordering::Acquire);
        // What has been put in elsewhere came behind a `wide` that is there.
        if tail & OFFERED != 0 || self.wide().is_some() {
            return None;
        }
        if tail <= head {
            return (!self.signals().is_ended()).then_some(Pop::Empty);
        }
        // SAFETY: the token is there, and in place.
        let (value, waiter) = unsafe { self.take_from(self.in_place(head), head) };
        Some(Pop::Value(value, waiter))
    }

    /// Takes the next token out of its slot. With whom to wake.
    ///
    /// # Safety
    /// Only the consumer's thread may call this, if the token is there, and its own to take.
    #[inline(always)]
    unsafe fn take_from(&self, slot: *const Slot<T>, head: u64) -> (T, Option<u32>) {
        // SAFETY: the slot was written before `tail` passed it, and the producer leaves it alone until
        // `head` has, or it was claimed.
        let value = unsafe { (*slot).with(|slot| (*slot).assume_init_read()) };
        self.consumer.0.head.store(head + 1, Ordering::Release);
        (value, self.signals().unarm_writer())
    }

    /// Takes a token out. If that names nobody to be woken, [`Ring::unarm_writer`] has to be asked
    /// behind a fence, once for any number of tokens.
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    #[inline]
    pub unsafe fn pop(&self) -> Pop<T> {
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        let mut wide = self.wide();
        // SAFETY: what is behind `reading` is the consumer's.
        let seen = wide.map_or(0, |wide| wide.reading(|own| unsafe { (*own).seen }));
        if seen <= head {
            let mut end = self.look(head);
            if end == head {
                if !self.signals().is_ended() {
                    return Pop::Empty;
                }
                end = self.look(head);
                if end == head {
                    return Pop::End;
                }
            }
            // There may be more slots by now than before the look.
            wide = self.wide();
            if let Some(wide) = wide {
                // SAFETY: as above.
                wide.reading(|own| unsafe { (*own).seen = end });
            }
        }
        let slot = match wide {
            // SAFETY: as above; the token is there, as the look has shown.
            Some(wide) if wide.from <= head => wide.reading(|own| unsafe { (*own).slot(head) }),
            _ => &raw const *self.in_place(head),
        };
        // SAFETY: the token is there, or was claimed.
        let (value, waiter) = unsafe { self.take_from(slot, head) };
        Pop::Value(value, waiter)
    }

    /// Tokens that have been read so far.
    pub fn taken(&self) -> u64 {
        let Consumer { head, left, .. } = &self.consumer.0;
        head.load(Ordering::Acquire)
            .min(left.load(Ordering::Relaxed))
    }

    /// Tokens the ring may hold.
    pub fn capacity(&self) -> u64 {
        self.rest.0.capacity.load(Ordering::Relaxed).into()
    }

    /// Lets the ring hold `capacity` tokens, if that is more than now.
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    pub unsafe fn grow(&self, capacity: u32) {
        if u64::from(capacity) > self.capacity() {
            // What the producer knows of room may stay: where it ends, it looks again.
            self.rest.0.capacity.store(capacity, Ordering::Relaxed);
        }
    }
}

impl<T, A> Ring<T, A> {
    /// Drops the tokens of a ring that nobody else has. If one panics, the others are dropped all the same.
    fn drop_tokens(&self) {
        // SAFETY: nobody else has the ring any more, so this thread may be its consumer.
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
        let wide = self.rest.0.wide.load(Ordering::Relaxed);
        if !wide.is_null() {
            // SAFETY: `widen` made it, and nobody uses it any more.
            drop(unsafe { Box::from_raw(wide) });
        }
    }
}
