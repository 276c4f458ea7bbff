//! Grids that are derived from grids.

use crate::error::Error;
use crate::form::grid::{Axis, Closed, Grid};

impl Grid {
    /// Returns the first `len` members, or all if there are fewer. Fails as [`Grid::closed`] does,
    /// which is not expected for a part of a valid grid.
    pub(crate) fn prefix(&self, len: u64) -> Result<Closed, Error> {
        let axes: Vec<Axis> = self.axes().collect();
        Grid::closed(self.origin(), &axes, len.min(self.len))
    }

    /// Returns the grid in which each world rank `r` is replaced by `start + step * r`. Returns an
    /// error of [`Grid::closed`], such as [`Error::BeyondRanks`] if a result is not a rank.
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

    /// Returns the rank at which all positions are 0. It need not be a member, or a rank, if an
    /// axis wraps.
    pub(crate) fn origin(&self) -> i64 {
        let down = self.axes().filter(|axis| axis.stride < 0);
        i64::from(self.base)
            + down
                .map(|axis| -axis.stride * i64::from(axis.modulus - 1))
                .sum::<i64>()
    }

    /// Returns the same members in ascending order, or `None` if these do not form a grid or that
    /// is not known.
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
}
