//! The number of pauses by which an end of a ring that has waited lets the other side get ahead.
//!
//! If an end takes each token as soon as it arrives, cache lines move between the cores for every
//! token, and both sides are slow. If the end pauses for a moment, it finds many tokens. If only
//! one token arrives at a time, as with a request and its reply, a pause is lost time. So an end
//! tries a pause, keeps it up while it pays, and otherwise tries again at growing intervals.

/// Pauses of the first try.
const FIRST: u32 = 4;
/// Maximum number of pauses: about a microsecond.
const MOST: u32 = 64;
/// Maximum number of waits between two tries.
const RAREST: u32 = 1024;

/// The state of one end.
pub(crate) struct Pace {
    pauses: u32,
    /// Waits until the next try, and between that and another one if it fails.
    rest: u32,
    next_rest: u32,
    /// Tokens that had passed when the end waited last.
    mark: u64,
}

impl Pace {
    pub(crate) const fn new() -> Self {
        Pace {
            pauses: 0,
            rest: 1,
            next_rest: 1,
            mark: 0,
        }
    }

    /// Updates the number of pauses when the end is about to wait. `through` is the number of
    /// tokens that have passed so far, and one wait can yield at most `capacity` tokens. Doubles
    /// the number, up to 64, if more tokens than pauses have passed since the last wait. Otherwise
    /// halves it, down to 4 and then 0. After some waits with 0 pauses, tries 4 again. It is at
    /// most a quarter of the capacity.
    pub(crate) fn waits(&mut self, through: u64, capacity: u64) {
        let got = through.wrapping_sub(self.mark);
        self.mark = through;
        if self.pauses > 0 {
            if got > u64::from(self.pauses) {
                self.next_rest = 1;
                self.pauses = (self.pauses * 2).min(MOST);
            } else if self.pauses > FIRST {
                self.pauses /= 2;
            } else {
                self.pauses = 0;
                self.rest = self.next_rest;
                self.next_rest = (self.next_rest * 2).min(RAREST);
            }
            if u64::from(self.pauses) > capacity / 4 {
                self.pauses = (capacity / 4) as u32;
            }
        } else if self.rest > 0 {
            self.rest -= 1;
        } else if capacity >= u64::from(FIRST) * 4 {
            self.pauses = FIRST;
        }
    }

    /// Returns the number of pauses to make when the ring has only a few tokens or free slots.
    #[inline]
    pub(crate) fn pauses(&self) -> u32 {
        self.pauses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pauses over `waits` waits, each of which yields `got(pauses)` tokens.
    fn pauses(capacity: u64, waits: usize, got: impl Fn(u32) -> u64) -> Vec<u32> {
        let (mut pace, mut through) = (Pace::new(), 0);
        let mut all = Vec::new();
        for _ in 0..waits {
            pace.waits(through, capacity);
            all.push(pace.pauses());
            through += got(pace.pauses());
        }
        all
    }

    #[test]
    fn a_stream_is_waited_for_ever_longer() {
        let of = |capacity| pauses(capacity, 20, |pauses| 1 + u64::from(pauses) * 2);
        assert_eq!(of(4096).last(), Some(&MOST));
        assert_eq!(of(100).last(), Some(&25));
        // A pause can yield no further token.
        assert_eq!(of(1), [0; 20]);
    }

    #[test]
    fn questions_and_answers_are_hardly_held_up() {
        let pauses = pauses(4096, 10_000, |_| 1);
        assert!(pauses.iter().filter(|&&pauses| pauses > 0).count() < 30);
        assert!(pauses.iter().all(|&pauses| pauses <= FIRST));
    }
}
