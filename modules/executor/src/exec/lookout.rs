//! How long a scheduler that has nothing to do looks around before it sleeps.
//!
//! Spinning pays where the answer comes sooner than a sleep and a wake-up take, and is in vain where others compute for long.
//! Which of the two it is changes rarely: so who has looked in vain a number of times looks only shortly, and at length now
//! and then, until that has paid again. Waiting processes choose between spinning and blocking in that way by the waits
//! before in Karlin, Li, Manasse and Owicki, "Empirical studies of competitive spinning for a shared-memory multiprocessor"
//! (SOSP 1991), section 4.

use std::cell::Cell;

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
        // Behind the last it is once more at length, and goes on from where all that are short begin.
        let vain = self.vain.get() + 1;
        self.vain
            .set(if vain > 2 * TRIES { TRIES + 1 } else { vain });
    }
}

#[cfg(test)]
mod tests {
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
