//! Sleep and wake-up of schedulers, and detection that all of them sleep.
//!
//! A scheduler without work goes to sleep under one lock, which also counts the sleepers. The last
//! one to sleep has proof of quiescence, without a timeout, because a wake-up is sent in two ways
//! only:
//!
//! * By a scheduler that is awake. It is not counted as asleep before it has sent the wake-up.
//! * By a foreign waker. While one exists, the sleep of all proves nothing about the end. It counts
//!   only if something has run since the last time.
//!
//! A timer of a scheduler ends the sleep of this scheduler only, as a timeout. Each scheduler
//! reports its timers to the deadlock detection, which treats them like foreign wakers.
//!
//! # Why the orderings suffice
//!
//! The sender fills the inbox and then loads `asleep`. The sleeper stores `asleep` and then checks
//! the inbox. Each has a SeqCst fence between store and load, so at least one sees the store of the
//! other. Therefore no wake-up is lost. The *meaning* of the flag changes under the lock only. The
//! load outside of the lock merely avoids locking if the other scheduler is awake.

use std::time::Duration;

use crate::sync::{AtomicBool, Condvar, Mutex, Ordering, PoisonError, fence, lock};

/// Parker of the schedulers of a run, with an entry for each.
pub(crate) struct Parker {
    state: Mutex<State>,
    entries: Vec<Entry>,
}

struct State {
    sleepers: usize,
    /// Number of times that all schedulers were found asleep.
    all_asleep_count: u64,
}

struct Entry {
    asleep: AtomicBool,
    condvar: Condvar,
}

/// Reason for the end of a sleep.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Unparked {
    /// Another thread woke this scheduler, or it never slept.
    Woken,
    /// All schedulers slept. All have been woken to start a deadlock detection.
    AllAsleep,
    /// The maximum time passed without a wake-up.
    TimedOut,
}

impl Parker {
    pub(crate) fn new(schedulers: usize) -> Self {
        let entry = || Entry {
            asleep: AtomicBool::new(false),
            condvar: Condvar::new(),
        };
        Parker {
            state: Mutex::new(State {
                sleepers: 0,
                all_asleep_count: 0,
            }),
            entries: (0..schedulers).map(|_| entry()).collect(),
        }
    }

    /// Blocks until the scheduler `me` is woken, until all schedulers sleep, or until `at_most` has
    /// passed. Returns the reason. Without `at_most`, the time is not limited. A spurious wake-up
    /// by the system begins `at_most` again.
    ///
    /// `stay` is called once, after `me` is marked as asleep. If it returns true, the scheduler has
    /// work, and `park` returns [`Unparked::Woken`] at once. `counts` is called by the last
    /// scheduler that falls asleep. If it returns true, all are woken with [`Unparked::AllAsleep`].
    /// If it returns false, they sleep on, because events from outside can still wake them. Both
    /// are called while the lock is held.
    pub(crate) fn park(
        &self,
        me: usize,
        stay: impl Fn() -> bool,
        counts: impl Fn() -> bool,
        at_most: Option<Duration>,
    ) -> Unparked {
        let entry = &self.entries[me];
        let mut state = lock(&self.state);
        entry.asleep.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if stay() {
            entry.asleep.store(false, Ordering::SeqCst);
            return Unparked::Woken;
        }
        state.sleepers += 1;
        if state.sleepers == self.entries.len() && counts() {
            state.all_asleep_count += 1;
            state.sleepers = 0;
            for entry in &self.entries {
                entry.asleep.store(false, Ordering::SeqCst);
                entry.condvar.notify_one();
            }
            return Unparked::AllAsleep;
        }
        let all_asleep_count = state.all_asleep_count;
        while entry.asleep.load(Ordering::SeqCst) {
            let Some(time) = at_most else {
                state = entry
                    .condvar
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let woken = entry.condvar.wait_timeout(state, time);
            let (back, timer) = woken.unwrap_or_else(PoisonError::into_inner);
            state = back;
            if timer.timed_out() && entry.asleep.load(Ordering::SeqCst) {
                entry.asleep.store(false, Ordering::SeqCst);
                state.sleepers -= 1;
                return Unparked::TimedOut;
            }
        }
        if state.all_asleep_count == all_asleep_count {
            Unparked::Woken
        } else {
            Unparked::AllAsleep
        }
    }

    /// Wakes a scheduler if it sleeps, and has no effect otherwise. Must be called after its inbox
    /// was filled.
    #[inline]
    pub(crate) fn unpark(&self, scheduler: usize) {
        fence(Ordering::SeqCst);
        if self.entries[scheduler].asleep.load(Ordering::SeqCst) {
            self.ring(scheduler);
        }
    }

    #[cold]
    fn ring(&self, scheduler: usize) {
        let entry = &self.entries[scheduler];
        let mut state = lock(&self.state);
        if entry.asleep.load(Ordering::SeqCst) {
            entry.asleep.store(false, Ordering::SeqCst);
            state.sleepers -= 1;
            entry.condvar.notify_one();
        }
    }
}
