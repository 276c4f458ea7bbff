//! How long a scheduler that has nothing to do looks around before it sleeps.
//!
//! Spinning pays where the answer comes sooner than a sleep and a wake-up take, and is in vain
//! where others compute for long. Which of the two it is changes rarely: so who has looked in vain
//! a number of times looks only shortly, and at length now and then, until that has paid again.
//! Waiting processes choose between spinning and blocking in that way by the waits before in
//! Karlin, Li, Manasse and Owicki, "Empirical studies of competitive spinning for a shared-memory
//! multiprocessor" (SOSP 1991), section 4.
//!
//! How many turns a scheduler takes before it looks at what has come from others.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// So many looks in vain, one after the other, before the next are short.
const GIVES_UP: u32 = 8;
/// One in so many is at length all the same.
const TRIES: u32 = 16;

/// What came of the last looks.
pub(super) struct Lookout {
    vain: Cell<u32>,
}

impl Lookout {
    pub(super) const fn new() -> Self {
        Lookout { vain: Cell::new(0) }
    }

    /// Whether the next look is to be at length.
    pub(super) fn is_patient(&self) -> bool {
        let vain = self.vain.get();
        vain < GIVES_UP || vain.is_multiple_of(TRIES)
    }

    /// Something came while it was looked at length.
    pub(super) fn has_paid(&self) {
        self.vain.set(0);
    }

    /// Nothing came.
    pub(super) fn was_in_vain(&self) {
        // Behind the last it is once more at length, and goes on from where all that are short
        // begin.
        let vain = self.vain.get() + 1;
        self.vain
            .set(if vain > 2 * TRIES { TRIES + 1 } else { vain });
    }
}

/// How many processes run before the inbox is looked at again.
const BATCH: usize = 64;
/// Fewest turns that are worth a look at the clock.
const FEW: usize = 4;
/// Turns that take longer than this, as many as a batch has at most, keep others waiting. Far more
/// than where turns move a hundred tokens each between schedulers (64 of them take 0.2 to 0.4 ms):
/// to look around after each of those takes longer than they do. `benches/placement/run shm` shows
/// both: the farm, and the sieve that is dealt out in turn.
const LONG: Duration = Duration::from_millis(1);

/// How many turns a batch has. Where processes compute for long in their turns each turn is a
/// batch, so that what has come from others is looked at between them, and not after all of them.
pub(super) struct BatchSize {
    turns: Cell<usize>,
    /// Turns since the last look at the clock, where each is a batch.
    since: Cell<usize>,
    last: Cell<Instant>,
}

impl BatchSize {
    pub(super) fn new() -> Self {
        BatchSize {
            turns: Cell::new(BATCH),
            since: Cell::new(0),
            last: Cell::new(Instant::now()),
        }
    }

    #[inline(always)]
    pub(super) fn get(&self) -> usize {
        self.turns.get()
    }

    /// So many turns are over.
    #[inline(always)]
    pub(super) fn adapt(&self, turns: usize) {
        if self.is_to_look(turns) {
            self.look(Instant::now());
        }
    }

    #[inline(always)]
    fn is_to_look(&self, turns: usize) -> bool {
        if self.turns.get() == BATCH {
            return turns >= FEW;
        }
        self.since.set(self.since.get() + turns);
        self.since.get() >= BATCH
    }

    /// From one look to the next there may have been nothing at all, or batches that were too short
    /// for a look: then each turn is a batch for a while.
    #[inline(never)]
    fn look(&self, now: Instant) {
        self.since.set(0);
        let is_long = now - self.last.replace(now) > LONG;
        self.turns.set(if is_long { 1 } else { BATCH });
    }
}

#[cfg(test)]
mod lookout_tests {
    use super::*;

    #[test]
    fn who_looks_in_vain_looks_rarely() {
        let lookout = Lookout::new();
        let looks = |count: u32| {
            let look = || {
                let patient = lookout.is_patient();
                lookout.was_in_vain();
                patient
            };
            (0..count).filter(|_| look()).count() as u32
        };
        assert_eq!(looks(GIVES_UP), GIVES_UP);
        let later = looks(TRIES * 100);
        assert!((99..=101).contains(&later), "{later}");
        lookout.has_paid();
        assert_eq!(looks(GIVES_UP), GIVES_UP);
    }
}

#[cfg(test)]
mod batch_size_tests {
    use super::*;

    /// Turns of so many microseconds, and for each how many its batch had at most.
    fn turns(size: &BatchSize, now: &mut Instant, count: usize, microseconds: u64) -> Vec<usize> {
        let mut sizes = Vec::new();
        while sizes.len() < count {
            let turns = size.get().min(count - sizes.len());
            sizes.extend(std::iter::repeat_n(size.get(), turns));
            *now += turns as u32 * Duration::from_micros(microseconds);
            if size.is_to_look(turns) {
                size.look(*now);
            }
        }
        sizes
    }

    #[test]
    fn long_turns_are_batches_until_they_are_short() {
        let size = BatchSize::new();
        let mut now = size.last.get();
        assert!(
            turns(&size, &mut now, 6 * BATCH, 1)
                .iter()
                .all(|&n| n == BATCH)
        );
        let long = turns(&size, &mut now, 6 * BATCH, 100);
        assert_eq!(
            long.iter().filter(|&&n| n == BATCH).count(),
            BATCH,
            "the first batch"
        );
        assert_eq!(size.get(), 1);
        let short = turns(&size, &mut now, 6 * BATCH, 1);
        assert_eq!(short.iter().filter(|&&n| n == 1).count(), BATCH);
        assert_eq!(size.get(), BATCH);
    }

    /// To look at the clock takes longer than many a turn.
    #[test]
    fn batches_of_few_turns_are_not_looked_at() {
        let size = BatchSize::new();
        for turns in 0..FEW {
            assert!(!size.is_to_look(turns));
        }
        assert!(size.is_to_look(FEW));
    }
}
