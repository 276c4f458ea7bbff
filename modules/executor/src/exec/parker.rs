//! How schedulers sleep, are woken, and notice that all of them sleep.
//!
//! A scheduler with nothing to run goes to sleep under one lock, which also counts the sleepers.
//! The one that finds itself the last has proof that the network stands still, without any
//! timeout: a wake-up is only ever sent by a scheduler that is awake (and that one is not
//! counted before it has sent it), or by a foreign waker (while one exists, that all sleep proves
//! nothing about the end, and only something that has run since the last time makes it count).
//!
//! # Why the orderings suffice
//!
//! The sender fills the inbox and then loads `asleep`; the sleeper stores `asleep` and then looks
//! at the inbox. Between store and load each has a SeqCst fence, so at least one sees what the
//! other stored: no wake-up is slept through.
//! What a sleeper's flag *means* changes under the lock only: the load outside of it merely
//! spares the lock when the other is awake.

use std::time::Duration;

use crate::sync::{AtomicBool, Condvar, Mutex, Ordering, PoisonError, fence, lock};

/// Where all schedulers of a run sleep: one parker with a seat for each.
pub(crate) struct Parker {
    state: Mutex<State>,
    seats: Vec<Seat>,
}

struct State {
    sleepers: usize,
    /// Counts the times that all have been found asleep.
    round: u64,
}

struct Seat {
    asleep: AtomicBool,
    bell: Condvar,
}

/// Why a sleep ended.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Unparked {
    /// Somebody woke this scheduler, or it never slept.
    Woken,
    /// Everyone slept: everyone is awake now to find out why.
    AllAsleep,
    /// Nobody woke this scheduler for as long as it wanted to sleep.
    TimedOut,
}

impl Parker {
    pub(crate) fn new(schedulers: usize) -> Self {
        let seat = || Seat {
            asleep: AtomicBool::new(false),
            bell: Condvar::new(),
        };
        Parker {
            state: Mutex::new(State {
                sleepers: 0,
                round: 0,
            }),
            seats: (0..schedulers).map(|_| seat()).collect(),
        }
    }

    /// Sleeps until woken or until all sleep, or for a time. `stay` is asked once more, after the
    /// flag is up, whether there is something to do after all; `counts`, whether all asleep means
    /// anything.
    pub(crate) fn park(
        &self,
        me: usize,
        stay: impl Fn() -> bool,
        counts: impl Fn() -> bool,
        at_most: Option<Duration>,
    ) -> Unparked {
        let seat = &self.seats[me];
        let mut state = lock(&self.state);
        seat.asleep.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if stay() {
            seat.asleep.store(false, Ordering::SeqCst);
            return Unparked::Woken;
        }
        state.sleepers += 1;
        if state.sleepers == self.seats.len() && counts() {
            state.round += 1;
            state.sleepers = 0;
            for seat in &self.seats {
                seat.asleep.store(false, Ordering::SeqCst);
                seat.bell.notify_one();
            }
            return Unparked::AllAsleep;
        }
        let round = state.round;
        while seat.asleep.load(Ordering::SeqCst) {
            let Some(time) = at_most else {
                state = seat
                    .bell
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let woken = seat.bell.wait_timeout(state, time);
            let (back, timer) = woken.unwrap_or_else(PoisonError::into_inner);
            state = back;
            if timer.timed_out() && seat.asleep.load(Ordering::SeqCst) {
                seat.asleep.store(false, Ordering::SeqCst);
                state.sleepers -= 1;
                return Unparked::TimedOut;
            }
        }
        if state.round == round {
            Unparked::Woken
        } else {
            Unparked::AllAsleep
        }
    }

    /// Ends the sleep of a scheduler, if it sleeps. To be called after its inbox was filled.
    #[inline]
    pub(crate) fn unpark(&self, who: usize) {
        fence(Ordering::SeqCst);
        if self.seats[who].asleep.load(Ordering::SeqCst) {
            self.ring(who);
        }
    }

    #[cold]
    fn ring(&self, who: usize) {
        let seat = &self.seats[who];
        let mut state = lock(&self.state);
        if seat.asleep.load(Ordering::SeqCst) {
            seat.asleep.store(false, Ordering::SeqCst);
            state.sleepers -= 1;
            seat.bell.notify_one();
        }
    }
}
