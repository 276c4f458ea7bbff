//! How long an idle scheduler spins before it sleeps, and how many polls it does before it checks
//! for messages from others.
//!
//! Spinning pays if the answer comes sooner than a sleep and a wake-up take. It is in vain while
//! others compute for a long time. Which of the two applies changes rarely. Therefore a scheduler
//! that has spun in vain several times spins only briefly, and for the full time now and then,
//! until that pays again. Waiting processes choose between spinning and blocking by earlier waits
//! in the same way in Karlin, Li, Manasse and Owicki, "Empirical studies of competitive spinning
//! for a shared-memory multiprocessor" (SOSP 1991), section 4.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Number of successive spins in vain after which spins are short.
const SHORT_AFTER: u32 = 8;
/// One spin in this number is long nevertheless.
const LONG_EVERY: u32 = 16;

/// Results of recent spins.
pub(super) struct SpinHistory {
    vain: Cell<u32>,
}

impl SpinHistory {
    pub(super) const fn new() -> Self {
        SpinHistory { vain: Cell::new(0) }
    }

    /// Returns true if the next spin should be long. Returns false if the last 8 spins or more were
    /// in vain, except once in 16.
    pub(super) fn is_patient(&self) -> bool {
        let vain = self.vain.get();
        vain < SHORT_AFTER || vain.is_multiple_of(LONG_EVERY)
    }

    /// Records that something came during a spin.
    pub(super) fn has_paid(&self) {
        self.vain.set(0);
    }

    /// Records that nothing came during a spin.
    pub(super) fn was_in_vain(&self) {
        // The counter wraps to the first value after a long spin, so that it does not overflow and
        // one spin in `LONG_EVERY` stays long.
        let vain = self.vain.get() + 1;
        self.vain.set(if vain > 2 * LONG_EVERY {
            LONG_EVERY + 1
        } else {
            vain
        });
    }
}

/// Number of polls in a batch. After a batch the inbox is checked.
const BATCH: usize = 64;
/// Minimum number of polls for which reading the clock is worth its cost.
const FEW: usize = 4;
/// Duration of a batch above which its polls are long and keep others waiting.
///
/// It is far above that of 64 polls that each move a hundred tokens between schedulers (0.2 to 0.4
/// ms). A check for messages after each of those would take longer than the polls.
/// `benches/placement/run shm` shows both cases: the farm, and the sieve with its processes
/// distributed in turn.
const LONG: Duration = Duration::from_millis(1);

/// Number of polls in a batch. If processes compute for a long time, each poll is a batch. Then
/// messages from others are checked between the polls, and not after all of them.
pub(super) struct BatchSize {
    polls: Cell<usize>,
    /// Number of polls since the clock was last read, while each is a batch.
    since: Cell<usize>,
    last: Cell<Instant>,
}

impl BatchSize {
    pub(super) fn new() -> Self {
        BatchSize {
            polls: Cell::new(BATCH),
            since: Cell::new(0),
            last: Cell::new(Instant::now()),
        }
    }

    #[inline(always)]
    pub(super) fn get(&self) -> usize {
        self.polls.get()
    }

    /// Adapts the size after a batch of `polls` polls. Reads the clock only if enough polls have
    /// been done.
    #[inline(always)]
    pub(super) fn adapt(&self, polls: usize) {
        if self.should_read_clock(polls) {
            self.read_clock(Instant::now());
        }
    }

    #[inline(always)]
    fn should_read_clock(&self, polls: usize) -> bool {
        if self.polls.get() == BATCH {
            return polls >= FEW;
        }
        self.since.set(self.since.get() + polls);
        self.since.get() >= BATCH
    }

    /// Reads the clock and chooses the size. The interval since the last reading may include idle
    /// time, or batches that were too short to be timed. The only effect of that is that each poll
    /// is a batch for a while.
    #[inline(never)]
    fn read_clock(&self, now: Instant) {
        self.since.set(0);
        let is_long = now - self.last.replace(now) > LONG;
        self.polls.set(if is_long { 1 } else { BATCH });
    }
}

#[cfg(test)]
mod spin_history_tests {
    use super::*;

    #[test]
    fn spins_in_vain_become_short() {
        let spin_history = SpinHistory::new();
        let long_spins = |count: u32| {
            let spin = || {
                let patient = spin_history.is_patient();
                spin_history.was_in_vain();
                patient
            };
            (0..count).filter(|_| spin()).count() as u32
        };
        assert_eq!(long_spins(SHORT_AFTER), SHORT_AFTER);
        let later = long_spins(LONG_EVERY * 100);
        assert!((99..=101).contains(&later), "{later}");
        spin_history.has_paid();
        assert_eq!(long_spins(SHORT_AFTER), SHORT_AFTER);
    }
}

#[cfg(test)]
mod batch_size_tests {
    use super::*;

    /// Simulates `count` polls, and returns for each the size of its batch.
    fn polls(size: &BatchSize, now: &mut Instant, count: usize, microseconds: u64) -> Vec<usize> {
        let mut sizes = Vec::new();
        while sizes.len() < count {
            let polls = size.get().min(count - sizes.len());
            sizes.extend(std::iter::repeat_n(size.get(), polls));
            *now += polls as u32 * Duration::from_micros(microseconds);
            if size.should_read_clock(polls) {
                size.read_clock(*now);
            }
        }
        sizes
    }

    #[test]
    fn long_polls_are_batches_until_they_are_short() {
        let size = BatchSize::new();
        let mut now = size.last.get();
        assert!(
            polls(&size, &mut now, 6 * BATCH, 1)
                .iter()
                .all(|&n| n == BATCH)
        );
        let long = polls(&size, &mut now, 6 * BATCH, 100);
        assert_eq!(
            long.iter().filter(|&&n| n == BATCH).count(),
            BATCH,
            "the first batch"
        );
        assert_eq!(size.get(), 1);
        let short = polls(&size, &mut now, 6 * BATCH, 1);
        assert_eq!(short.iter().filter(|&&n| n == 1).count(), BATCH);
        assert_eq!(size.get(), BATCH);
    }

    /// Reading the clock takes longer than many polls.
    #[test]
    fn the_clock_is_not_read_after_few_polls() {
        let size = BatchSize::new();
        for polls in 0..FEW {
            assert!(!size.should_read_clock(polls));
        }
        assert!(size.should_read_clock(FEW));
    }
}
