//! SELECT on a regular section: which axes were stepped how often, and what that adds.

use std::hint::select_unpredictable;

use crate::division::Divisor;
use crate::form::grid::axis::{Axis, Scale};

/// How many axes are looked at without a loop: beside the fastest, or all of a torus.
const INLINE: usize = 3;

/// What a step of an axis adds beyond all steps of the next one, modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Jump {
    /// By how many members one coordinate of the axis stands for; of one by all, which never goes into any, where
    /// there is no such axis.
    divisor: Divisor,
    jump: u32,
}

/// No axis: adds nothing.
const NO_JUMP: Jump = Jump {
    divisor: Divisor::NEVER,
    jump: 0,
};

impl Jump {
    /// What is added at an index.
    #[inline]
    fn at(&self, index: u32) -> u32 {
        self.divisor.divide_by_more(index).wrapping_mul(self.jump)
    }
}

/// A jump of an axis one coordinate of which stands for a power of two of members: whole steps are upper bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Masked {
    mask: u32,
    /// What is added for each member in whole steps, modulo 2^32.
    factor: u32,
}

impl Masked {
    /// Of a jump for so many members, if it can be told by them.
    fn new(jump: Jump, weight: u32) -> Option<Self> {
        let whole = weight.is_power_of_two() && jump.jump.is_multiple_of(weight);
        whole.then(|| Masked {
            mask: !(weight - 1),
            factor: jump.jump / weight,
        })
    }

    /// What is added at an index.
    #[inline(always)]
    fn at(&self, index: u32) -> u32 {
        (index & self.mask).wrapping_mul(self.factor)
    }
}

/// Where an axis of a whole torus closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lap {
    /// Of the axis before.
    divisor: Divisor,
    seam: Seam,
}

impl Lap {
    /// What is to be taken off at an index.
    #[inline(always)]
    fn at(&self, index: u32) -> u32 {
        self.seam.taken_off(self.divisor.rest(index))
    }
}

/// Where an axis of a torus closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seam {
    /// From where on the shifted coordinate is beyond the circumference: of the slowest axis an index, of the
    /// others a part of the round in which the axis before makes a step, as [`Divisor::divide_and_rest`] gives it;
    from: u64,
    /// which is so long in ranks, modulo 2^32; 0 where nothing wraps.
    circumference: u32,
}

/// Of an axis that does not wrap: nothing is taken off.
const NO_SEAM: Seam = Seam {
    from: 0,
    circumference: 0,
};

impl Seam {
    /// Of an axis one coordinate of which stands for so many members, and the divisor of the axis before.
    fn new(axis: &Axis, weight: u32, before: Option<Divisor>) -> Self {
        if !axis.wraps() {
            return NO_SEAM;
        }
        let members = u64::from(axis.modulus - axis.shift) * u64::from(weight);
        Seam {
            from: match before {
                // Less than a step of the axis before stands for, and that is at most 2^31.
                Some(before) => before.rest_of(members as u32),
                None => members,
            },
            circumference: i64::from(axis.modulus).wrapping_mul(axis.stride) as u32,
        }
    }

    /// What is to be taken off.
    #[inline(always)]
    fn taken_off(&self, at: u64) -> u32 {
        // On which side of the seam cannot be foreseen: a branch would be taken wrongly half of the time.
        select_unpredictable(at >= self.from, self.circumference, 0)
    }
}

/// What is added beside what the fastest axis would come to alone.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Added {
    /// By at most [`INLINE`] axes, so many, none of which wraps.
    Few(u32, [Jump; INLINE]),
    /// By the seams of a whole torus, shifted, of at most [`INLINE`] axes, of which the fastest goes by single ranks.
    Torus(Seam, [Lap; INLINE - 1]),
    /// By [`INLINE`] axes that do not wrap, as of a face of a hypercube.
    Bits([Masked; INLINE]),
    /// By axes none of which wraps.
    Many(Box<[Jump]>),
    /// By a section that wraps somewhere: the seam of the slowest axis, and each axis but the fastest with the seam of the
    /// one after it: one multiplication tells both.
    Seams(Box<(Seam, Vec<(Jump, Seam)>)>),
}

/// From the rank in the group to the world rank: one multiplication by a reciprocal for each axis but the fastest,
/// none of which waits for another. Where `q` is how often an axis was stepped in all, a world rank is the sum of `q`
/// times what such a step adds beyond all those of the next axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Steps {
    /// The first member, modulo 2^32: the sums begin with it.
    start: u32,
    /// The stride of the fastest axis.
    step: u32,
    added: Added,
}

impl Steps {
    /// Of two axes or more, or one that wraps, with the rank at which all coordinates are 0.
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

    /// Whether an axis wraps.
    pub(super) fn wraps(&self) -> bool {
        matches!(self.added, Added::Torus(..) | Added::Seams(_))
    }

    /// The member at a group rank.
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

    /// What the fastest axis would come to alone.
    #[inline(always)]
    fn of_fastest(&self, index: u32) -> u32 {
        self.start.wrapping_add(index.wrapping_mul(self.step))
    }

    /// [`Steps::at`] by a loop.
    // Not a part of its caller: what is short would pay for its registers.
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

    /// The bytes on the heap.
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

/// Of axes none of which wraps, that are stepped every so many members and add so much each time.
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

/// Of a section that wraps somewhere, the fastest axis of which goes by so many ranks.
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

/// Whether no step of an axis adds more than all those of the next one.
fn are_whole(others: &[(Jump, Seam)]) -> bool {
    others.iter().all(|(jump, _)| jump.jump == 0)
}

/// What so many of some jumps add at an index.
#[inline(always)]
fn of_few(count: u32, [slowest, next, last]: &[Jump; INLINE], index: u32) -> u32 {
    // How many there are is foreseen by the processor after a few look-ups of the same map.
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

/// What the steps of an axis add at an index, less the circumference of the next one where that has closed.
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
