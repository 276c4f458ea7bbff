//! The run queue of one scheduler. It contains ids of processes, each at most once.
//!
//! The queue is first in, first out, except for one entry at the front. A process that was given a
//! token goes there, and is polled next when the writer of the token waits. Thus a token goes
//! through a pipeline while it is in the cache, and sources do not run ahead of demand, which
//! halves the work of the prime sieve. After a number of polls the front entry is skipped once,
//! because two processes that write to each other must not keep all others waiting.

use crate::link::waiter::NO_ID;
use std::cell::Cell;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Maximum number of consecutive polls from the front entry.
const STREAK: u32 = 256;

/// A queue of ids. If it is shuffled, it returns ids in a random but reproducible order.
pub(crate) struct Queue {
    waiting: Waiting,
    streak: Cell<u32>,
    /// State of the generator. It is 0 if the queue is not shuffled.
    random: Cell<u64>,
}

/// The ids in the queue. One thread changes them and any thread may read them, so they are atomic.
/// All accesses are Relaxed, which costs no more than plain memory.
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

    /// Returns true if the queue seems to contain an id other than `than`. Other threads may call
    /// it. The queue may change meanwhile.
    #[inline]
    pub(crate) fn has_other(&self, than: u32) -> bool {
        let is_other = |id: u32| id != NO_ID && id != than;
        let (head, tail) = (self.head.load(Relaxed), self.tail.load(Relaxed));
        let len = tail.wrapping_sub(head).min(self.ids.len() as u32);
        is_other(self.next.load(Relaxed))
            || (0..len).any(|at| is_other(self.slot(head.wrapping_add(at)).load(Relaxed)))
    }
}

impl Queue {
    /// Creates an empty queue with room for `processes` ids. `shuffle` is the seed of a random
    /// order. If it is `None`, the order is first in, first out.
    #[inline]
    pub(crate) fn new(processes: usize, shuffle: Option<u64>) -> Self {
        let size = processes.max(1).next_power_of_two();
        Queue {
            waiting: Waiting {
                next: AtomicU32::new(NO_ID),
                ids: (0..size).map(|_| AtomicU32::new(0)).collect(),
                head: AtomicU32::new(0),
                tail: AtomicU32::new(0),
            },
            streak: Cell::new(0),
            // The generator needs a state other than 0, for any seed.
            random: Cell::new(shuffle.map_or(0, |seed| mix(seed) | 1)),
        }
    }

    /// Returns the part that other threads may read.
    #[inline]
    pub(crate) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    #[inline]
    /// Appends an id. The queue must not contain it, and must have room for it.
    pub(crate) fn push(&self, id: u32) {
        let Waiting { tail: end, .. } = &self.waiting;
        let tail = end.load(Relaxed);
        self.waiting.slot(tail).store(id, Relaxed);
        end.store(tail.wrapping_add(1), Relaxed);
    }

    /// Puts an id into the front entry and returns the id that was there. In both, [`NO_ID`] means
    /// that the entry is empty.
    #[inline(always)]
    fn replace_next(&self, id: u32) -> u32 {
        let next = self.waiting.next.load(Relaxed);
        self.waiting.next.store(id, Relaxed);
        next
    }

    /// Puts an id into the front entry, and moves the id that was there to the end. If the queue is
    /// shuffled, the id goes to the end instead. The queue must not contain it, and must have room
    /// for it.
    #[inline]
    pub(crate) fn push_next(&self, id: u32) {
        let id = if self.random.get() == 0 {
            self.replace_next(id)
        } else {
            id
        };
        if id != NO_ID {
            self.push(id);
        }
    }

    #[inline]
    /// Removes and returns the next id, or returns `None` if the queue is empty. This is the id in
    /// the front entry, if there is one. Otherwise it is the first id, or a random one if the queue
    /// is shuffled. After [`STREAK`] consecutive ids from the front entry, the next one is moved to
    /// the end instead.
    pub(crate) fn pop(&self) -> Option<u32> {
        let next = self.replace_next(NO_ID);
        if next != NO_ID {
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
        head.load(Relaxed) == tail.load(Relaxed) && next.load(Relaxed) == NO_ID
    }

    /// Returns the number of ids in the queue.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        let Waiting {
            next, head, tail, ..
        } = &self.waiting;
        let front = u32::from(next.load(Relaxed) != NO_ID);
        tail.load(Relaxed).wrapping_sub(head.load(Relaxed)) + front
    }

    /// Swaps a random id of the queue with the one at its head. The queue must not be empty.
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

/// Mixes the bits of a seed (the finaliser of MurmurHash3, public domain constants).
fn mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
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
    fn the_front_entry_is_first_for_a_limited_time() {
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
