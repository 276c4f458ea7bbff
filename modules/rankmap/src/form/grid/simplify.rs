//! Simplification of axes, and the check that they form a grid.

use crate::division::Divisor;
use crate::error::Error;
use crate::form::grid::steps::Steps;
use crate::form::grid::{Axis, Closed, Grid, Scale, ranked};
use crate::progression::Progression;

impl Grid {
    /// Returns the first `len` members of a section in simplified form. `start` is the rank at
    /// which the positions on all axes are 0. These are all members if there are fewer. The result
    /// is empty if `len` or the count of an axis is 0.
    ///
    /// Returns [`Error::Topology`] if the modulus of an axis is below its count or not above its
    /// shift. Also returns it if a stride is not larger than the reach of all smaller strides
    /// together, because RANK would need a search. Returns [`Error::BeyondRanks`] if a position on
    /// an axis is not a rank, or if the axes have more than 2^32 combinations of coordinates.
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
                        // All 2^32 ranks.
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
        // The slowest axis is cut to the needed length.
        if let Some(first) = kept.first().copied() {
            let weight = product / u64::from(first.count);
            let needed = len.div_ceil(weight) as u32;
            if needed < first.count {
                kept[0].count = needed;
                if !kept[0].wraps() {
                    // The shorter axis may allow further simplification.
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
            // May wrap after the slowest axis, but is not used then.
            weight = weight.wrapping_mul(axis.count);
        }
        scales.reverse();
        let rising = axes.iter().all(|axis| axis.stride > 0 && !axis.wraps());
        let shifts = axes.iter().map(|axis| i64::from(axis.shift) * axis.stride);
        let shifted = start.wrapping_add(shifts.sum::<i64>());
        Ok(Grid {
            steps: Steps::new(shifted as u32, axes, &scales),
            base,
            len,
            ascending: rising && order.iter().copied().eq(0..axes.len()),
            scales: scales.into(),
        })
    }
}
