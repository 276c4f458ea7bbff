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
//! * *Growing* happens while both threads stand still at a lock (the block round), which orders it.

use std::hint;
use std::mem::MaybeUninit;

use super::pace::Pace;
use super::waiter::{ARMED, GONE, HOOK, ID, NOBODY};
use crate::sync::{AtomicU32, AtomicU64, Ordering, UnsafeCell, fence};

#[repr(align(64))]
struct Line<T>(T);

#[repr(C)]
struct Producer<T> {
    tail: AtomicU64,
    /// The one slot of a ring of capacity one: so its token comes with `tail`, in one line.
    only: Slot<T>,
    head_seen: UnsafeCell<u64>,
    pace: UnsafeCell<Pace>,
}

struct Consumer {
    head: AtomicU64,
    tail_seen: UnsafeCell<u64>,
    pace: UnsafeCell<Pace>,
}

struct Signals {
    reader: AtomicU32,
    writer: AtomicU32,
}

type Slot<T> = UnsafeCell<MaybeUninit<T>>;

struct Store<T> {
    /// A power of two; none if the producer's line has the only one.
    slots: Box<[Slot<T>]>,
    capacity: u64,
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
    consumer: Line<Consumer>,
    signals: Line<Signals>,
    store: UnsafeCell<Store<T>>,
}

// SAFETY: tokens cross threads through the ring, hence `T: Send`; every other field is either
// atomic or touched by one side only, which the contracts of the unsafe methods demand.
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Ring<T> {}

fn slots<T>(capacity: u32) -> Box<[Slot<T>]> {
    let size = match capacity {
        0 | 1 => 0,
        wide => (wide as usize).next_power_of_two(),
    };
    let mut slots = Vec::with_capacity(size);
    slots.resize_with(size, || UnsafeCell::new(MaybeUninit::uninit()));
    slots.into_boxed_slice()
}

impl<T> Ring<T> {
    pub(crate) fn new(capacity: u32) -> Self {
        Ring {
            producer: Line(Producer {
                tail: AtomicU64::new(0),
                only: UnsafeCell::new(MaybeUninit::uninit()),
                head_seen: UnsafeCell::new(0),
                pace: UnsafeCell::new(Pace::new()),
            }),
            consumer: Line(Consumer {
                head: AtomicU64::new(0),
                tail_seen: UnsafeCell::new(0),
                pace: UnsafeCell::new(Pace::new()),
            }),
            signals: Line(Signals {
                reader: AtomicU32::new(NOBODY),
                writer: AtomicU32::new(NOBODY),
            }),
            store: UnsafeCell::new(Store {
                slots: slots(capacity),
                capacity: capacity.into(),
            }),
        }
    }

    /// The slot of the token that is the `at`-th of all.
    #[inline(always)]
    fn slot<'a>(&'a self, store: &'a Store<T>, at: u64) -> &'a Slot<T> {
        let last = store.slots.len().wrapping_sub(1);
        store
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
        // SAFETY: the store changes only while both sides stand still.
        let (capacity, slot) = self
            .store
            .with(|s| unsafe { ((*s).capacity, &raw const *self.slot(&*s, tail)) });
        // SAFETY: `head_seen` is the producer's own.
        let full = self.producer.0.head_seen.with_mut(|seen| unsafe {
            if tail - *seen >= capacity {
                *seen = self.consumer.0.head.load(Ordering::Acquire);
            }
            tail - *seen >= capacity
        });
        if full {
            return Push::Full(value);
        }
        // SAFETY: the slot is free: head has passed it by, and Acquire ordered the reading of it
        // before this. The consumer does not look at it before `tail` is stored.
        unsafe { (*slot).with_mut(|slot| (*slot).write(value)) };
        self.producer.0.tail.store(tail + 1, Ordering::Release);
        Push::Done(unarm(&self.signals.0.reader))
    }

    /// Takes a token out. If that names nobody to be woken, [`Ring::settle_taken`] has to be asked
    /// later, once for any number of tokens.
    ///
    /// # Safety
    /// Only the consumer's thread may call this.
    #[inline]
    pub(crate) unsafe fn pop(&self) -> Pop<T> {
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        // SAFETY: `tail_seen` is the consumer's own.
        let seen = self.consumer.0.tail_seen.with(|seen| unsafe { *seen });
        if head == seen {
            let gone = self.signals.0.writer.load(Ordering::Acquire) & GONE != 0;
            let tail = self.producer.0.tail.load(Ordering::Acquire);
            if head == tail {
                return if gone { Pop::End } else { Pop::Empty };
            }
            let tail_seen = &self.consumer.0.tail_seen;
            // SAFETY: as above.
            tail_seen.with_mut(|seen| unsafe { *seen = tail });
        }
        // SAFETY: the store changes only while both sides stand still. The slot was written
        // before `tail` passed it, and the producer leaves it alone until `head` has.
        let read =
            |s: *const _| unsafe { self.slot(&*s, head).with(|slot| (*slot).assume_init_read()) };
        let value = self.store.with(read);
        self.consumer.0.head.store(head + 1, Ordering::Release);
        Pop::Value(value, unarm(&self.signals.0.writer))
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
        // SAFETY: the caller's promise; the store changes only while both sides stand still.
        let capacity = unsafe { self.capacity() };
        let taken = self.consumer.0.head.load(Ordering::Relaxed);
        let pace = &self.consumer.0.pace;
        // SAFETY: the pace is the consumer's own.
        pace.with_mut(|pace| unsafe { (*pace).waits(taken, capacity) });
    }

    /// As [`Ring::pace_reader`], for the producer.
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    pub(crate) unsafe fn pace_writer(&self) {
        // SAFETY: the caller's promise; the store changes only while both sides stand still.
        let capacity = unsafe { self.capacity() };
        let put = self.producer.0.tail.load(Ordering::Relaxed);
        let pace = &self.producer.0.pace;
        // SAFETY: the pace is the producer's own.
        pace.with_mut(|pace| unsafe { (*pace).waits(put, capacity) });
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
        let pace = &self.consumer.0.pace;
        // SAFETY: the pace is the consumer's own.
        let pauses = pace.with(|pace| unsafe { (*pace).pauses() });
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
        // SAFETY: the store changes only while both sides stand still.
        let capacity = unsafe { self.capacity() };
        let there = tail - self.consumer.0.head.load(Ordering::Relaxed);
        if there >= capacity {
            return self.is_stopped();
        }
        let pace = &self.producer.0.pace;
        // SAFETY: the pace is the producer's own.
        let pauses = pace.with(|pace| unsafe { (*pace).pauses() });
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
        unarm(&self.signals.0.writer)
    }

    /// Says that the producer, called `id`, is about to wait. False: it need not, so it is to
    /// disarm and look again.
    pub(crate) fn arm_writer(&self, id: u32) -> bool {
        let signals = &self.signals.0;
        signals.writer.swap(ARMED | (id & ID), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let tail = self.producer.0.tail.load(Ordering::Relaxed);
        // SAFETY: the store changes only while both sides stand still.
        let capacity = self.store.with(|s| unsafe { (*s).capacity });
        tail - self.consumer.0.head.load(Ordering::Acquire) >= capacity
            && signals.reader.load(Ordering::Acquire) & GONE == 0
    }

    /// Says that the producer waits only for the consumer to leave. `word` is its id, armed only if
    /// what the consumer takes may wake it too. True: the consumer has left already.
    pub(crate) fn arm_stop(&self, word: u32) -> bool {
        self.signals.0.writer.swap(word, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.is_stopped()
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

    /// The consumer leaves. Returns who is to be woken: also a producer that is named, but not
    /// armed, for it may wait just for this ([`Ring::arm_stop`]).
    pub(crate) fn close_reader(&self) -> Option<u32> {
        self.signals.0.reader.fetch_or(GONE, Ordering::Release);
        fence(Ordering::SeqCst);
        let was = self.signals.0.writer.fetch_and(!ARMED, Ordering::Relaxed);
        let named = was & GONE == 0 && was & ID != NOBODY && was & HOOK == 0;
        (was & ARMED != 0 || named).then_some(was & ID)
    }

    /// Tokens that have been taken out so far.
    pub(crate) fn taken(&self) -> u64 {
        self.consumer.0.head.load(Ordering::Acquire)
    }

    /// Tokens the ring may hold.
    ///
    /// # Safety
    /// No other thread may be in [`Ring::grow`].
    pub(crate) unsafe fn capacity(&self) -> u64 {
        // SAFETY: the caller's promise.
        self.store.with(|s| unsafe { (*s).capacity })
    }

    /// Lets the ring hold `capacity` tokens, if that is more than now.
    ///
    /// # Safety
    /// Both sides must stand still, and both must later synchronise with the caller.
    pub(crate) unsafe fn grow(&self, capacity: u32) {
        let head = self.consumer.0.head.load(Ordering::Relaxed);
        let tail = self.producer.0.tail.load(Ordering::Relaxed);
        self.store.with_mut(|s| {
            // SAFETY: both sides stand still: nobody else looks at the store.
            let store = unsafe { &mut *s };
            if u64::from(capacity) <= store.capacity {
                return;
            }
            let wider = slots::<T>(capacity);
            for at in head..tail {
                let old = self
                    .slot(store, at)
                    // SAFETY: tokens between head and tail are there; each is moved once.
                    .with(|slot| unsafe { (*slot).assume_init_read() });
                wider[at as usize & (wider.len() - 1)].with_mut(|slot| {
                    // SAFETY: the new slots are ours alone.
                    unsafe { (*slot).write(old) };
                });
            }
            store.slots = wider;
            store.capacity = capacity.into();
        });
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

/// Takes the ARMED mark off a word; the id, if it was there.
#[inline]
fn unarm(word: &AtomicU32) -> Option<u32> {
    if word.load(Ordering::Relaxed) & ARMED == 0 {
        return None;
    }
    let was = word.fetch_and(!ARMED, Ordering::Relaxed);
    (was & ARMED != 0).then_some(was & ID)
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: nobody else has the ring any more, so this thread may be its consumer.
        while let Pop::Value(..) = unsafe { self.pop() } {}
    }
}
