//! SELECT of a regular section, from the number of steps of each axis.

use std::hint::select_unpredictable;

use crate::division::Divisor;
use crate::form::grid::axis::{Axis, Scale};

/// Number of axes that are evaluated without a loop: all but the fastest, or all of a torus.
const INLINE: usize = 3;

/// The amount that a step of an axis adds beyond all steps of the next axis, modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Jump {
    /// Divides by the number of members for each coordinate of the axis. [`Divisor::NEVER`] if
    /// there is no such axis.
    divisor: Divisor,
    jump: u32,
}

/// Placeholder for an axis that does not exist. Adds nothing.
const NO_JUMP: Jump = Jump {
    divisor: Divisor::NEVER,
    jump: 0,
};

impl Jump {
    /// Returns the amount to add at a group rank, modulo 2^32.
    #[inline]
    fn at(&self, index: u32) -> u32 {
        self.divisor.divide_by_more(index).wrapping_mul(self.jump)
    }
}

/// A jump of an axis with a power of two as its number of members for each coordinate. The upper
/// bits of an index give the number of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Masked {
    mask: u32,
    /// The amount for each member in complete steps, modulo 2^32.
    factor: u32,
}

impl Masked {
    /// Converts the jump of an axis with `weight` members for each coordinate. Returns `None` if
    /// `weight` is not a power of two, or does not divide the jump.
    fn new(jump: Jump, weight: u32) -> Option<Self> {
        let whole = weight.is_power_of_two() && jump.jump.is_multiple_of(weight);
        whole.then(|| Masked {
            mask: !(weight - 1),
            factor: jump.jump / weight,
        })
    }

    /// Returns the amount to add at a group rank, modulo 2^32.
    #[inline(always)]
    fn at(&self, index: u32) -> u32 {
        (index & self.mask).wrapping_mul(self.factor)
    }
}

/// The seam of an axis in a torus that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lap {
    /// Divisor of the axis before it.
    divisor: Divisor,
    seam: Seam,
}

impl Lap {
    /// Returns the amount to subtract at a group rank, modulo 2^32.
    #[inline(always)]
    fn at(&self, index: u32) -> u32 {
        self.seam.taken_off(self.divisor.rest(index))
    }
}

/// The point at which an axis of a torus wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seam {
    /// Limit from which the shifted coordinate is beyond the circumference. For the slowest axis,
    /// it is an index. For other axes, it is a scaled remainder of [`Divisor::divide_and_rest`],
    /// with the divisor of the axis before.
    from: u64,
    /// Circumference in ranks, modulo 2^32. It is 0 if the axis does not wrap.
    circumference: u32,
}

/// Seam of an axis that does not wrap.
const NO_SEAM: Seam = Seam {
    from: 0,
    circumference: 0,
};

impl Seam {
    /// Creates the seam of an axis with `weight` members for each coordinate. It is [`NO_SEAM`] if
    /// the axis does not wrap. `before` is the divisor of the axis before it, or `None` for the
    /// slowest axis.
    fn new(axis: &Axis, weight: u32, before: Option<Divisor>) -> Self {
        if !axis.wraps() {
            return NO_SEAM;
        }
        let members = u64::from(axis.modulus - axis.shift) * u64::from(weight);
        Seam {
            from: match before {
                // Below the weight of the axis before, which is at most 2^31.
                Some(before) => before.rest_of(members as u32),
                None => members,
            },
            circumference: i64::from(axis.modulus).wrapping_mul(axis.stride) as u32,
        }
    }

    /// Returns the circumference if `at` is at or beyond the seam, and otherwise 0. `at` is a group
    /// rank for the slowest axis, and a scaled remainder for any other.
    #[inline(always)]
    fn taken_off(&self, at: u64) -> u32 {
        // The side of the seam is unpredictable. A branch would be mispredicted half of the time.
        select_unpredictable(at >= self.from, self.circumference, 0)
    }
}

/// Terms that are added to the contribution of the fastest axis.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Added {
    /// At most [`INLINE`] axes that do not wrap, and their number.
    Few(u32, [Jump; INLINE]),
    /// Seams of a complete torus, shifted, with at most [`INLINE`] axes. The fastest axis has
    /// stride 1.
    Torus(Seam, [Lap; INLINE - 1]),
    /// [`INLINE`] axes that do not wrap, with powers of two, as in a face of a hypercube.
    Bits([Masked; INLINE]),
    /// Axes that do not wrap.
    Many(Box<[Jump]>),
    /// Axes of which some wrap: the seam of the slowest axis, and each axis except the fastest with
    /// the seam of the axis after it. One multiplication serves both.
    Seams(Box<(Seam, Vec<(Jump, Seam)>)>),
}

/// SELECT of a grid, with one multiplication by a reciprocal for each axis except the fastest.
///
/// The multiplications are independent of each other. If `q` is the total number of steps of an
/// axis, a world rank is the sum of `q` times the amount that such a step adds beyond all steps of
/// the next axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Steps {
    /// The first member, modulo 2^32. The sums begin with it.
    start: u32,
    /// The stride of the fastest axis.
    step: u32,
    added: Added,
}

impl Steps {
    /// Prepares at least two axes, or one axis that wraps. `start` is the rank at which all
    /// coordinates are 0. `scales` contains the axes in the same order. Panics if there is no axis.
    pub(super) fn new(start: u32, axes: &[Axis], scales: &[Scale]) -> Self {
        let pairs = axes.iter().zip(&axes[1..]).zip(scales);
        let jumps = pairs.map(|((axis, next), scale)| Jump {
            divisor: Divisor::new(scale.weight),
            jump: axis
                .stride
                .wrapping_sub(i64::from(next.count).wrapping_mul(next.stride))
                as u32,
        });
        let jumps: Vec<Jump> = jumps.collect();
        let step = axes.last().map_or(0, |axis| axis.stride as u32);
        let added = match axes.iter().any(Axis::wraps) {
            true => added_by_seams(step, axes, scales, jumps),
            false => added_by_jumps(scales, jumps),
        };
        Steps { start, step, added }
    }

    /// Returns true if an axis wraps.
    pub(super) fn wraps(&self) -> bool {
        matches!(self.added, Added::Torus(..) | Added::Seams(_))
    }

    /// Returns the member at a group rank. The result is arbitrary if there is no such member.
    #[inline(always)]
    pub(super) fn at(&self, index: u32) -> u32 {
        match &self.added {
            Added::Few(count, jumps) => self
                .of_fastest(index)
                .wrapping_add(of_few(*count, jumps, index)),
            Added::Torus(slowest, [next, last]) => self
                .start
                .wrapping_add(index)
                .wrapping_sub(slowest.taken_off(u64::from(index)))
                .wrapping_sub(next.at(index))
                .wrapping_sub(last.at(index)),
            Added::Bits([slowest, next, last]) => self
                .of_fastest(index)
                .wrapping_add(slowest.at(index))
                .wrapping_add(next.at(index))
                .wrapping_add(last.at(index)),
            _ => self.of_many(index),
        }
    }

    /// Returns the first member plus the contribution of the fastest axis at a group rank, modulo
    /// 2^32.
    #[inline(always)]
    fn of_fastest(&self, index: u32) -> u32 {
        self.start.wrapping_add(index.wrapping_mul(self.step))
    }

    /// Does the same as [`Steps::at`] for the cases that need a loop.
    // Not inlined, because the short cases would pay for its registers.
    #[inline(never)]
    fn of_many(&self, index: u32) -> u32 {
        let rank = self.of_fastest(index);
        match &self.added {
            Added::Many(jumps) => sum(rank, jumps.iter().map(|jump| jump.at(index))),
            Added::Seams(seams) => {
                let (slowest, others) = &**seams;
                let rank = rank.wrapping_sub(slowest.taken_off(u64::from(index)));
                sum(rank, others.iter().map(|other| of_seam(other, index)))
            }
            Added::Few(..) | Added::Torus(..) | Added::Bits(_) => self.at(index),
        }
    }

    /// Returns the size on the heap in bytes.
    pub(super) fn bytes(&self) -> usize {
        match &self.added {
            Added::Few(..) | Added::Torus(..) | Added::Bits(_) => 0,
            Added::Many(jumps) => size_of_val(&**jumps),
            Added::Seams(seams) => {
                size_of_val(&**seams) + seams.1.capacity() * size_of::<(Jump, Seam)>()
            }
        }
    }
}

/// Returns the terms of axes that do not wrap. `scales` has the number of members for each step.
fn added_by_jumps(scales: &[Scale], jumps: Vec<Jump>) -> Added {
    if let [slowest, next, last] = *jumps {
        let masked = |axis: usize, jump| Masked::new(jump, scales[axis].weight);
        if let (Some(a), Some(b), Some(c)) = (masked(0, slowest), masked(1, next), masked(2, last))
        {
            return Added::Bits([a, b, c]);
        }
    }
    let mut few = [NO_JUMP; INLINE];
    match few.get_mut(..jumps.len()) {
        Some(first) => {
            first.copy_from_slice(&jumps);
            Added::Few(jumps.len() as u32, few)
        }
        None => Added::Many(jumps.into()),
    }
}

/// Returns the terms of a section in which some axis wraps. `step` is the stride of the fastest
/// axis.
fn added_by_seams(step: u32, axes: &[Axis], scales: &[Scale], jumps: Vec<Jump>) -> Added {
    let slowest = Seam::new(&axes[0], scales[0].weight, None);
    let after = axes.iter().zip(scales).skip(1);
    let others = jumps
        .into_iter()
        .zip(after)
        .map(|(jump, (axis, scale))| (jump, Seam::new(axis, scale.weight, Some(jump.divisor))));
    let others: Vec<(Jump, Seam)> = others.collect();
    if step != 1 || others.len() >= INLINE || !are_whole(&others) {
        return Added::Seams(Box::new((slowest, others)));
    }
    let mut laps = [Lap {
        divisor: Divisor::NEVER,
        seam: NO_SEAM,
    }; INLINE - 1];
    for (lap, (jump, seam)) in laps.iter_mut().zip(others) {
        *lap = Lap {
            divisor: jump.divisor,
            seam,
        };
    }
    Added::Torus(slowest, laps)
}

/// Returns true if no step of an axis adds more than all steps of the next axis.
fn are_whole(others: &[(Jump, Seam)]) -> bool {
    others.iter().all(|(jump, _)| jump.jump == 0)
}

/// Returns the sum of the first `count` jumps at an index.
#[inline(always)]
fn of_few(count: u32, [slowest, next, last]: &[Jump; INLINE], index: u32) -> u32 {
    // The processor predicts the number after a few look-ups of the same map.
    let added = slowest.at(index);
    if count == 1 {
        return added;
    }
    let added = added.wrapping_add(next.at(index));
    if count == 2 {
        return added;
    }
    added.wrapping_add(last.at(index))
}

/// Returns the contribution of an axis at an index, less the circumference of the next axis if that
/// has wrapped.
#[inline]
fn of_seam((jump, seam): &(Jump, Seam), index: u32) -> u32 {
    let (steps, rest) = jump.divisor.divide_and_rest(index);
    steps
        .wrapping_mul(jump.jump)
        .wrapping_sub(seam.taken_off(rest))
}

fn sum(first: u32, others: impl Iterator<Item = u32>) -> u32 {
    others.fold(first, u32::wrapping_add)
}
