//! Limits on the time or the steps of a search.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use crate::tuning::time::SETTLING_SHARE;
use crate::watch::Watch;

/// Budget of a strategy: a time, or a number of steps (proposed moves).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget<'a> {
    pub(crate) start: Instant,
    pub(crate) time: Option<Duration>,
    pub(crate) steps: u64,
    /// Latest end, regardless of time and steps. No plan depends on it.
    pub(crate) deadline: Option<Instant>,
    /// Threads of a search with a time limit.
    pub(crate) threads: NonZeroUsize,
    pub(crate) watch: Option<&'a Watch>,
}

/// A clock that is read only after enough work, because reading it takes longer than most steps.
/// Callers report their work, because steps differ in duration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    stop_at: Option<Instant>,
    /// Work since the clock was read last.
    done: usize,
    late: bool,
}

impl Clock {
    /// Work between two readings. A unit is about a nanosecond.
    const WORK: usize = 1 << 17;

    pub(crate) fn new(stop_at: Option<Instant>) -> Self {
        Self {
            stop_at,
            done: 0,
            late: false,
        }
    }

    /// Adds `work`, and returns true if the end had passed when the clock was read last. Always
    /// returns false without an end. Reads the clock only after enough work.
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
    /// Returns a budget for one thread from now until a time, with 0 steps, without a deadline and
    /// without a watch. It has no time limit if `stop_at` is `None`.
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

    /// Returns the time until which the load bounds may be settled: after a share of the time limit
    /// from now on, but not before the share `SETTLING_SHARE` of the limit from the start. Returns
    /// `None` without a time limit. The deadline has no effect.
    pub(crate) fn settling_deadline(&self, share: f64) -> Option<Instant> {
        self.time.map(|t| {
            (Instant::now() + t.mul_f64(share)).max(self.start + t.mul_f64(SETTLING_SHARE))
        })
    }

    /// Returns true if the search was cancelled or the deadline has passed.
    pub(crate) fn ended(&self) -> bool {
        self.watch.is_some_and(Watch::is_cancelled) || is_past(self.deadline)
    }

    /// Returns true if the time is used up, the search was cancelled, or the deadline has passed.
    /// Steps are not checked.
    pub(crate) fn is_over(&self) -> bool {
        self.used() >= 1.0
    }

    /// Returns the used share of the time limit, which exceeds 1 after the limit, or 0 if only
    /// steps count. Returns 1 if the search was cancelled or the deadline has passed.
    pub(crate) fn used(&self) -> f64 {
        if self.ended() {
            return 1.0;
        }
        self.time.map_or(0.0, |t| {
            self.start.elapsed().as_secs_f64() / t.as_secs_f64().max(1e-9)
        })
    }
}

/// Returns true if the time `end` has passed. Returns false if it is `None`.
pub(crate) fn is_past(end: Option<Instant>) -> bool {
    end.is_some_and(|t| Instant::now() >= t)
}

/// Returns the time at which a share of the time from now to `end` will have passed, or `None`
/// without an end. If the end has passed, this is now. `share` must not be negative.
pub(crate) fn partway(end: Option<Instant>, share: f64) -> Option<Instant> {
    let now = Instant::now();
    end.map(|end| now + end.saturating_duration_since(now).mul_f64(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_is_read_after_enough_work() {
        let mut clock = Clock::new(Some(Instant::now()));
        assert!(!clock.is_late(Clock::WORK - 1));
        assert!(clock.is_late(1));
        assert!(clock.is_late(0));
        assert!(!Clock::new(None).is_late(usize::MAX));
    }
}
