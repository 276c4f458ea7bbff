//! SELECT of many ranks of a regular section, a few at once by the same instructions.

use crate::form::grid::{Axis, Grid};

/// From how many on it pays to look at the axes first.
const MANY: usize = 32;

/// Divides numbers of 32 bits by a multiplication of 32 bits, of which processors do several at once, and a shift:
/// `(number * multiplier + more) >> shift` (A. D. Robison, *N-bit unsigned division via N-bit multiply-add*, 2005).
#[derive(Clone, Copy, Debug)]
struct Quotient {
    multiplier: u32,
    more: u32,
    shift: u32,
}

impl Quotient {
    /// By a number of at least 1.
    fn new(divisor: u32) -> Self {
        let log = divisor.ilog2();
        if divisor.is_power_of_two() {
            return Quotient {
                multiplier: 1 << 31,
                more: 0,
                shift: 31 + log,
            };
        }
        let power = 1_u64 << (32 + log);
        let (down, rest) = (power / u64::from(divisor), power % u64::from(divisor));
        // Rounded up it is too large by so much each time; down it is too small by the rest. One of both is small enough.
        match u64::from(divisor) - rest <= 1 << log {
            true => Quotient {
                multiplier: down as u32 + 1,
                more: 0,
                shift: 32 + log,
            },
            false => Quotient {
                multiplier: down as u32,
                more: down as u32,
                shift: 32 + log,
            },
        }
    }

    /// In the upper bits, beginning with that of the shift, the quotient; in the others what is left, as a fraction.
    #[inline(always)]
    fn product(self, number: u64) -> u64 {
        // Of 32 bits each, which is said so that the narrow multiplication is taken.
        (number & LOW) * u64::from(self.multiplier) + u64::from(self.more)
    }

    /// The least fraction that says that so much is left or more.
    fn fraction(self, rest: u32, divisor: u32) -> u64 {
        let fraction = (u128::from(rest) << self.shift).div_ceil(u128::from(divisor));
        fraction as u64
    }
}

const LOW: u64 = u32::MAX as u64;

/// Of an axis and the one after it: what the steps of the first add, and where the second closes. World ranks are modulo
/// 2^32, in the lower halves of 64 bits, as the multiplications want it.
#[derive(Clone, Copy)]
struct Round {
    quotient: Quotient,
    /// What a step adds beyond all those of the next axis.
    jump: u32,
    seam: Seam,
}

/// From where on an axis has closed, and how long it is in ranks.
#[derive(Clone, Copy)]
struct Seam {
    from: u64,
    circumference: u32,
}

impl Seam {
    /// Of an axis one coordinate of which stands for so many members; `told` says how a number of members is told.
    fn new(axis: &Axis, weight: u32, told: impl Fn(u32) -> u64) -> Self {
        match axis.wraps() {
            false => Seam {
                from: 0,
                circumference: 0,
            },
            true => Seam {
                from: told((axis.modulus - axis.shift).wrapping_mul(weight)),
                circumference: i64::from(axis.modulus).wrapping_mul(axis.stride) as u32,
            },
        }
    }

    /// What is to be taken off.
    #[inline(always)]
    fn taken_off(&self, at: u64) -> u64 {
        // Both are below 2^63, so the sign tells: to compare 64 bits is not what every processor does several of at once.
        (self.from.wrapping_sub(at + 1) >> 63) * u64::from(self.circumference)
    }
}

impl Grid {
    /// The members at group ranks, in their places.
    pub(crate) fn at_many(&self, ranks: &mut [u32]) {
        match (ranks.len() < MANY, self.scales.len(), self.steps.wraps()) {
            (false, 1, true) => self.rounds::<0, true>(ranks),
            (false, 2, false) => self.rounds::<1, false>(ranks),
            (false, 2, true) => self.rounds::<1, true>(ranks),
            (false, 3, false) => self.rounds::<2, false>(ranks),
            (false, 3, true) => self.rounds::<2, true>(ranks),
            (false, 4, false) => self.rounds::<3, false>(ranks),
            (false, 4, true) => self.rounds::<3, true>(ranks),
            _ => ranks.iter_mut().for_each(|rank| *rank = self.at(*rank)),
        }
    }

    /// [`Grid::at_many`] of so many axes beside the fastest, one of which wraps or none.
    fn rounds<const AXES: usize, const WRAPS: bool>(&self, ranks: &mut [u32]) {
        let rounds: [Round; AXES] = std::array::from_fn(|at| {
            let (scale, next) = (&self.scales[at], &self.scales[at + 1]);
            let span = i64::from(next.axis.count).wrapping_mul(next.axis.stride);
            let quotient = Quotient::new(scale.weight);
            let told = |members| quotient.fraction(members, scale.weight);
            Round {
                quotient,
                jump: scale.axis.stride.wrapping_sub(span) as u32,
                seam: Seam::new(&next.axis, next.weight, told),
            }
        });
        let slowest = &self.scales[0];
        let slowest = Seam::new(&slowest.axis, slowest.weight, u64::from);
        let (start, step) = self.steps.line();
        let (start, step) = (u64::from(start), u64::from(step));
        for rank in ranks {
            let index = u64::from(*rank);
            let mut found = start.wrapping_add(index * step);
            if WRAPS {
                found = found.wrapping_sub(slowest.taken_off(index));
            }
            for round in &rounds {
                let product = round.quotient.product(index);
                let steps = product >> round.quotient.shift;
                found = found.wrapping_add((steps & LOW) * u64::from(round.jump));
                if WRAPS {
                    let rest = product & !(u64::MAX << round.quotient.shift);
                    found = found.wrapping_sub(round.seam.taken_off(rest));
                }
            }
            *rank = found as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_those_of_the_processor() {
        let some = [1, 2, 3, 5, 7, 10, 100, 641, 1000, 65_535, 65_536, 65_537];
        let ends = [1 << 31, (1 << 31) + 1, u32::MAX, u32::MAX - 1, u32::MAX / 3];
        let all = || some.into_iter().chain(ends).chain(0..3000);
        for divisor in all().skip(1).filter(|divisor| *divisor > 0) {
            let fast = Quotient::new(divisor);
            for number in all() {
                let multiple = number.wrapping_mul(divisor);
                for number in [number, !number, multiple, multiple.wrapping_sub(1)] {
                    let product = fast.product(u64::from(number));
                    let steps = product >> fast.shift;
                    assert_eq!(steps, u64::from(number / divisor), "{number} / {divisor}");
                    let (rest, left) = (number % divisor, product - (steps << fast.shift));
                    assert!(left >= fast.fraction(rest, divisor), "{number} % {divisor}");
                    assert!(rest + 1 == divisor || left < fast.fraction(rest + 1, divisor));
                }
            }
        }
    }
}
