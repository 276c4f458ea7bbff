//! Division by a fixed number.

/// Divisor of 32-bit numbers that replaces each division by a multiplication.
///
/// With `c = ceil(2^64 / d)`, the upper half of `c * n` is `n / d` for all `n` and `d` below `2^32`
/// (D. Lemire, O. Kaser, N. Kurz, *Faster remainder by direct computation*, 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divisor {
    reciprocal: u64,
}

impl Divisor {
    /// Divisor with which all functions except [`Divisor::divide`] return 0.
    pub(crate) const NEVER: Divisor = Divisor { reciprocal: 0 };

    /// Creates a divisor. Panics if `divisor` is 0.
    pub(crate) fn new(divisor: u32) -> Self {
        // For divisor 1, the reciprocal wraps to 0. `divide` checks for 0.
        let reciprocal = (u64::MAX / u64::from(divisor)).wrapping_add(1);
        Divisor { reciprocal }
    }

    /// Returns `number` divided by the divisor, rounded down. Constant time.
    #[inline]
    pub(crate) fn divide(self, number: u32) -> u32 {
        if self.reciprocal == 0 {
            return number;
        }
        self.divide_by_more(number)
    }

    /// Returns `number` divided by the divisor, rounded down. The divisor must not be 1, for which
    /// the result is 0.
    #[inline]
    pub(crate) fn divide_by_more(self, number: u32) -> u32 {
        self.divide_and_rest(number).0
    }

    /// Returns the quotient, and the scaled remainder that [`Divisor::rest_of`] describes. Both are
    /// 0 for divisor 1, which is not supported. Comparing the scaled remainder with a limit needs
    /// no further multiplication.
    #[inline]
    pub(crate) fn divide_and_rest(self, number: u32) -> (u32, u64) {
        let product = u128::from(self.reciprocal) * u128::from(number);
        ((product >> 64) as u32, product as u64)
    }

    /// Returns the scaled remainder of `number`, as [`Divisor::divide_and_rest`] does, with half of
    /// a multiplication.
    #[inline]
    pub(crate) fn rest(self, number: u32) -> u64 {
        self.reciprocal.wrapping_mul(u64::from(number))
    }

    /// Returns the least scaled remainder of all numbers whose remainder is `rest`, which must be
    /// below the divisor.
    ///
    /// For `n = q d + r` the lower half of `c n` is `q e + r c`, where `e = c d - 2^64 < d`. Since
    /// `q e < q d <= n < 2^32 <= c`, it is below `(r + 1) c`.
    pub(crate) fn rest_of(self, rest: u32) -> u64 {
        self.reciprocal.wrapping_mul(u64::from(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_those_of_the_processor() {
        let some = [
            1,
            2,
            3,
            5,
            7,
            10,
            100,
            641,
            1000,
            65_535,
            65_536,
            65_537,
            1 << 31,
        ];
        let ends = [u32::MAX, u32::MAX - 1, u32::MAX / 2, u32::MAX / 3];
        for divisor in some.into_iter().chain(ends) {
            let fast = Divisor::new(divisor);
            for number in some.into_iter().chain(ends).chain(0..5000) {
                for number in [
                    number,
                    number.wrapping_mul(divisor),
                    number.wrapping_mul(divisor).wrapping_sub(1),
                ] {
                    assert_eq!(
                        fast.divide(number),
                        number / divisor,
                        "{number} / {divisor}"
                    );
                    if divisor > 1 {
                        let (rest, left) = (number % divisor, fast.divide_and_rest(number).1);
                        assert!(left >= fast.rest_of(rest), "{number} % {divisor}");
                        assert!(rest + 1 == divisor || left < fast.rest_of(rest + 1));
                    }
                }
            }
        }
    }
}
