//! SELECT of many ranks of a regular section, a few at once by the same instructions.

use crate::form::grid::{Axis, Grid};

/// From how many on it pays to look at the axes first.
const MANY: usize = 32;

/// Divides numbers below 2^31 by a multiplication of 32 bits, of which processors do several at once, and a shift:
/// `(number * multiplier) >> shift` (T. Granlund, P. L. Montgomery, *Division by invariant integers using
/// multiplication*, 1994).
#[derive(Clone, Copy, Debug)]
struct Quotient {
    multiplier: u32,
    shift: u32,
}

impl Quotient {
    /// By a number from 1 to 2^31.
    fn new(divisor: u32) -> Self {
        let shift = 31 + divisor.next_power_of_two().ilog2();
        let multiplier = (1_u64 << shift).div_ceil(u64::from(divisor));
        Quotient {
            multiplier: multiplier as u32,
            shift,
        }
    }

    /// In the upper bits, beginning with that of the shift, the quotient; in the others what is left, as a fraction.
    #[inline(always)]
    fn product(self, number: u64) -> u64 {
        // Of 32 bits each, which is said so that the narrow multiplication is taken.
        (number & LOW) * u64::from(self.multiplier)
    }

    /// The least fraction that says that so much is left or more.
    ///
    /// Of `n = q d + r` it is `q e + r m`, where `e = m d - 2^shift < d`, so that `q e < q d < 2^31 <= m`.
    fn fraction(self, rest: u32) -> u64 {
        u64::from(rest) * u64::from(self.multiplier)
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

/// An axis of a whole torus, shifted, in 32 bits altogether: twice as many fit into a register as of [`Round`]s.
#[derive(Clone, Copy)]
struct Lap {
    reciprocal: u32,
    from: u32,
    circumference: u32,
}

impl Lap {
    /// Of an axis one coordinate of which stands for so many members, and one of the axis before for `round` of them, at
    /// least 2; `None` where 32 bits are too few to tell what is left of the members below `len`.
    ///
    /// With `c = ceil(2^32 / round)`, what is left of `n = q round + r` is told by `c n = q e + r c` modulo 2^32, where
    /// `e = c round - 2^32`. That is below `(r + 1) c` and 2^32 where `(q + 1) e < c`.
    fn new(axis: &Axis, weight: u32, round: u32, len: u64) -> Option<Self> {
        let reciprocal = (1_u64 << 32).div_ceil(u64::from(round));
        let excess = reciprocal * u64::from(round) - (1 << 32);
        if (len / u64::from(round) + 1) * excess >= reciprocal {
            return None;
        }
        let told = |members: u32| u64::from(members) * reciprocal;
        let Seam {
            from,
            circumference,
        } = Seam::new(axis, weight, told);
        Some(Lap {
            reciprocal: reciprocal as u32,
            from: from as u32,
            circumference,
        })
    }
}

impl Grid {
    /// The members at group ranks, in their places.
    pub(crate) fn at_many(&self, ranks: &mut [u32]) {
        let few = ranks.len() < MANY || self.len > 1 << 31;
        let whole = !few && self.steps.is_whole();
        let done = match self.scales.len() {
            2 if whole => self.laps::<1>(ranks),
            3 if whole => self.laps::<2>(ranks),
            _ => false,
        };
        if done {
            return;
        }
        match (few, self.scales.len(), self.steps.wraps()) {
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

    /// [`Grid::at_many`] of a whole torus, shifted, of so many axes beside the slowest; whether 32 bits are enough.
    fn laps<const AXES: usize>(&self, ranks: &mut [u32]) -> bool {
        let laps: [Option<Lap>; AXES] = std::array::from_fn(|at| {
            let (round, scale) = (self.scales[at].weight, &self.scales[at + 1]);
            Lap::new(&scale.axis, scale.weight, round, self.len)
        });
        let Some(laps) = all(laps) else {
            return false;
        };
        let slowest = &self.scales[0];
        let slowest = Seam::new(&slowest.axis, slowest.weight, u64::from);
        let from = slowest.from as u32;
        let (start, step) = self.steps.line();
        for rank in ranks {
            let index = *rank;
            let mut found = start.wrapping_add(index.wrapping_mul(step));
            let taken_off = |at: u32, from: u32, length: u32| if at >= from { length } else { 0 };
            found = found.wrapping_sub(taken_off(index, from, slowest.circumference));
            for lap in &laps {
                let at = index.wrapping_mul(lap.reciprocal);
                found = found.wrapping_sub(taken_off(at, lap.from, lap.circumference));
            }
            *rank = found;
        }
        true
    }

    /// [`Grid::at_many`] of so many axes beside the fastest, one of which wraps or none.
    fn rounds<const AXES: usize, const WRAPS: bool>(&self, ranks: &mut [u32]) {
        let rounds: [Round; AXES] = std::array::from_fn(|at| {
            let (scale, next) = (&self.scales[at], &self.scales[at + 1]);
            let span = i64::from(next.axis.count).wrapping_mul(next.axis.stride);
            let quotient = Quotient::new(scale.weight);
            let told = |members| quotient.fraction(members);
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

/// All of some, if each is there.
fn all<T: Copy, const N: usize>(some: [Option<T>; N]) -> Option<[T; N]> {
    let first = some.first().copied().flatten()?;
    some.iter()
        .all(Option::is_some)
        .then(|| some.map(|one| one.unwrap_or(first)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::grid::Closed;

    #[test]
    fn quotients_are_those_of_the_processor() {
        let some = [1, 2, 3, 5, 7, 10, 100, 641, 1000, 65_535, 65_536, 65_537];
        let ends = [1 << 31, (1 << 31) - 1, (1 << 31) - 2, u32::MAX / 3];
        let all = || some.into_iter().chain(ends).chain(0..3000);
        for divisor in all().skip(1).filter(|divisor| *divisor > 0) {
            let fast = Quotient::new(divisor);
            for number in all() {
                let multiple = number.wrapping_mul(divisor);
                let numbers = [number, !number, multiple, multiple.wrapping_sub(1)];
                for number in numbers.map(|number| number & u32::MAX >> 1) {
                    let product = fast.product(u64::from(number));
                    let steps = product >> fast.shift;
                    assert_eq!(steps, u64::from(number / divisor), "{number} / {divisor}");
                    let (rest, left) = (number % divisor, product - (steps << fast.shift));
                    assert!(left >= fast.fraction(rest), "{number} % {divisor}");
                    assert!(rest + 1 == divisor || left < fast.fraction(rest + 1));
                }
            }
        }
    }

    #[test]
    fn many_are_what_each_is() {
        let grid = |axes: &[Axis]| match Grid::closed(3, axes, u64::MAX) {
            Ok(Closed::Grid(grid)) => grid,
            other => panic!("{axes:?}: {other:?}"),
        };
        // Whole tori, of which 32 bits are enough for some and for others not; a part of one; none.
        for sides in [
            [2_u32, 3, 5],
            [100, 100, 100],
            [999, 7, 1000],
            [1290, 1291, 1289],
        ] {
            let strides = [i64::from(sides[1] * sides[2]), i64::from(sides[2]), 1];
            let axis = |k: usize, count, shift| Axis::ring(count, strides[k], shift, sides[k]);
            for shifts in [[1, 1, 1], [1, 2, 4], [0, 1, 3], [1, 0, 0]] {
                let whole = |from: usize| (from..3).map(move |k| axis(k, sides[k], shifts[k]));
                let mut all = vec![grid(&whole(0).collect::<Vec<_>>())];
                if shifts[1] > 0 {
                    all.push(grid(&whole(1).collect::<Vec<_>>()));
                    all.push(grid(&[0, 1, 2].map(|k| axis(k, sides[k] - 1, shifts[k]))));
                }
                all.push(grid(&[0, 2].map(|k| Axis::line(sides[k], strides[k]))));
                // A face of a hypercube, and one the slowest axis of which is longer.
                for slowest in [2, sides[0] % 100 + 2] {
                    let face = [(slowest, 1 << 12), (8, 1 << 8), (4, 1 << 4), (2, 1)];
                    all.push(grid(&face.map(|(count, stride)| Axis::line(count, stride))));
                }
                for grid in all {
                    let ends = (0..grid.len.min(400)).flat_map(|k| [k, grid.len - 1 - k]);
                    let far = (0..400).map(|k| k * 0x9E37_79B9 % grid.len);
                    let ranks: Vec<u32> = ends.chain(far).map(|rank| rank as u32).collect();
                    let mut many = ranks.clone();
                    grid.at_many(&mut many);
                    for (rank, found) in ranks.iter().zip(many) {
                        let is = grid.at(*rank);
                        assert_eq!(found, is, "{grid:?} {rank}");
                        assert_eq!(grid.rank(is), Some(*rank));
                    }
                }
            }
        }
    }
}
