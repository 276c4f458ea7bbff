//! A process in memory, as its scheduler sees it: 16 bytes, behind which is its future
//! (`future.rs`).
//!
//! A prediction of who runs next: value prediction by a program (M. Lipasti, C. Wilkerson and J.
//! Shen, "Value locality and load value prediction", ASPLOS 1996, have processors do it).
//!
//! The run queue of one scheduler: ids of processes, each in it at most once.
//!
//! First in, first out, but for one place at the front: a process that was given a token to read
//! goes next, when the one that wrote it waits. So a token goes through a pipeline while it is in
//! the cache, and sources do not run ahead of what is wanted: the prime sieve does half the work.
//! Now and then the front place is passed by, for two who write to each other must not keep all
//! others waiting.

use crate::link::waiter::NOBODY;
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicPtr, AtomicU32};
use std::task::Context;

const QUEUED: u32 = 1 << 31;
const DONE: u32 = 1 << 30;
const TOLD: u32 = 1 << 29;
/// How many kinds there may be.
pub const MAX_KINDS: u32 = TOLD;

/// Polls a process with a context; without one, drops it. True when it has ended and the memory is
/// free.
pub(super) type Call = unsafe fn(NonNull<TaskHeader>, Option<&mut Context<'_>>) -> bool;

/// The part of a process that does not depend on its function.
#[repr(C)]
pub struct TaskHeader {
    call: Call,
    /// Number of the kind, and the marks QUEUED, DONE and TOLD. Atomic, though one thread alone has
    /// it, so that it is always written whole: a byte of it that was just written holds up who
    /// reads all of it.
    kind: AtomicU32,
    /// Which one of its kind.
    index: u32,
}

impl TaskHeader {
    #[inline]
    pub(super) fn new(call: Call, kind: u32, index: u32) -> Self {
        TaskHeader {
            call,
            kind: AtomicU32::new(kind),
            index,
        }
    }

    #[inline]
    pub fn kind(&self) -> u32 {
        self.kind.load(Relaxed) & !(QUEUED | DONE | TOLD)
    }

    #[inline]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Marks the process as queued; false if it was.
    #[inline]
    pub fn enqueue(&self) -> bool {
        let kind = self.kind.load(Relaxed);
        self.kind.store(kind | QUEUED, Relaxed);
        kind & QUEUED == 0
    }

    #[inline]
    pub fn is_queued(&self) -> bool {
        self.kind.load(Relaxed) & QUEUED != 0
    }

    /// Marks the process as one that was told to wait at a channel between schedulers.
    #[inline]
    pub fn set_told(&self) {
        self.kind.store(self.kind.load(Relaxed) | TOLD, Relaxed);
    }

    /// Takes that mark off; whether it was there.
    #[inline]
    pub fn take_told(&self) -> bool {
        let kind = self.kind.load(Relaxed);
        self.kind.store(kind & !TOLD, Relaxed);
        kind & TOLD != 0
    }

    #[inline]
    pub fn dequeue(&self) {
        self.kind.store(self.kind.load(Relaxed) & !QUEUED, Relaxed);
    }

    /// Marks the process as one whose future is being dropped; false if it was.
    #[inline]
    pub(super) fn finish(&self) -> bool {
        let kind = self.kind.load(Relaxed);
        self.kind.store(kind | DONE, Relaxed);
        kind & DONE == 0
    }
}

/// Lets the process go on until it waits or ends; true: it has ended and its memory is free.
///
/// # Safety
/// `header` came from `future::allocate`, and no earlier call ended it.
#[inline]
pub unsafe fn poll(header: NonNull<TaskHeader>, context: &mut Context<'_>) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (header.as_ref().call)(header, Some(context)) }
}

/// Drops the process where it stands.
///
/// # Safety
/// As for [`poll`]; the process must not be used afterwards.
#[inline]
pub unsafe fn discard(header: NonNull<TaskHeader>) {
    // SAFETY: the caller's promise.
    unsafe { (header.as_ref().call)(header, None) };
}

/// Who had the last turn of an even number in a batch, and the last of an odd one: two who write to
/// each other run in turns.
///
/// Who is to run stands in memory: the process that woke it wrote it there, and had it from a
/// channel, where it wrote itself in a turn of its own. A processor that could do the work of
/// several turns at once waits for that chain of stores and loads. Where the prediction is right
/// the turn goes on with it, and it is no part of the chain: whether it is right is a branch, which
/// the processor predicts.
pub(super) struct Predictions([AtomicPtr<TaskHeader>; 2]);

impl Predictions {
    #[inline]
    pub(super) fn new() -> Self {
        Predictions([const { AtomicPtr::new(ptr::null_mut()) }; 2])
    }

    /// Whether nobody has had a turn.
    #[inline]
    pub(super) fn are_unused(&self) -> bool {
        self.0.iter().all(|place| place.load(Relaxed).is_null())
    }

    /// The same process as the one that is given, which has the turn of this number in a batch.
    #[inline(always)]
    pub(super) fn confirm(&self, turn: usize, header: NonNull<TaskHeader>) -> NonNull<TaskHeader> {
        let predicted = &self.0[turn & 1];
        let same = predicted.load(Relaxed);
        // It is loaded once more, and atomic for that: of two that it knows to be equal the
        // compiler would take what is given.
        if predicted.load(Relaxed) == header.as_ptr() {
            // SAFETY: one thread alone writes it, so it is `header`, which is not null. The caller
            // follows it for `header`: it may, as it is of the same task. No task is made after the
            // first turn (`Scheduler::put`), so none has the address of another.
            return unsafe { NonNull::new_unchecked(same) };
        }
        predicted.store(header.as_ptr(), Relaxed);
        header
    }
}

/// How often in a row the front place goes first.
const STREAK: u32 = 256;

/// The queue; shuffled, it gives ids out in a random but reproducible order.
pub(crate) struct Queue {
    waiting: Waiting,
    streak: Cell<u32>,
    /// State of the generator; 0 when the queue is not shuffled.
    random: Cell<u64>,
}

/// The ids in it. One thread changes them; any may look, so they are atomic, and Relaxed: as good
/// as plain memory.
pub(crate) struct Waiting {
    next: AtomicU32,
    ids: Box<[AtomicU32]>,
    head: AtomicU32,
    tail: AtomicU32,
}

impl Waiting {
    #[inline(always)]
    fn slot(&self, at: u32) -> &AtomicU32 {
        let at = at as usize & (self.ids.len() - 1);
        // SAFETY: the length is a power of two, so the mask keeps `at` below it.
        unsafe { self.ids.get_unchecked(at) }
    }

    /// Whether there seems to be another than this one: for threads that only look, at a queue that
    /// may change meanwhile.
    #[inline]
    pub(crate) fn has_other(&self, than: u32) -> bool {
        let is_other = |id: u32| id != NOBODY && id != than;
        let (head, tail) = (self.head.load(Relaxed), self.tail.load(Relaxed));
        let len = tail.wrapping_sub(head).min(self.ids.len() as u32);
        is_other(self.next.load(Relaxed))
            || (0..len).any(|at| is_other(self.slot(head.wrapping_add(at)).load(Relaxed)))
    }
}

impl Queue {
    /// A queue with room for so many processes.
    #[inline]
    pub(crate) fn new(processes: usize, shuffle: Option<u64>) -> Self {
        let size = processes.max(1).next_power_of_two();
        Queue {
            waiting: Waiting {
                next: AtomicU32::new(NOBODY),
                ids: (0..size).map(|_| AtomicU32::new(0)).collect(),
                head: AtomicU32::new(0),
                tail: AtomicU32::new(0),
            },
            streak: Cell::new(0),
            // Not 0, whatever the seed.
            random: Cell::new(shuffle.map_or(0, |seed| mix(seed) | 1)),
        }
    }

    /// What other threads may look at.
    #[inline]
    pub(crate) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    #[inline]
    pub(crate) fn push(&self, id: u32) {
        let Waiting { tail: end, .. } = &self.waiting;
        let tail = end.load(Relaxed);
        self.waiting.slot(tail).store(id, Relaxed);
        end.store(tail.wrapping_add(1), Relaxed);
    }

    /// Puts this one at the front, and takes out who was there.
    #[inline(always)]
    fn replace_next(&self, id: u32) -> u32 {
        let next = self.waiting.next.load(Relaxed);
        self.waiting.next.store(id, Relaxed);
        next
    }

    /// Gives the id the place at the front; who had it goes to the end.
    #[inline]
    pub(crate) fn push_next(&self, id: u32) {
        let id = if self.random.get() == 0 {
            self.replace_next(id)
        } else {
            id
        };
        if id != NOBODY {
            self.push(id);
        }
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<u32> {
        let next = self.replace_next(NOBODY);
        if next != NOBODY {
            let streak = self.streak.get();
            self.streak.set(streak + 1);
            if streak < STREAK {
                return Some(next);
            }
            self.push(next);
        }
        self.streak.set(0);
        let head = self.waiting.head.load(Relaxed);
        if head == self.waiting.tail.load(Relaxed) {
            return None;
        }
        if self.random.get() != 0 {
            self.draw();
        }
        self.waiting.head.store(head.wrapping_add(1), Relaxed);
        Some(self.waiting.slot(head).load(Relaxed))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        let Waiting {
            next, head, tail, ..
        } = &self.waiting;
        head.load(Relaxed) == tail.load(Relaxed) && next.load(Relaxed) == NOBODY
    }

    /// How many ids are in it.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        let Waiting {
            next, head, tail, ..
        } = &self.waiting;
        let front = u32::from(next.load(Relaxed) != NOBODY);
        tail.load(Relaxed).wrapping_sub(head.load(Relaxed)) + front
    }

    /// Brings a random one of those in the queue to its head.
    #[cold]
    fn draw(&self) {
        // xorshift64: Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003).
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        let head = self.waiting.head.load(Relaxed);
        let waiting = self.waiting.tail.load(Relaxed).wrapping_sub(head);
        let chosen = ((x >> 32) * u64::from(waiting)) >> 32;
        let slot = |at| self.waiting.slot(at);
        let (first, chosen) = (slot(head), slot(head.wrapping_add(chosen as u32)));
        let was = first.load(Relaxed);
        first.store(chosen.load(Relaxed), Relaxed);
        chosen.store(was, Relaxed);
    }
}

/// Spreads the bits of a seed (the finaliser of MurmurHash3, public domain constants).
fn mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

#[cfg(test)]
mod prediction_tests {
    use super::*;

    #[test]
    fn whoever_was_predicted_it_is_the_one_that_is_given() {
        let places = [0u64; 3];
        let headers: [NonNull<TaskHeader>; 3] =
            std::array::from_fn(|at| NonNull::from(&places[at]).cast());
        let predictions = Predictions::new();
        for turn in 0..100 {
            for header in [headers[turn & 1], headers[turn % 3]] {
                assert_eq!(predictions.confirm(turn, header), header);
            }
        }
    }
}

#[cfg(test)]
mod queue_tests {
    use super::*;

    #[test]
    fn in_order_and_around_the_end() {
        let queue = Queue::new(3, None);
        for round in 0..10 {
            for id in 0..3 {
                queue.push(id + round);
            }
            let out: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            assert_eq!(out, [round, round + 1, round + 2]);
        }
        assert!(queue.is_empty());
    }

    #[test]
    fn the_front_place_goes_first_but_not_for_ever() {
        let queue = Queue::new(3, None);
        queue.push(0);
        queue.push_next(1);
        queue.push_next(2);
        let mut turns = 0;
        while queue.pop() == Some(2) {
            queue.push_next(2);
            turns += 1;
        }
        assert_eq!(turns, STREAK);
        assert_eq!(
            (queue.pop(), queue.pop(), queue.pop()),
            (Some(1), Some(2), None)
        );
        assert!(queue.is_empty());
    }

    #[test]
    fn others_are_seen() {
        let queue = Queue::new(2, None);
        let others = |than| queue.waiting().has_other(than);
        assert!(!others(1));
        queue.push_next(1);
        assert!(!others(1) && others(0));
        queue.push(0);
        assert!(others(1) && others(0));
        assert_eq!((queue.pop(), queue.pop()), (Some(1), Some(0)));
        assert!(!others(1) && !others(0));
    }

    #[test]
    fn shuffled_is_a_permutation_that_the_seed_decides() {
        let run = |seed| {
            let queue = Queue::new(50, Some(seed));
            (0..50).for_each(|id| queue.push(id));
            std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>()
        };
        let mut sorted = run(0);
        assert_eq!(run(0), sorted);
        assert_ne!(run(1), sorted);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }
}
