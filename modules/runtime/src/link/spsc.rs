//! A bounded lock-free ring between one producer and one consumer on different threads, with the
//! handshake by which each can sleep until the other has done something.
//!
//! Three cache lines, by who writes them: the producer's (`tail`), the consumer's (`head`), and
//! the signals, which change only when somebody goes to sleep, is woken or leaves. While tokens
//! stream, each side reads the other's line only when its own copy of the other's index says
//! full or empty.
//!
//! # Why the orderings suffice
//!
//! * *Tokens.* The producer writes a slot, then stores `tail`; the consumer loads `tail`, then
//!   reads the slot. Store at least Release, load at least Acquire: the write of the slot happens
//!   before the read. The same with `head` in the other direction before a slot is used again.
//! * *Sleep.* The consumer stores ARMED and then loads `tail`; the producer stores `tail` and then
//!   loads ARMED. Each writes one place and then reads the other, so both could read the old
//!   value under Release and Acquire, and the wake-up would be lost. Between store and load each
//!   has a SeqCst fence: in the single order of fences one comes first, and the load behind the
//!   other sees what was stored before it. A fence takes longer than a token, so who puts many in
//!   looks for ARMED without one, which finds it nearly always, and once more behind a fence
//!   before its process's turn ends ([`Ring::settle_put`]): a wake-up can be late by a turn, but
//!   is never lost. The same holds for a writer waiting for room, and for
//!   GONE in place of an index.
//! * *Wake.* ARMED is taken away by a read-modify-write, so of several who try, one wakes. It is
//!   set by one, too: so all changes of a word stand in one order that both sides agree on.
//!   The consumer may arm again in the middle of that: then the wake-up it gets is early, finds
//!   nothing, and it arms again.
//! * *Leaving.* GONE is stored after the last `tail`, and loaded before `tail` is: who sees GONE
//!   sees every token.
//! * *Widening.* The producer goes on in a new, wider segment from some index on: it links that to the
//!   old one, stores the index there, and then `tail` behind it. Who sees a `tail` beyond the index
//!   sees both, and goes over when it has read what is before. So the ring allocates what it uses, and
//!   grows by the hand of its producer alone, whatever the consumer does meanwhile.

use std::hint;
use std::mem::MaybeUninit;
use std::ptr;

use super::pace::Pace;
use super::waiter::{ARMED, GONE, ID, NOBODY, STOP};
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering, UnsafeCell, fence};

#[repr(align(64))]
struct Line<T>(T);

#[repr(C)]
struct Producer<T> {
    tail: AtomicU64,
    /// The one slot of a ring of capacity one: so its token comes with `tail`, in one line.
    only: Slot<T>,
    own: UnsafeCell<Writing<T>>,
}

/// What the producer knows.
struct Writing<T> {
    /// Up to this index there is room, as far as is known.
    limit: u64,
    /// Where it writes, and from which index on.
    segment: *const Segment<T>,
    start: u64,
    pace: Pace,
    waits: bool,
}

struct Consumer<T> {
    head: AtomicU64,
    own: UnsafeCell<Reading<T>>,
}

/// What the consumer knows.
struct Reading<T> {
    /// Up to this index there are tokens, as far as is known.
    tail_seen: u64,
    segment: *const Segment<T>,
    pace: Pace,
    waits: bool,
}

struct Signals {
    reader: AtomicU32,
    writer: AtomicU32,
}

type Slot<T> = UnsafeCell<MaybeUninit<T>>;

/// Slots for the tokens from some index on, up to that at which the next segment begins.
struct Segment<T> {
    /// A power of two; none if the producer's line has the only one.
    slots: Box<[Slot<T>]>,
    until: AtomicU64,
    next: AtomicPtr<Segment<T>>,
}

/// Slots of the first segment that is allocated, at most.
const FIRST: u64 = 8;

impl<T> Segment<T> {
    fn new(slots: u64) -> Self {
        let mut all = Vec::with_capacity(slots as usize);
        all.resize_with(slots as usize, || UnsafeCell::new(MaybeUninit::uninit()));
        Segment {
            slots: all.into_boxed_slice(),
            until: AtomicU64::new(u64::MAX),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn len(&self) -> u64 {
        self.slots.len().max(1) as u64
    }
}

/// What a push did; `Done` names who is to be woken, or leaves that to [`Ring::settle_put`].
pub(crate) enum Push<T> {
    Done(Option<u32>),
    Full(T),
    Gone(T),
}

/// What a pop did; `Value` names who is to be woken, or leaves that to [`Ring::settle_taken`].
pub(crate) enum Pop<T> {
    Value(T, Option<u32>),
    Empty,
    End,
}

/// The ring. See the module's text.
pub(crate) struct Ring<T> {
    producer: Line<Producer<T>>,
    consumer: Line<Consumer<T>>,
    signals: Line<Signals>,
    capacity: AtomicU64,
    first: Box<Segment<T>>,
}

// SAFETY: tokens cross threads through the ring, hence `T: Send`; every other field is either
// atomic or touched by one side only, which the contracts of the unsafe methods demand. Segments are
// the ring's own.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Ring<T> {}

impl<T> Ring<T> {
    pub(crate) fn new(capacity: u32) -> Self {
        let capacity = u64::from(capacity.max(1));
        let slots = match capacity {
            1 => 0,
            wide => wide.next_power_of_two().min(FIRST),
        };
        let first = Box::new(Segment::new(slots));
        let segment: *const Segment<T> = &raw const *first;
        Ring {
            producer: Line(Producer {
                tail: AtomicU64::new(0),
                only: UnsafeCell::new(MaybeUninit::uninit()),
                own: UnsafeCell::new(Writing {
                    limit: 0,
                    segment,
                    start: 0,
                    pace: Pace::new(),
                    waits: false,
                }),
            }),
            consumer: Line(Consumer {
                head: AtomicU64::new(0),
                own: UnsafeCell::new(Reading {
                    tail_seen: 0,
                    segment,
                    pace: Pace::new(),
                    waits: false,
                }),
            }),
            signals: Line(Signals {
                reader: AtomicU32::new(NOBODY),
                writer: AtomicU32::new(NOBODY),
            }),
            capacity: AtomicU64::new(capacity),
            first,
        }
    }

    /// The slot of the token that is the `at`-th of all.
    #[inline(always)]
    fn slot<'a>(&'a self, segment: &'a Segment<T>, at: u64) -> &'a Slot<T> {
        let last = segment.slots.len().wrapping_sub(1);
        segment
            .slots
            .get(at as usize & last)
            .unwrap_or(&self.producer.0.only)
    }

    /// Puts a token in. If that names nobody to be woken, [`Ring::settle_put`] has to be asked
    /// later, once for any number of tokens.
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    #[inline]
    pub(crate) unsafe fn push(&self, value: T) -> Push<T> {
        if self.signals.0.reader.load(Ordering::Relaxed) & GONE != 0 {
            return Push::Gone(value);
        }
        let tail = self.producer.0.tail.load(Ordering::Relaxed);
        let own = &self.producer.0.own;
        // SAFETY: `own` is the producer's.
        let full =
            own.with_mut(|own| unsafe { (*own).limit == tail && !self.find_room(&mut *own, tail) });
        if full {
            return Push::Full(value);
        }
        // SAFETY: the producer's own; a segment is freed when the consumer has left it, and it goes
        // where the producer is and no further.
        let slot = own.with(|own| unsafe { &raw const *self.slot(&*(*own).segment, tail) });
        // SAFETY: the slot is free: head has passed it by, and Acquire ordered the reading of it
        // before this. The consumer does not look at it before `tail` is stored.
        unsafe { (*slot).with_mut(|slot| (*slot).write(value)) };
        self.producer.0.tail.store(tail + 1, Ordering::Release);
        Push::Done(unarm(&self.signals.0.reader))
    }

    /// Looks how far the consumer is, and goes over to a wider segment if there is room in the ring
    /// but not in the segment. False: the ring is full.
    #[inline]
    fn find_room(&self, own: &mut Writing<T>, tail: u64) -> bool {
        let head = self.consumer.0.head.load(Ordering::Acquire);
        let capacity = self.capacity.load(Ordering::Relaxed);
        if tail - head >= capacity {
            own.limit = tail;
            return false;
        }
        // SAFETY: as in `push`.
        let len = unsafe { (*own.segment).len() };
        let from = head.max(own.start);
        if tail - from >= len {
            self.widen(own, tail, len * 2);
        }
        // SAFETY: as in `push`.
        let len = unsafe { (*own.segment).len() };
        own.limit = (head + capacity).min(head.max(own.start) + len);
        true
    }

    #[cold]
    #[inline(never)]
    fn widen(&self, own: &mut Writing<T>, tail: u64, slots: u64) {
        let wider = Box::into_raw(Box::new(Segment::new(slots)));
        // SAFETY: as in `push`.
        let old = unsafe { &*own.segment };
        old.next.store(wider, Ordering::Release);
        old.until.store(tail, Ordering::Release);
        (own.segment, own.start) = (wider, tail);
    }

    /// Takes a token out. If that names nobody to be woken, [`Ring::settle_taken`] has to be asked
    /// later, once for any number of tokens.
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    #[inline]
    pub(crate) unsafe fn pop(&self) -> Pop<T> {
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        let own = &self.consumer.0.own;
        // SAFETY: `own` is the consumer's.
        let seen = own.with(|own| unsafe { (*own).tail_seen });
        if head == seen {
            let gone = self.signals.0.writer.load(Ordering::Acquire) & GONE != 0;
            let tail = self.producer.0.tail.load(Ordering::Acquire);
            if head == tail {
                return if gone { Pop::End } else { Pop::Empty };
            }
            // SAFETY: as above.
            own.with_mut(|own| unsafe { (*own).tail_seen = tail });
        }
        // SAFETY: as above. The slot was written before `tail` passed it, and the producer leaves it
        // alone until `head` has.
        let value = own.with_mut(|own| unsafe {
            if (*(*own).segment).until.load(Ordering::Relaxed) == head {
                self.go_over(&mut *own);
            }
            self.slot(&*(*own).segment, head)
                .with(|slot| (*slot).assume_init_read())
        });
        self.consumer.0.head.store(head + 1, Ordering::Release);
        Pop::Value(value, unarm(&self.signals.0.writer))
    }

    /// The consumer goes over to the next segment, and frees the one it leaves.
    #[cold]
    #[inline(never)]
    fn go_over(&self, own: &mut Reading<T>) {
        // SAFETY: the consumer's segment has not been freed. The next one was linked before `until`
        // was stored, and that before a `tail` which the consumer has seen by Acquire.
        let next = unsafe { (*own.segment).next.load(Ordering::Acquire) };
        let left = std::mem::replace(&mut own.segment, next);
        self.free(left);
    }

    fn free(&self, segment: *const Segment<T>) {
        if !ptr::eq(segment, &raw const *self.first) {
            // SAFETY: `widen` made it, both sides have left it, and its tokens have been taken.
            drop(unsafe { Box::from_raw(segment.cast_mut()) });
        }
    }

    /// Who is to be woken for the tokens that were put in.
    pub(crate) fn settle_put(&self) -> Option<u32> {
        disarm(&self.signals.0.reader)
    }

    /// Who is to be woken for the tokens that were taken out.
    pub(crate) fn settle_taken(&self) -> Option<u32> {
        disarm(&self.signals.0.writer)
    }

    /// Says that the consumer is going to look for tokens by [`Ring::reader_is_ready`].
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    pub(crate) unsafe fn pace_reader(&self) {
        let (capacity, taken) = (self.capacity(), self.taken());
        let own = &self.consumer.0.own;
        // SAFETY: `own` is the consumer's, who calls.
        own.with_mut(|own| unsafe { (*own).pace.waits(taken, capacity) });
    }

    /// As [`Ring::pace_reader`], for the producer.
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    pub(crate) unsafe fn pace_writer(&self) {
        let (capacity, put) = (
            self.capacity(),
            self.producer.0.tail.load(Ordering::Relaxed),
        );
        let own = &self.producer.0.own;
        // SAFETY: `own` is the producer's, who calls.
        own.with_mut(|own| unsafe { (*own).pace.waits(put, capacity) });
    }

    /// Notes whether somebody waits at an end, and tells what was noted before.
    ///
    /// # Safety
    /// Only the thread of that end may call this.
    pub(crate) unsafe fn set_waits(&self, producer: bool, waits: bool) -> bool {
        let old = |own: &mut bool| std::mem::replace(own, waits);
        if producer {
            let own = &self.producer.0.own;
            // SAFETY: `own` is the caller's.
            own.with_mut(|own| old(unsafe { &mut (*own).waits }))
        } else {
            let own = &self.consumer.0.own;
            // SAFETY: `own` is the caller's.
            own.with_mut(|own| old(unsafe { &mut (*own).waits }))
        }
    }

    /// Whether the consumer need not wait: there is a token, or the producer has left. If `idle`,
    /// and that has paid lately, lets the producer get ahead first.
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    pub(crate) unsafe fn reader_is_ready(&self, idle: bool) -> bool {
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        let there = self.producer.0.tail.load(Ordering::Relaxed) - head;
        if there == 0 {
            return self.signals.0.writer.load(Ordering::Relaxed) & GONE != 0;
        }
        let own = &self.consumer.0.own;
        // SAFETY: `own` is the consumer's, who calls.
        let pauses = own.with(|own| unsafe { (*own).pace.pauses() });
        if idle && there <= pauses.into() {
            pause(pauses);
        }
        true
    }

    /// Whether the producer need not wait: there is room, or the consumer has left. As
    /// [`Ring::reader_is_ready`].
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    pub(crate) unsafe fn writer_is_ready(&self, idle: bool) -> bool {
        let tail = self.producer.0.tail.load(Ordering::Relaxed);
        let capacity = self.capacity();
        let there = tail - self.consumer.0.head.load(Ordering::Relaxed);
        if there >= capacity {
            return self.is_stopped();
        }
        let own = &self.producer.0.own;
        // SAFETY: `own` is the producer's, who calls.
        let pauses = own.with(|own| unsafe { (*own).pace.pauses() });
        if idle && capacity - there <= pauses.into() {
            pause(pauses);
        }
        true
    }

    /// Says that the consumer, called `id`, is about to wait. False: it need not, so it is to
    /// disarm and look again.
    pub(crate) fn arm_reader(&self, id: u32) -> bool {
        let signals = &self.signals.0;
        signals.reader.swap(ARMED | (id & ID), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        self.producer.0.tail.load(Ordering::Acquire) == head
            && signals.writer.load(Ordering::Acquire) & GONE == 0
    }

    /// The consumer does not wait any more. Its id, if it was still armed: else the producer is
    /// about to wake it.
    pub(crate) fn disarm_reader(&self) -> Option<u32> {
        unarm(&self.signals.0.reader)
    }

    /// As [`Ring::disarm_reader`], for the producer.
    pub(crate) fn disarm_writer(&self) -> Option<u32> {
        let writer = &self.signals.0.writer;
        if writer.load(Ordering::Relaxed) & STOP != 0 {
            let was = writer.fetch_and(!(ARMED | STOP), Ordering::Relaxed);
            return (was & ARMED != 0).then_some(was & ID);
        }
        unarm(writer)
    }

    /// Says that the producer, called `id`, is about to wait. False: it need not, so it is to
    /// disarm and look again.
    pub(crate) fn arm_writer(&self, id: u32) -> bool {
        let signals = &self.signals.0;
        signals.writer.swap(ARMED | (id & ID), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let tail = self.producer.0.tail.load(Ordering::Relaxed);
        let capacity = self.capacity();
        tail - self.consumer.0.head.load(Ordering::Acquire) >= capacity
            && signals.reader.load(Ordering::Acquire) & GONE == 0
    }

    /// Says that the producer waits only for the consumer to leave, by a word with STOP; armed only
    /// if what the consumer takes may wake it too. True: the consumer has left already.
    pub(crate) fn arm_stop(&self, word: u32) -> bool {
        self.signals.0.writer.swap(word, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.is_stopped()
    }

    /// Who waits at the producer's end, or at the consumer's: a word.
    pub(crate) fn word(&self, producer: bool) -> u32 {
        let Signals { reader, writer } = &self.signals.0;
        if producer { writer } else { reader }.load(Ordering::Relaxed)
    }

    /// Whether the consumer has left.
    pub(crate) fn is_stopped(&self) -> bool {
        self.signals.0.reader.load(Ordering::Acquire) & GONE != 0
    }

    /// The producer leaves. Returns who is to be woken.
    pub(crate) fn close_writer(&self) -> Option<u32> {
        self.signals.0.writer.fetch_or(GONE, Ordering::Release);
        disarm(&self.signals.0.reader)
    }

    /// The consumer leaves. Returns who is to be woken: also a producer that waits just for this
    /// ([`Ring::arm_stop`]).
    pub(crate) fn close_reader(&self) -> Option<u32> {
        self.signals.0.reader.fetch_or(GONE, Ordering::Release);
        fence(Ordering::SeqCst);
        let writer = &self.signals.0.writer;
        let was = writer.fetch_and(!(ARMED | STOP), Ordering::Relaxed);
        (was & GONE == 0 && was & (ARMED | STOP) != 0).then_some(was & ID)
    }

    /// Tokens that have been taken out so far.
    pub(crate) fn taken(&self) -> u64 {
        self.consumer.0.head.load(Ordering::Acquire)
    }

    /// Tokens the ring may hold.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity.load(Ordering::Relaxed)
    }

    /// Lets the ring hold `capacity` tokens, if that is more than now.
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    pub(crate) unsafe fn grow(&self, capacity: u32) {
        if u64::from(capacity) > self.capacity() {
            // `limit` may stay: where it ends, the producer looks again.
            self.capacity.store(capacity.into(), Ordering::Relaxed);
        }
    }
}

/// Looks away for a moment.
#[inline]
fn pause(times: u32) {
    for _ in 0..times {
        hint::spin_loop();
    }
}

/// Takes the ARMED mark off a word, after something else was stored; the id, if it was there.
#[inline]
fn disarm(word: &AtomicU32) -> Option<u32> {
    fence(Ordering::SeqCst);
    unarm(word)
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

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // If dropping a token panics, the segments stay: memory is lost, and nothing else.
        // SAFETY: nobody else has the ring any more, so this thread may be its consumer.
        while let Pop::Value(..) = unsafe { self.pop() } {}
        // SAFETY: as above.
        let mut segment = self.consumer.0.own.with(|own| unsafe { (*own).segment });
        while !segment.is_null() {
            // SAFETY: of the segments from the consumer's on none has been freed.
            let next = unsafe { (*segment).next.load(Ordering::Relaxed) };
            self.free(segment);
            segment = next;
        }
    }
}
