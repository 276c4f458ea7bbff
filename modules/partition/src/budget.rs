//! How long a search may take, in time or in steps.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use crate::tuning::time::SETTLED;
use crate::watch::Watch;

/// How long a strategy may search: until a time, or for a number of steps (proposed moves).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget<'a> {
    pub(crate) start: Instant,
    pub(crate) time: Option<Duration>,
    pub(crate) steps: u64,
    /// When it is over at the latest, whatever is left of time or steps: nothing is planned by it.
    pub(crate) deadline: Option<Instant>,
    /// Threads to search on where there is a time.
    pub(crate) threads: NonZeroUsize,
    pub(crate) watch: Option<&'a Watch>,
}

/// A clock that is looked at when enough was done since it last was: to look at it takes longer than most steps
/// do, and steps differ in what they take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    stop_at: Option<Instant>,
    /// Work since it was looked at.
    done: usize,
    late: bool,
}

impl Clock {
    /// Work between two looks, each unit about a nanosecond.
    const WORK: usize = 1 << 17;

    pub(crate) fn new(stop_at: Option<Instant>) -> Self {
        Self {
            stop_at,
            done: 0,
            late: false,
        }
    }

    /// Whether it is late, after so much work since this was asked last.
    #[inline]
    pub(crate) fn is_late(&mut self, work: usize) -> bool {
        self.done = self.done.saturating_add(work);
        if self.done >= Self::WORK {
            self.done = 0;
            self.late = self.late || is_past(self.stop_at);
        }
        self.late
    }
}

impl Budget<'_> {
    /// From now on until a time, with no steps to count and nobody who waits.
    pub(crate) fn until(stop_at: Option<Instant>) -> Self {
        let start = Instant::now();
        Self {
            start,
            time: stop_at.map(|t| t.saturating_duration_since(start)),
            steps: 0,
            deadline: None,
            threads: NonZeroUsize::MIN,
            watch: None,
        }
    }

    pub(crate) fn stop_at(&self) -> Option<Instant> {
        let end = self.time.map(|t| self.start + t);
        end.into_iter().chain(self.deadline).min()
    }

    /// Until when to look whether anything keeps all bounds: for a share of the time, and while the
    /// search has hardly begun.
    pub(crate) fn settled_by(&self, share: f64) -> Option<Instant> {
        self.time
            .map(|t| (Instant::now() + t.mul_f64(share)).max(self.start + t.mul_f64(SETTLED)))
    }

    /// Whether somebody has had enough, or the deadline is past.
    pub(crate) fn ended(&self) -> bool {
        self.watch.is_some_and(Watch::enough) || is_past(self.deadline)
    }

    /// Whether all the time is used, or somebody has had enough; where only steps count, only by a deadline.
    pub(crate) fn is_over(&self) -> bool {
        self.used() >= 1.0
    }

    /// Share of the time used; 0 when only steps count, and 1 when the search is to end.
    pub(crate) fn used(&self) -> f64 {
        if self.ended() {
            return 1.0;
        }
        self.time.map_or(0.0, |t| {
            self.start.elapsed().as_secs_f64() / t.as_secs_f64().max(1e-9)
        })
    }
}

/// Whether it is so late.
pub(crate) fn is_past(end: Option<Instant>) -> bool {
    end.is_some_and(|t| Instant::now() >= t)
}

/// When a share of what is left until a time will have gone by.
pub(crate) fn partway(end: Option<Instant>, share: f64) -> Option<Instant> {
    let now = Instant::now();
    end.map(|end| now + end.saturating_duration_since(now).mul_f64(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_looked_at_when_enough_was_done() {
        let mut clock = Clock::new(Some(Instant::now()));
        assert!(!clock.is_late(Clock::WORK - 1));
        assert!(clock.is_late(1));
        assert!(clock.is_late(0));
        assert!(!Clock::new(None).is_late(usize::MAX));
    }
}
