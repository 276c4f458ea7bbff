//! Regular sections: the closed form of groups in Cartesian topologies.

mod axis;
mod derived;
mod simplify;
mod steps;

use crate::error::Error;
use crate::form::grid::axis::Scale;
use crate::form::grid::steps::Steps;
use crate::progression::Progression;

pub use crate::form::grid::axis::Axis;

/// A regular section of the world (Havlak and Kennedy, *An implementation of interprocedural
/// bounded regular section analysis*, 1991): nested ranges with strides, the first axis being the
/// slowest.
///
/// SELECT and RANK take one multiplication by a reciprocal for each axis, and there are at most 32
/// axes. The multiplications of SELECT are independent of each other (`grid/steps.rs`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    steps: Steps,
    /// The rank at the lowest position of each axis.
    base: u32,
    len: u64,
    scales: Box<[Scale]>,
    ascending: bool,
}

/// Result of simplifying axes. Often it is only a progression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    Progression(Progression),
    Grid(Grid),
}

impl Grid {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn is_ascending(&self) -> bool {
        self.ascending
    }

    /// Returns the axes, slowest first.
    pub(crate) fn axes(&self) -> impl Iterator<Item = Axis> + '_ {
        self.scales.iter().map(|scale| scale.axis)
    }

    /// Returns the member at a group rank. The result is arbitrary if there is no such member.
    #[inline(always)]
    pub(crate) fn at(&self, index: u32) -> u32 {
        self.steps.at(index)
    }

    /// Returns the group rank of a world rank, or `None` if the world rank is not a member.
    #[inline]
    pub(crate) fn rank(&self, rank: u32) -> Option<u32> {
        let mut rest = rank.checked_sub(self.base)?;
        let mut index = 0_u64;
        for place in &self.scales {
            let scale = &self.scales[place.next as usize];
            let axis = &scale.axis;
            let steps = scale.by_stride.divide(rest);
            rest -= steps * axis.stride.unsigned_abs() as u32;
            if steps >= axis.modulus {
                return None;
            }
            let position = if axis.stride < 0 {
                axis.modulus - 1 - steps
            } else {
                steps
            };
            let coordinate = match position.checked_sub(axis.shift) {
                Some(coordinate) => coordinate,
                None => position + (axis.modulus - axis.shift),
            };
            if coordinate >= axis.count {
                return None;
            }
            index += u64::from(coordinate) * u64::from(scale.weight);
        }
        (rest == 0 && index < self.len).then_some(index as u32)
    }

    /// Returns the number of members below a number. The grid must ascend.
    pub(crate) fn below(&self, rank: u64) -> u64 {
        let Some(mut rest) = rank.checked_sub(u64::from(self.base)) else {
            return 0;
        };
        let mut index = 0;
        for scale in &self.scales {
            let stride = scale.axis.stride as u64;
            let steps = rest / stride;
            if steps >= u64::from(scale.axis.count) {
                index += u64::from(scale.axis.count) * u64::from(scale.weight);
                return index.min(self.len);
            }
            index += steps * u64::from(scale.weight);
            rest -= steps * stride;
        }
        (index + u64::from(rest > 0)).min(self.len)
    }

    /// Returns the largest member.
    pub(crate) fn max(&self) -> u32 {
        let axes: Vec<Axis> = self.axes().collect();
        (self.origin() + most(&axes, self.len)) as u32
    }

    /// Returns the largest length of the progressions that [`Grid::each`] gives. It is an upper
    /// bound, and 1 without axes.
    fn innermost(&self) -> u64 {
        self.scales
            .last()
            .map_or(1, |scale| u64::from(scale.axis.count))
    }

    /// Returns an upper bound for the number of progressions that [`Grid::each`] gives.
    pub(crate) fn pieces(&self) -> u64 {
        let parts = if self.steps.wraps() { 2 } else { 1 };
        self.len.div_ceil(self.innermost()) * parts
    }

    /// Gives the members from group rank `from` up to `to` (exclusive), as far as they exist, as
    /// progressions.
    pub(crate) fn each(&self, from: u64, to: u64, give: &mut dyn FnMut(Progression)) {
        let Some(inner) = self.scales.last().map(|scale| scale.axis) else {
            return;
        };
        let mut at = from;
        let to = to.min(self.len);
        while at < to {
            let coordinate = (at % u64::from(inner.count)) as u32;
            // Up to the end of the innermost axis, or to its seam.
            let position = u64::from(inner.shift) + u64::from(coordinate);
            let left = u64::from(inner.count - coordinate);
            let modulus = u64::from(inner.modulus);
            let left = if position < modulus {
                left.min(modulus - position)
            } else {
                left
            };
            let len = left.min(to - at);
            give(Progression::valid(self.at(at as u32), inner.stride, len));
            at += len;
        }
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.scales) + self.steps.bytes()
    }
}

/// Returns the largest sum that the axes add to the world rank, for the first `len` combinations of
/// coordinates. `len` must be at least 1.
fn most(axes: &[Axis], len: u64) -> i64 {
    let Some((axis, inner)) = axes.split_first() else {
        return 0;
    };
    let weight: u64 = inner.iter().map(|axis| u64::from(axis.count)).product();
    let added = |coordinate: u64| {
        let position = (coordinate + u64::from(axis.shift)) % u64::from(axis.modulus);
        position as i64 * axis.stride
    };
    let (whole, rest) = (len / weight, len % weight);
    let mut best = i64::MIN;
    if whole > 0 {
        // The first and the last coordinate, and the coordinates on both sides of the seam of the
        // torus.
        let seam = u64::from(axis.modulus - axis.shift);
        let ends = [
            0,
            whole - 1,
            seam.saturating_sub(1).min(whole - 1),
            seam.min(whole - 1),
        ];
        best = ends.map(added).into_iter().fold(best, i64::max) + most(inner, weight);
    }
    if rest > 0 {
        best = best.max(added(whole) + most(inner, rest));
    }
    best
}

fn ranked(rank: i64) -> Result<u32, Error> {
    u32::try_from(rank).map_err(|_| Error::BeyondRanks)
}
