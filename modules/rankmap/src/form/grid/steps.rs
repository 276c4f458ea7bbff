//! SELECT on a regular section: which axes were stepped how often, and what that adds.

use std::hint::select_unpredictable;

use crate::division::Divisor;
use crate::form::grid::axis::{Axis, Scale};

/// How many axes beside the fastest are looked at without a loop.
const INLINE: usize = 3;

/// What a step of an axis adds beyond all steps of the next one, modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Jump {
    /// By how many members one coordinate of the axis stands for; of one by all, which never goes into any, where
    /// there is no such axis.
    divisor: Divisor,
    jump: u32,
}

/// How SELECT goes about a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Of at most [`INLINE`] axes beside the fastest, none of which wraps.
    Few,
    /// The whole torus, shifted.
    Torus,
    Any,
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
    #[inline]
    fn taken_off(&self, at: u64) -> u32 {
        // On which side of the seam cannot be foreseen: a branch would be taken wrongly half of the time.
        select_unpredictable(at >= self.from, self.circumference, 0)
    }
}

/// The seams of a section that wraps somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Torus {
    slowest: Seam,
    /// Each axis but the fastest, and the seam of the one after it: one multiplication tells both. Two of them, for
    /// a torus of three dimensions, and the rest.
    others: [(Jump, Seam); 2],
    more: Box<[(Jump, Seam)]>,
    /// Whether no step of an axis adds more than all those of the next one, and there are at most three: the whole torus,
    /// shifted.
    whole: bool,
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
    /// How many axes beside the fastest there are, where nothing wraps.
    count: u32,
    /// Of the slowest axes,
    jumps: [Jump; INLINE],
    /// and those after these.
    more: Box<[Jump]>,
    torus: Option<Box<Torus>>,
}

impl Steps {
    /// Of two axes or more, or one that wraps, with the rank at which all coordinates are 0.
    pub(super) fn new(start: u32, axes: &[Axis], scales: &[Scale]) -> Self {
        let pairs = axes.iter().zip(&axes[1..]).zip(scales);
        let all = pairs.map(|((axis, next), scale)| Jump {
            divisor: Divisor::new(scale.weight),
            jump: axis
                .stride
                .wrapping_sub(i64::from(next.count).wrapping_mul(next.stride))
                as u32,
        });
        let mut all: Vec<Jump> = all.collect();
        let torus = axes.iter().any(Axis::wraps).then(|| {
            let after = axes.iter().zip(scales).skip(1);
            let mut rest = all.iter().zip(after).map(|(jump, (axis, scale))| {
                (*jump, Seam::new(axis, scale.weight, Some(jump.divisor)))
            });
            let others = [(); 2].map(|()| rest.next().unwrap_or((NO_JUMP, NO_SEAM)));
            let more: Box<[(Jump, Seam)]> = rest.collect();
            let whole = more.is_empty() && others.iter().all(|(jump, _)| jump.jump == 0);
            Box::new(Torus {
                slowest: Seam::new(&axes[0], scales[0].weight, None),
                others,
                more,
                whole,
            })
        });
        if torus.is_some() {
            all.clear();
        }
        let count = all.len() as u32;
        let more = all.split_off(all.len().min(INLINE));
        let mut jumps = [NO_JUMP; INLINE];
        jumps[..all.len()].copy_from_slice(&all);
        Steps {
            start,
            step: axes.last().map_or(0, |axis| axis.stride as u32),
            count,
            jumps,
            more: more.into(),
            torus,
        }
    }

    pub(super) fn wraps(&self) -> bool {
        self.torus.is_some()
    }

    /// How SELECT goes about it.
    pub(super) fn asked(&self) -> Asked {
        match &self.torus {
            Some(torus) if torus.whole => Asked::Torus,
            None if self.more.is_empty() => Asked::Few,
            _ => Asked::Any,
        }
    }

    /// [`Steps::at`] by who knows [`Steps::asked`].
    #[inline(always)]
    pub(super) fn at_as(&self, asked: Asked, index: u32) -> u32 {
        match asked {
            Asked::Few => self.at_of_few(index),
            Asked::Torus => {
                let rank = self.of_fastest(index);
                // There is one; no call on the other way, so that a loop may keep in registers what stays the same.
                let torus = self.torus.as_ref();
                torus.map_or(rank, |torus| torus.of_whole(rank, index))
            }
            Asked::Any => self.at(index),
        }
    }

    /// What the fastest axis would come to alone.
    #[inline(always)]
    fn of_fastest(&self, index: u32) -> u32 {
        self.start.wrapping_add(index.wrapping_mul(self.step))
    }

    /// [`Steps::at`] of at most [`INLINE`] axes beside the fastest, none of which wraps.
    #[inline(always)]
    fn at_of_few(&self, index: u32) -> u32 {
        // How many there are is foreseen by the processor after a few look-ups of the same map.
        let [slowest, next, last] = &self.jumps;
        let rank = self.of_fastest(index).wrapping_add(slowest.at(index));
        if self.count == 1 {
            return rank;
        }
        let rank = rank.wrapping_add(next.at(index));
        if self.count == 2 {
            return rank;
        }
        rank.wrapping_add(last.at(index))
    }

    /// The first member and what the fastest axis adds a step, both modulo 2^32.
    pub(super) fn line(&self) -> (u32, u32) {
        (self.start, self.step)
    }

    /// The member at a group rank.
    // Not a part of its caller: what is short would pay for its registers.
    #[inline(never)]
    pub(super) fn at(&self, index: u32) -> u32 {
        match &self.torus {
            Some(torus) => torus.at(self.of_fastest(index), index),
            None => self
                .at_of_few(index)
                .wrapping_add(self.added_by_more(index)),
        }
    }

    fn added_by_more(&self, index: u32) -> u32 {
        let added = self.more.iter().map(|jump| jump.at(index));
        added.fold(0, u32::wrapping_add)
    }

    /// The bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        let torus = self.torus.as_ref();
        size_of_val(&*self.more)
            + torus.map_or(0, |torus| size_of::<Torus>() + size_of_val(&*torus.more))
    }
}

impl Torus {
    /// [`Torus::at`] where no step adds more than those of the next axis.
    #[inline(always)]
    fn of_whole(&self, rank: u32, index: u32) -> u32 {
        let [(next, after_next), (last, after_last)] = &self.others;
        rank.wrapping_sub(self.slowest.taken_off(u64::from(index)))
            .wrapping_sub(after_next.taken_off(next.divisor.rest(index)))
            .wrapping_sub(after_last.taken_off(last.divisor.rest(index)))
    }

    /// The member at a group rank, of which is known what the fastest axis would add alone: behind its seam, the
    /// circumference of each axis is taken off.
    fn at(&self, rank: u32, index: u32) -> u32 {
        let mut rank = rank.wrapping_sub(self.slowest.taken_off(u64::from(index)));
        for other in &self.others {
            rank = rank.wrapping_add(step(other, index));
        }
        match *self.more {
            [] => rank,
            _ => rank.wrapping_add(self.added_by_more(index)),
        }
    }

    #[inline(never)]
    fn added_by_more(&self, index: u32) -> u32 {
        let added = self.more.iter().map(|other| step(other, index));
        added.fold(0, u32::wrapping_add)
    }
}

/// What the steps of an axis add at an index, less the circumference of the next one where that has closed.
#[inline]
fn step((jump, seam): &(Jump, Seam), index: u32) -> u32 {
    let (steps, rest) = jump.divisor.divide_and_rest(index);
    steps
        .wrapping_mul(jump.jump)
        .wrapping_sub(seam.taken_off(rest))
}
