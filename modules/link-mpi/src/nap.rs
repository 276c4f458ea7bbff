//! How long to look away from MPI, which wakes nobody: it has to be looked at.
//!
//! Who has just got something looks again and again, giving its core to others in between; the longer nothing
//! comes, the longer it sleeps, up to [`LONGEST`].

use std::thread;
use std::time::{Duration, Instant};

use crate::bell::Bell;

/// For so long it is looked at without a break: some times what an answer takes over TCP.
const EAGER: Duration = Duration::from_micros(100);
const SHORTEST: Duration = Duration::from_micros(50);
/// A first message after a long while is late by half of this in the middle. Looking so often took a fiftieth of a core
/// in a program built without optimisation.
const LONGEST: Duration = Duration::from_micros(1500);

/// Since when nothing has come.
pub(crate) struct Nap {
    start: Instant,
    next: Duration,
}

impl Nap {
    pub(crate) fn new() -> Nap {
        Nap {
            start: Instant::now(),
            next: SHORTEST,
        }
    }

    /// Nothing has come: looks away, or not.
    pub(crate) fn take(&mut self, bell: &Bell, at_most: Option<Duration>) {
        if self.start.elapsed() < EAGER {
            thread::yield_now();
            return;
        }
        let time = at_most.map_or(self.next, |at_most| at_most.min(self.next));
        bell.wait(time);
        self.next = (self.next * 2).min(LONGEST);
    }
}
