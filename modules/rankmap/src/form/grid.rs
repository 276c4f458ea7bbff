//! Regular sections: the closed form of what Cartesian topologies make.

use crate::division::Divisor;
use crate::error::Error;
use crate::progression::Progression;

/// One axis of a regular section.
///
/// A coordinate `c` from 0 to `count - 1` adds `((c + shift) mod modulus) * stride` to the world rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// How many coordinates there are.
    pub count: u32,
    /// What a step along the axis adds to the world rank; negative where it goes down.
    pub stride: i64,
    /// Where on the torus the first coordinate lies.
    pub shift: u32,
    /// The circumference of the torus; `count` or more.
    pub modulus: u32,
}

impl Axis {
    /// An axis that does not wrap.
    pub fn line(count: u32, stride: i64) -> Self {
        Axis {
            count,
            stride,
            shift: 0,
            modulus: count,
        }
    }

    /// An axis around a torus, whose first coordinate is `shift`.
    pub fn ring(count: u32, stride: i64, shift: u32, modulus: u32) -> Self {
        Axis {
            count,
            stride,
            shift,
            modulus,
        }
    }

    fn wraps(&self) -> bool {
        u64::from(self.shift) + u64::from(self.count) > u64::from(self.modulus)
    }
}

/// An axis as it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    axis: Axis,
    /// How many members one coordinate of this axis stands for.
    weight: u32,
    by_stride: Divisor,
    /// Which axis has the stride at this place in the order from the largest to the smallest.
    next: u32,
}

/// What a step of an axis adds beyond all steps of the next one, modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Jump {
    /// By how many members one coordinate of the axis stands for.
    divisor: Divisor,
    jump: u32,
}

/// Where an axis of a torus closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seam {
    count: u32,
    /// From this coordinate on the shifted one is beyond the circumference,
    first: u32,
    /// which is so long in ranks, modulo 2^32.
    circumference: u32,
}

impl Seam {
    /// What is to be taken off after so many steps of this axis and so many of the one before.
    #[inline]
    fn taken_off(&self, steps: u32, before: u32) -> u32 {
        let coordinate = steps.wrapping_sub(before.wrapping_mul(self.count));
        // Without a branch: on which side of the seam cannot be foreseen.
        self.circumference & u32::from(coordinate >= self.first).wrapping_neg()
    }
}

/// A regular section (Havlak and Kennedy, *An implementation of interprocedural bounded regular section
/// analysis*, 1991) of the world: nested ranges with strides, the first axis being the slowest.
///
/// SELECT and RANK take one multiplication by a reciprocal for each axis, of which there are at most 32; those
/// of SELECT do not wait for each other: where `q` is how often the axis was stepped in all, a rank is the sum
/// of `q` times what such a step adds beyond all those of the next axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The first member, modulo 2^32: the sums in `at` begin with it.
    start: u32,
    /// The rank whose coordinates are all those of the smallest rank.
    base: u32,
    len: u64,
    scales: Box<[Scale]>,
    /// Of all axes but the fastest, whose stride is `step`.
    jumps: Box<[Jump]>,
    step: u32,
    /// Of all axes, if one wraps.
    seams: Box<[Seam]>,
    ascending: bool,
    wraps: bool,
}

/// What axes come to: often less than a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    Progression(Progression),
    Grid(Grid),
}

impl Grid {
    /// The first `len` members of the section that begins at `start`, simplified.
    ///
    /// An error if a member is no rank, or if a stride is not larger than all that the smaller ones reach
    /// together, since then RANK would have to search.
    pub(crate) fn closed(start: i64, axes: &[Axis], len: u64) -> Result<Closed, Error> {
        let mut start = start;
        let mut kept: Vec<Axis> = Vec::new();
        if axes.iter().any(|axis| axis.count == 0) || len == 0 {
            return Ok(Closed::Progression(Progression::EMPTY));
        }
        for axis in axes {
            if axis.modulus < axis.count || (axis.modulus > 0 && axis.shift >= axis.modulus) {
                return Err(Error::Topology("an axis is longer than its torus"));
            }
            let mut axis = *axis;
            if !axis.wraps() {
                start = i64::from(axis.shift)
                    .checked_mul(axis.stride)
                    .and_then(|moved| start.checked_add(moved))
                    .ok_or(Error::BeyondRanks)?;
                axis = Axis::line(axis.count, axis.stride);
            }
            if axis.count == 1 {
                continue;
            }
            let merged = kept.last().is_some_and(|outer: &Axis| {
                !outer.wraps()
                    && !axis.wraps()
                    && axis.stride.checked_mul(i64::from(axis.count)) == Some(outer.stride)
            });
            match kept.last_mut().filter(|_| merged) {
                Some(outer) => {
                    let count = u64::from(outer.count) * u64::from(axis.count);
                    *outer = match u32::try_from(count) {
                        Ok(count) => Axis::line(count, axis.stride),
                        // All ranks that there are.
                        Err(_) if kept.len() == 1 && len >= count && axis.stride.abs() == 1 => {
                            return Progression::new(ranked(start)?, axis.stride, count)
                                .map(Closed::Progression);
                        }
                        Err(_) => return Err(Error::BeyondRanks),
                    };
                }
                None => kept.push(axis),
            }
        }
        let product = kept
            .iter()
            .try_fold(1_u64, |all, axis| all.checked_mul(u64::from(axis.count)));
        let product = product
            .filter(|all| *all <= 1 << 32)
            .ok_or(Error::BeyondRanks)?;
        let len = len.min(product);
        // No more of the slowest axis than is needed.
        if let Some(first) = kept.first().copied() {
            let weight = product / u64::from(first.count);
            let needed = len.div_ceil(weight) as u32;
            if needed < first.count {
                kept[0].count = needed;
                if !kept[0].wraps() {
                    // Simplified again, now that it is shorter.
                    return Grid::closed(start, &kept, len);
                }
            }
        }
        match kept[..] {
            [] => Progression::new(ranked(start)?, 1, 1).map(Closed::Progression),
            [axis] if !axis.wraps() => {
                Progression::new(ranked(start)?, axis.stride, len).map(Closed::Progression)
            }
            _ => Grid::of(start, &kept, len).map(Closed::Grid),
        }
    }

    fn of(start: i64, axes: &[Axis], len: u64) -> Result<Grid, Error> {
        let mut order: Vec<usize> = (0..axes.len()).collect();
        order.sort_by_key(|k| std::cmp::Reverse(axes[*k].stride.unsigned_abs()));
        let mut reach = 0_u64;
        let mut base = start;
        for k in order.iter().rev() {
            let (stride, steps) = (axes[*k].stride, u64::from(axes[*k].modulus - 1));
            let size = stride.unsigned_abs();
            if size <= reach {
                return Err(Error::Topology("the axes overlap"));
            }
            reach = size
                .checked_mul(steps)
                .and_then(|more| reach.checked_add(more))
                .ok_or(Error::BeyondRanks)?;
            if reach > u64::from(u32::MAX) {
                return Err(Error::BeyondRanks);
            }
            if stride < 0 {
                base = base
                    .checked_add(stride * steps as i64)
                    .ok_or(Error::BeyondRanks)?;
            }
        }
        let base = ranked(base)?;
        ranked(i64::from(base) + reach as i64)?;
        let mut weight = 1_u32;
        let mut scales: Vec<Scale> = Vec::with_capacity(axes.len());
        for (k, axis) in axes.iter().enumerate().rev() {
            scales.push(Scale {
                axis: *axis,
                weight,
                by_stride: Divisor::new(axis.stride.unsigned_abs() as u32),
                next: order[k] as u32,
            });
            // The slowest of all has no need of it.
            weight = weight.wrapping_mul(axis.count);
        }
        scales.reverse();
        let jumps = axes.iter().zip(&axes[1..]).zip(&scales);
        let jumps = jumps.map(|((axis, next), scale)| Jump {
            divisor: Divisor::new(scale.weight),
            jump: axis
                .stride
                .wrapping_sub(i64::from(next.count).wrapping_mul(next.stride))
                as u32,
        });
        let rising = axes.iter().all(|axis| axis.stride > 0 && !axis.wraps());
        let wraps = axes.iter().any(Axis::wraps);
        let seams = axes.iter().filter(|_| wraps).map(|axis| Seam {
            count: axis.count,
            // Never, where there is no shift.
            first: if axis.wraps() {
                axis.modulus - axis.shift
            } else {
                u32::MAX
            },
            circumference: (i64::from(axis.modulus).wrapping_mul(axis.stride)) as u32,
        });
        let shifts = axes.iter().map(|axis| i64::from(axis.shift) * axis.stride);
        let shifted = start.wrapping_add(shifts.sum::<i64>());
        Ok(Grid {
            start: shifted as u32,
            seams: seams.collect(),
            base,
            len,
            ascending: rising && order.iter().copied().eq(0..axes.len()),
            wraps,
            jumps: jumps.collect(),
            step: axes[axes.len() - 1].stride as u32,
            scales: scales.into(),
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn is_ascending(&self) -> bool {
        self.ascending
    }

    /// The axes, slowest first.
    pub(crate) fn axes(&self) -> impl Iterator<Item = Axis> + '_ {
        self.scales.iter().map(|scale| scale.axis)
    }

    /// The member at a group rank.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        if self.wraps {
            return self.at_wrapped(index);
        }
        let mut rank = self.start.wrapping_add(index.wrapping_mul(self.step));
        for jump in &self.jumps {
            let steps = jump.divisor.divide_by_more(index);
            rank = rank.wrapping_add(steps.wrapping_mul(jump.jump));
        }
        rank
    }

    /// The same where an axis wraps: behind its seam, the circumference is taken off.
    #[inline]
    fn at_wrapped(&self, index: u32) -> u32 {
        let (mut rank, mut before) = (self.start, 0_u32);
        for (jump, seam) in self.jumps.iter().zip(&self.seams) {
            let steps = jump.divisor.divide_by_more(index);
            rank = rank.wrapping_add(steps.wrapping_mul(jump.jump));
            rank = rank.wrapping_sub(seam.taken_off(steps, before));
            before = steps;
        }
        rank = rank.wrapping_add(index.wrapping_mul(self.step));
        match self.seams.last() {
            Some(seam) => rank.wrapping_sub(seam.taken_off(index, before)),
            None => rank,
        }
    }

    /// The group rank of a world rank.
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

    /// How many members of an ascending grid are below a number.
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

    /// The largest member.
    pub(crate) fn max(&self) -> u32 {
        let axes: Vec<Axis> = self.axes().collect();
        (self.origin() + most(&axes, self.len)) as u32
    }

    /// How long the progressions are that [`Grid::each`] gives.
    fn innermost(&self) -> u64 {
        self.scales
            .last()
            .map_or(1, |scale| u64::from(scale.axis.count))
    }

    /// In how many progressions its members lie at the most.
    pub(crate) fn pieces(&self) -> u64 {
        let parts = if self.wraps { 2 } else { 1 };
        self.len.div_ceil(self.innermost()) * parts
    }

    /// Its members from one group rank up to before another, as progressions.
    pub(crate) fn each(&self, from: u64, to: u64, give: &mut dyn FnMut(Progression)) {
        let Some(inner) = self.scales.last().map(|scale| scale.axis) else {
            return;
        };
        let mut at = from;
        let to = to.min(self.len);
        while at < to {
            let coordinate = (at % u64::from(inner.count)) as u32;
            // To the end of the innermost axis, or to where it wraps.
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

    /// The first `len` of its members.
    pub(crate) fn prefix(&self, len: u64) -> Result<Closed, Error> {
        let axes: Vec<Axis> = self.axes().collect();
        Grid::closed(self.origin(), &axes, len.min(self.len))
    }

    /// The same grid with every world rank `r` turned into `start + step * r`.
    pub(crate) fn scaled(&self, start: u32, step: i64) -> Result<Closed, Error> {
        let first = i64::from(start) + step * self.origin();
        let axes: Vec<Axis> = self
            .axes()
            .map(|axis| Axis {
                stride: axis.stride * step,
                ..axis
            })
            .collect();
        Grid::closed(first, &axes, self.len)
    }

    /// The rank all of whose positions are 0; where an axis wraps it need not be a member, nor a rank.
    pub(crate) fn origin(&self) -> i64 {
        let down = self.axes().filter(|axis| axis.stride < 0);
        i64::from(self.base)
            + down
                .map(|axis| -axis.stride * i64::from(axis.modulus - 1))
                .sum::<i64>()
    }

    /// The same members in ascending order, if that too is a grid.
    pub(crate) fn sorted(&self) -> Option<Closed> {
        if self.len
            < self
                .scales
                .iter()
                .map(|s| u64::from(s.axis.count))
                .product()
        {
            return self.ascending.then(|| Closed::Grid(self.clone()));
        }
        let mut axes = Vec::with_capacity(self.scales.len());
        for place in &self.scales {
            let axis = self.scales[place.next as usize].axis;
            let stride = axis.stride.abs();
            if axis.wraps() && axis.count < axis.modulus {
                return None;
            }
            axes.push(Axis::line(axis.count, stride));
        }
        Grid::closed(i64::from(self.base), &axes, self.len).ok()
    }

    /// The bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.scales) + size_of_val(&*self.jumps) + size_of_val(&*self.seams)
    }
}

/// The most that the first `len` combinations of coordinates add to a rank, `len` being at least 1.
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
        // The first, the last, and those on either side of where the torus closes.
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
