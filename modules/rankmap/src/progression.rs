//! Arithmetic progressions: ranges with a stride, from which all closed forms are made.

use crate::error::Error;

/// An arithmetic progression of ranks: `len` terms `start`, `start + step`, and so on.
///
/// SELECT and RANK take constant time, and intersection the time of a greatest common divisor. This
/// is the range and stride representation of Chaarawi and Gabriel (*Evaluating sparse data storage
/// techniques for MPI groups and communicators*, 2008), with strides that may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progression {
    start: u32,
    /// Never zero. It is 1 if there are fewer than two terms, so that equal progressions are equal
    /// values.
    step: i64,
    len: u64,
}

impl Progression {
    /// The progression without terms.
    pub const EMPTY: Progression = Progression {
        start: 0,
        step: 1,
        len: 0,
    };

    /// Creates a progression of `len` terms from `start` on, at distance `step`, which may be
    /// negative. `step` has no effect if `len` is below 2, and `start` has none if `len` is 0.
    ///
    /// Cost: constant time. Source: Chaarawi and Gabriel 2008, Mir Taheri 2011 (4.1.1).
    ///
    /// # Errors
    ///
    /// [`Error::BeyondRanks`] if a term is not a rank. [`Error::Duplicate`] if there are two or
    /// more terms and `step` is 0.
    pub fn new(start: u32, step: i64, len: u64) -> Result<Self, Error> {
        if len > 1 {
            let end = i128::from(start) + i128::from(step) * i128::from(len - 1);
            if step == 0 {
                return Err(Error::Duplicate(start));
            }
            if !(0..=i128::from(u32::MAX)).contains(&end) {
                return Err(Error::BeyondRanks);
            }
        }
        Ok(Progression::valid(start, step, len))
    }

    /// Returns the ranks from `start` up to `end` (exclusive). Returns no terms if `end` is not
    /// above `start`. `end` must be at most 2^32.
    pub(crate) fn between(start: u64, end: u64) -> Self {
        Progression::valid(start as u32, 1, end.saturating_sub(start))
    }

    /// Creates a progression whose terms are known to be ranks, which is not checked. `step` must
    /// not be 0 if there are several terms.
    pub(crate) fn valid(start: u32, step: i64, len: u64) -> Self {
        match len {
            0 => Progression::EMPTY,
            1 => Progression {
                start,
                step: 1,
                len,
            },
            _ => Progression { start, step, len },
        }
    }

    /// Returns the first term, or 0 if there are no terms.
    ///
    /// Cost: constant time. Source: Chaarawi and Gabriel 2008.
    pub fn start(&self) -> u32 {
        self.start
    }

    /// Returns the difference between consecutive terms, or 1 if there are fewer than two terms.
    ///
    /// Cost: constant time. Source: Chaarawi and Gabriel 2008.
    pub fn step(&self) -> i64 {
        self.step
    }

    /// Returns the number of terms.
    ///
    /// Cost: constant time. Source: Chaarawi and Gabriel 2008.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if there are no terms.
    ///
    /// Cost: constant time. Source: Chaarawi and Gabriel 2008.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the term at an index, without a check of the length. The result is arbitrary if
    /// there is no such term.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        self.start
            .wrapping_add(index.wrapping_mul(self.step as u32))
    }

    /// Returns the last term. There must be at least one. Otherwise the function panics, or the
    /// result is arbitrary.
    pub(crate) fn last(&self) -> u32 {
        self.at((self.len - 1) as u32)
    }

    /// Returns the smallest term. There must be at least one. Otherwise the function panics, or the
    /// result is arbitrary.
    pub(crate) fn min(&self) -> u32 {
        self.start.min(self.last())
    }

    /// Returns the largest term. There must be at least one. Otherwise the function panics, or the
    /// result is arbitrary.
    pub(crate) fn max(&self) -> u32 {
        self.start.max(self.last())
    }

    /// Returns the index of the term `rank`, or `None` if it is not a term. Constant time.
    #[inline]
    pub(crate) fn index_of(&self, rank: u32) -> Option<u32> {
        let (distance, step) = if self.step > 0 {
            (rank.checked_sub(self.start)?, self.step)
        } else {
            (self.start.checked_sub(rank)?, -self.step)
        };
        let index = match step {
            1 => distance,
            _ => {
                // At most 2^32 - 1, because there are at least two terms.
                let step = step as u32;
                let index = distance / step;
                if index * step != distance {
                    return None;
                }
                index
            }
        };
        (u64::from(index) < self.len).then_some(index)
    }

    /// Returns the number of terms below a number. The progression must ascend. The number need not
    /// be a rank.
    pub(crate) fn below(&self, rank: u64) -> u64 {
        let distance = rank.saturating_sub(u64::from(self.start));
        distance.div_ceil(self.step as u64).min(self.len)
    }

    /// Returns the terms from index `from` up to `to` (exclusive), as far as they exist.
    pub(crate) fn slice(&self, from: u64, to: u64) -> Self {
        let to = to.min(self.len);
        if from >= to {
            return Progression::EMPTY;
        }
        Progression::valid(self.at(from as u32), self.step, to - from)
    }

    /// Returns the same terms in reverse order.
    pub(crate) fn reversed(&self) -> Self {
        if self.len < 2 {
            return *self;
        }
        Progression::valid(self.last(), -self.step, self.len)
    }

    /// Returns the same terms in ascending order.
    pub(crate) fn ascending(&self) -> Self {
        if self.step < 0 {
            self.reversed()
        } else {
            *self
        }
    }

    /// Returns the common terms of two ascending progressions, in ascending order (Chinese
    /// remainder theorem). The result is empty if there are none.
    pub(crate) fn common(&self, other: &Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return Progression::EMPTY;
        }
        let low = self.start.max(other.start);
        let high = self.last().min(other.last());
        if low > high {
            return Progression::EMPTY;
        }
        let (a, b) = (self.step as i128, other.step as i128);
        let (gcd, inverse) = gcd_and_inverse(a, b);
        let apart = i128::from(other.start) - i128::from(self.start);
        if apart % gcd != 0 {
            return Progression::EMPTY;
        }
        // `self.start + a * k` is a term of the other progression for this `k`, modulo `b / gcd`.
        let k = (apart / gcd % (b / gcd) * inverse).rem_euclid(b / gcd);
        let step = a / gcd * b;
        let first = i128::from(self.start) + a * k;
        let low = i128::from(low);
        let first = first + (low - first).max(0).div_euclid(step) * step;
        let first = if first < low { first + step } else { first };
        let high = i128::from(high);
        if first > high {
            return Progression::EMPTY;
        }
        let len = (high - first) / step + 1;
        Progression::valid(first as u32, step as i64, len as u64)
    }
}

/// Returns the greatest common divisor of `a` and `b`, which must be positive. Also returns the
/// inverse of `a / gcd` modulo `b / gcd`, which is at least 0.
fn gcd_and_inverse(a: i128, b: i128) -> (i128, i128) {
    let (mut r, mut next) = (a, b);
    let (mut s, mut next_s) = (1, 0);
    while next != 0 {
        let quotient = r / next;
        (r, next) = (next, r - quotient * next);
        (s, next_s) = (next_s, s - quotient * next_s);
    }
    (r, s.rem_euclid(b / r))
}

/// Groups ranks into maximal progressions: three terms or more of any step, neighbours, or single
/// ranks.
#[derive(Clone, Debug)]
pub(crate) struct Grouping {
    current: Progression,
}

impl Grouping {
    pub(crate) fn new() -> Self {
        Grouping {
            current: Progression::EMPTY,
        }
    }

    /// Adds the next ranks. Gives the progressions that cannot be extended any more, in order.
    #[inline]
    pub(crate) fn push(&mut self, next: Progression, give: &mut dyn FnMut(Progression)) {
        let mut next = next;
        while !next.is_empty() {
            if self.current.is_empty() {
                self.current = next;
                return;
            }
            let gap = i64::from(next.start) - i64::from(self.current.last());
            let now = self.current;
            if gap == 0 {
                // A rank that occurs twice is passed on, because later stages check for duplicates.
                give(now);
                self.current = next;
                return;
            }
            if now.len == 1 || gap == now.step {
                let taken = if next.len > 1 && next.step == gap {
                    next.len
                } else {
                    1
                };
                if now.len == 1 && next.len > 1 && next.step != gap {
                    // `next` is at least as long as the progression of `now` and its first term.
                    give(now);
                    self.current = next;
                    return;
                }
                self.current = Progression::valid(now.start, gap, now.len + taken);
                next = next.slice(taken, next.len);
            } else if now.len == 2 && now.step.abs() != 1 {
                give(now.slice(0, 1));
                self.current = now.slice(1, 2);
            } else {
                give(now);
                self.current = next;
                return;
            }
        }
    }

    /// Gives the remaining ranks, and forgets them.
    pub(crate) fn finish(&mut self, give: &mut dyn FnMut(Progression)) {
        let rest = std::mem::replace(&mut self.current, Progression::EMPTY);
        if rest.len == 2 && rest.step.abs() != 1 {
            give(rest.slice(0, 1));
            give(rest.slice(1, 2));
        } else if !rest.is_empty() {
            give(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(p: &Progression) -> Vec<u32> {
        (0..p.len()).map(|i| p.at(i as u32)).collect()
    }

    #[test]
    fn common_returns_terms_of_both() {
        for (a, b) in (0..4000_u64).map(|n| {
            let mix = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let part = |shift: u32, below: u64| (mix >> shift) % below;
            let one = |s: u32| {
                Progression::valid(
                    part(s, 40) as u32,
                    1 + part(s + 6, 12) as i64,
                    part(s + 11, 30),
                )
            };
            (one(3), one(30))
        }) {
            let both: Vec<u32> = terms(&a)
                .into_iter()
                .filter(|t| b.index_of(*t).is_some())
                .collect();
            assert_eq!(terms(&a.common(&b)), both, "{a:?} {b:?}");
        }
    }

    #[test]
    fn the_ends_of_the_ranks_are_reached_and_not_passed() {
        assert!(Progression::new(0, 1, 1 << 32).is_ok());
        assert_eq!(Progression::new(1, 1, 1 << 32), Err(Error::BeyondRanks));
        assert_eq!(Progression::new(0, -1, 2), Err(Error::BeyondRanks));
        assert_eq!(Progression::new(7, 0, 2), Err(Error::Duplicate(7)));
        assert!(Progression::new(7, 0, 1).is_ok());
        let ends = Progression::new(u32::MAX, -i64::from(u32::MAX), 2).unwrap();
        assert_eq!(ends.index_of(0), Some(1));
        assert_eq!(ends.index_of(1), None);
        let all = Progression::new(0, 1, 1 << 32).unwrap();
        assert_eq!(all.common(&ends.ascending()), ends.ascending());
        assert_eq!(all.below(u64::MAX), 1 << 32);
    }

    #[test]
    fn grouping_loses_nothing() {
        for n in 0..3000_u64 {
            let mut mix = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            let mut ranks = Vec::new();
            let (mut grouping, mut found) = (Grouping::new(), Vec::new());
            for _ in 0..n % 9 {
                mix = mix.rotate_left(23).wrapping_mul(0xD134_2543_DE82_EF95);
                let (start, step) = (
                    1000 + (mix >> 60) as u32,
                    [1, 2, 3, -1, -2][(mix >> 8) as usize % 5],
                );
                let next = Progression::valid(start, step, mix >> 20 & 3);
                ranks.extend(terms(&next));
                grouping.push(next, &mut |p| found.extend(terms(&p)));
            }
            grouping.finish(&mut |p| found.extend(terms(&p)));
            assert_eq!(found, ranks);
        }
    }
}
