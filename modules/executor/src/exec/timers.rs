//! The timers of a scheduler: the times at which it wakes processes that sleep (`sleep.rs`).
//!
//! A scheduler checks its timers between two batches of polls, if it has any. Before it sleeps, it
//! limits the sleep to the first timer. A timer that is set is an event that will come, so a
//! quiescent network that has one is not blocked (`WaitReport::timers`).

use super::hooks::Owner;
use std::cell::Cell;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::Location;
use std::time::Instant;

/// Time of a timer, and its number. Timers of the same time are ordered by number.
pub(super) type Key = (Instant, u64);

/// A timer that is set.
#[derive(Clone, Copy)]
pub(super) struct Timer {
    /// The process or hook to wake.
    pub(super) id: u32,
    /// Where the program began to sleep.
    pub(super) place: &'static Location<'static>,
}

/// The timers of a scheduler, ordered by time.
#[derive(Default)]
pub(super) struct Timers {
    set: RefCell<BTreeMap<Key, Timer>>,
    next: Cell<u64>,
}

impl Timers {
    /// Returns true if no timer is set.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.set.borrow().is_empty()
    }

    /// Returns the time of the first timer, or `None` if no timer is set.
    pub(super) fn first(&self) -> Option<Instant> {
        let set = self.set.borrow();
        set.first_key_value().map(|(key, _)| key.0)
    }

    /// Removes the first timer whose time is not after `now`, and returns the id to wake. Returns
    /// `None` if there is none.
    pub(super) fn pop_due(&self, now: Instant) -> Option<u32> {
        let mut set = self.set.borrow_mut();
        let first = set.first_entry()?;
        (first.key().0 <= now).then(|| first.remove().id)
    }

    /// Returns the id that a timer wakes, or `None` if the timer is not set.
    pub(super) fn id(&self, key: Key) -> Option<u32> {
        self.set.borrow().get(&key).map(|timer| timer.id)
    }

    /// Sets a timer, or replaces the timer with the same key.
    pub(super) fn set(&self, key: Key, timer: Timer) {
        self.set.borrow_mut().insert(key, timer);
    }

    /// Removes a timer, and returns the id that it would have woken. Returns `None` if the timer is
    /// not set.
    pub(super) fn remove(&self, key: Key) -> Option<u32> {
        self.set.borrow_mut().remove(&key).map(|timer| timer.id)
    }

    /// Returns all timers that are set, in order.
    pub(super) fn all(&self) -> Vec<Timer> {
        self.set.borrow().values().copied().collect()
    }

    /// Returns the number of the next timer.
    pub(super) fn next_number(&self) -> u64 {
        self.next.replace(self.next.get() + 1)
    }

    /// Returns the identity of a timer, for the hook of a foreign waker. It is not an address of
    /// user space, so it differs from the identities of state words.
    pub(super) fn owner(number: u64) -> Owner {
        !(number as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timers_are_due_in_the_order_of_their_times() {
        let timers = Timers::default();
        let start = Instant::now();
        let at = |n: u64| start + Duration::from_millis(n);
        let place = Location::caller();
        for (id, time) in [3, 1, 2, 1, 5].into_iter().enumerate() {
            let key = (at(time), timers.next_number());
            let id = id as u32;
            timers.set(key, Timer { id, place });
        }
        assert_eq!(timers.first(), Some(at(1)));
        assert_eq!(timers.pop_due(at(0)), None);
        let due: Vec<u32> = std::iter::from_fn(|| timers.pop_due(at(3))).collect();
        assert_eq!(due, [1, 3, 2, 0]);
        assert_eq!(timers.first(), Some(at(5)));
        assert_eq!(
            (timers.remove((at(5), 4)), timers.remove((at(5), 4))),
            (Some(4), None)
        );
        assert!(timers.is_empty());
    }
}
