//! Closed forms of the groups that topologies define.

use crate::build::Builder;
use crate::error::Error;
use crate::form::grid::{Axis, Grid};
use crate::map::RankMap;
use crate::progression::Progression;

/// A Cartesian topology. Ranks are numbered in row-major order (the last coordinate varies
/// fastest), as in `MPI_Cart_create`.
///
/// ```
/// use graphmap_rankmap::Cartesian;
///
/// let cube = Cartesian::new(&[100, 100, 100])?;
/// let plane = cube.section(&[None, Some(42), None])?;
/// assert_eq!(plane.len(), 10_000);
/// assert_eq!(plane.select(101), Some(10_000 + 4_200 + 1));
/// # Ok::<(), graphmap_rankmap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cartesian {
    sides: Vec<u32>,
}

impl Cartesian {
    /// Creates a grid with the given sides. A side of 0 makes the grid empty. A grid without sides
    /// has one rank.
    ///
    /// Cost: constant time. Source: MPI 4.1 (8.5.1).
    ///
    /// # Errors
    ///
    /// [`Error::BeyondRanks`] if the grid has more than 2^32 ranks, or if the product of the sides
    /// before a side of 0 does not fit into 64 bits.
    pub fn new(sides: &[u32]) -> Result<Self, Error> {
        let ranks = sides
            .iter()
            .try_fold(1_u64, |all, side| all.checked_mul(u64::from(*side)));
        match ranks {
            Some(ranks) if ranks <= 1 << 32 => Ok(Cartesian {
                sides: sides.to_vec(),
            }),
            _ => Err(Error::BeyondRanks),
        }
    }

    /// Returns the distance in ranks of one step along each coordinate, in the order of the sides.
    /// In a grid with a side of 0, the product of the other sides may overflow, which panics in
    /// debug builds.
    fn strides(&self) -> Vec<i64> {
        let mut strides = vec![1; self.sides.len()];
        for k in (1..self.sides.len()).rev() {
            strides[k - 1] = strides[k] * i64::from(self.sides[k]);
        }
        strides
    }

    fn lines(&self) -> Vec<Axis> {
        let sides = self.sides.iter().zip(self.strides());
        sides
            .map(|(side, stride)| Axis::line(*side, stride))
            .collect()
    }

    fn len(&self) -> u64 {
        self.sides.iter().map(|side| u64::from(*side)).product()
    }

    fn of(&self, start: i64, axes: &[Axis]) -> Result<RankMap, Error> {
        Grid::closed(start, axes, self.len()).map(RankMap::closed)
    }

    fn fits<T>(&self, given: &[T]) -> Result<(), Error> {
        match given.len() == self.sides.len() {
            true => Ok(()),
            false => Err(Error::Topology("one value for each side of the grid")),
        }
    }

    /// Returns the members with the fixed coordinates, in ascending order: a row, a plane or a face
    /// (`MPI_Cart_sub`). `fixed` has a value for each side. `None` leaves a coordinate free.
    ///
    /// Cost: constant time. Source: MPI 4.1 (8.5.7), Havlak and Kennedy 1991.
    ///
    /// # Errors
    ///
    /// [`Error::Topology`] if there is not one value for each side, if a coordinate is outside the
    /// grid, or if a side is 0.
    pub fn section(&self, fixed: &[Option<u32>]) -> Result<RankMap, Error> {
        self.fits(fixed)?;
        let ranges: Vec<(u32, u32)> = fixed
            .iter()
            .zip(&self.sides)
            .map(|(fixed, side)| fixed.map_or((0, *side), |at| (at, 1)))
            .collect();
        self.window(&ranges)
    }

    /// Returns the members whose coordinates are in the given windows.
    ///
    /// A window is a first coordinate and a length, for each side. A window that reaches beyond the
    /// side continues at coordinate 0, as on a torus. The members are in row-major order of the
    /// positions in the windows, so they do not ascend if a window continues at 0. A window of
    /// length 0 makes the result empty.
    ///
    /// Cost: constant time. Source: Havlak and Kennedy 1991, this crate for a torus.
    ///
    /// # Errors
    ///
    /// [`Error::Topology`] if there is not one window for each side, if a first coordinate is
    /// outside the grid, if a window is longer than its side, or if a side is 0.
    pub fn window(&self, windows: &[(u32, u32)]) -> Result<RankMap, Error> {
        self.fits(windows)?;
        let mut axes = self.lines();
        for (axis, (first, count)) in axes.iter_mut().zip(windows) {
            if *first >= axis.modulus || *count > axis.modulus {
                return Err(Error::Topology("a window lies outside of the grid"));
            }
            (axis.shift, axis.count) = (*first, *count);
        }
        self.of(0, &axes)
    }

    /// Returns all ranks of the grid, enumerated with the coordinates in another order. `order`
    /// contains the indices of the sides, the slowest first. `[1, 0]` transposes a matrix.
    ///
    /// Cost: constant time. Source: Havlak and Kennedy 1991, Mir Taheri 2011 (4.2.1.1) for the
    /// transpose.
    ///
    /// # Errors
    ///
    /// [`Error::Topology`] if `order` is not a permutation of the indices of the sides.
    pub fn reordered(&self, order: &[usize]) -> Result<RankMap, Error> {
        self.fits(order)?;
        let mut seen = vec![false; order.len()];
        for k in order {
            match seen.get_mut(*k) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(Error::Topology("an order names each side once")),
            }
        }
        let lines = self.lines();
        let axes: Vec<Axis> = order.iter().map(|k| lines[*k]).collect();
        self.of(0, &axes)
    }

    /// Returns the permutation that maps each rank to the rank at distance `by` along each
    /// coordinate of the torus, as `MPI_Cart_shift` does. A distance may be negative, or longer
    /// than its side.
    ///
    /// Cost: constant time. Source: MPI 4.1 (8.5.6), this crate for the form.
    ///
    /// # Errors
    ///
    /// [`Error::Topology`] if there is not one distance for each side.
    pub fn shifted(&self, by: &[i64]) -> Result<RankMap, Error> {
        self.fits(by)?;
        let mut axes = self.lines();
        for (axis, by) in axes.iter_mut().zip(by) {
            if axis.modulus > 0 {
                axis.shift = by.rem_euclid(i64::from(axis.modulus)) as u32;
            }
        }
        self.of(0, &axes)
    }
}

impl RankMap {
    /// Returns a regular section: the ranks that are the sum of `start` and one offset of each
    /// axis. The first axis is the slowest. The section is empty if an axis has no coordinates, and
    /// the rank `start` alone if there are no axes.
    ///
    /// Cost: constant time. Source: Havlak and Kennedy 1991.
    ///
    /// # Errors
    ///
    /// [`Error::BeyondRanks`] if a member is not a rank, or another position of an axis that wraps,
    /// or if there are more than 2^32 members. [`Error::Topology`] if an axis is longer than its
    /// torus or begins outside it, or if a stride is not larger than the reach of all smaller
    /// strides together. An empty section is never an error.
    pub fn grid(start: u32, axes: &[Axis]) -> Result<RankMap, Error> {
        Grid::closed(i64::from(start), axes, u64::MAX).map(RankMap::closed)
    }

    /// Returns a face of a hypercube: the ranks in which the bits of `fixed` have the values that
    /// they have in `at`. With `free` other dimensions, the face has `2^free` ranks, in ascending
    /// order.
    ///
    /// Cost: constant time. Source: Mir Taheri 2011 (5.2.4) for the class, Havlak and Kennedy 1991
    /// for the form.
    ///
    /// # Errors
    ///
    /// [`Error::Topology`] if `dimensions` exceeds 32, if `fixed` has a bit beyond the dimensions,
    /// or if `at` has a bit outside `fixed`.
    pub fn hypercube_face(dimensions: u32, fixed: u32, at: u32) -> Result<RankMap, Error> {
        if dimensions > 32 || u64::from(fixed) >> dimensions != 0 || at & !fixed != 0 {
            return Err(Error::Topology(
                "a bit that is not one of the cube's dimensions",
            ));
        }
        let free = (0..dimensions).rev().filter(|bit| fixed >> bit & 1 == 0);
        let axes: Vec<Axis> = free.map(|bit| Axis::line(2, 1 << bit)).collect();
        Grid::closed(i64::from(at), &axes, 1 << 32).map(RankMap::closed)
    }

    /// Returns, in ascending order, the ranks of the owner with the number `owner` (from 0), if
    /// `len` ranks are distributed in blocks of `block` ranks to `owners` owners in turn. This is
    /// the block-cyclic distribution of High Performance Fortran and ScaLAPACK.
    ///
    /// Cost: constant time, unless the last block would reach beyond the largest rank. Source: High
    /// Performance Fortran, ScaLAPACK, Havlak and Kennedy 1991.
    ///
    /// # Errors
    ///
    /// [`Error::BeyondRanks`] if `len` exceeds 2^32. [`Error::Topology`] if `block` is zero, or
    /// `owner` is not below `owners`.
    pub fn block_cyclic(len: u64, owners: u32, block: u32, owner: u32) -> Result<RankMap, Error> {
        if len > 1 << 32 {
            return Err(Error::BeyondRanks);
        }
        if block == 0 || owner >= owners {
            return Err(Error::Topology(
                "blocks of none, or an owner beyond the last",
            ));
        }
        let round = u64::from(owners) * u64::from(block);
        let first = u64::from(owner) * u64::from(block);
        let (whole, rest) = (len / round, len % round);
        let members = whole * u64::from(block) + rest.saturating_sub(first).min(u64::from(block));
        if members == 0 {
            return Ok(RankMap::empty());
        }
        let rows = members.div_ceil(u64::from(block));
        let axes =
            u32::try_from(rows).map(|rows| [Axis::line(rows, round as i64), Axis::line(block, 1)]);
        let closed = axes
            .ok()
            .and_then(|axes| Grid::closed(first as i64, &axes, members).ok());
        match closed {
            Some(closed) => Ok(RankMap::closed(closed)),
            // The last block would reach beyond the largest rank.
            None => Builder::new().source(&|give| {
                for row in 0..rows {
                    let start = first + row * round;
                    give(Progression::between(
                        start,
                        (start + u64::from(block)).min(len),
                    ));
                }
            }),
        }
    }

    /// Returns all `len` ranks, owner by owner, in the distribution of [`RankMap::block_cyclic`]: a
    /// permutation.
    ///
    /// Cost: constant time if all owners have the same number of whole blocks; otherwise
    /// `O(len / block)`. Source: High Performance Fortran, ScaLAPACK, Havlak and Kennedy 1991.
    ///
    /// # Errors
    ///
    /// [`Error::BeyondRanks`] if `len` exceeds 2^32, or is 2^32 with one owner and blocks of one
    /// rank. [`Error::Topology`] if `block` or `owners` is zero.
    pub fn block_cyclic_order(len: u64, owners: u32, block: u32) -> Result<RankMap, Error> {
        let round = u64::from(owners) * u64::from(block);
        if round > 0 && len.is_multiple_of(round) && len <= 1 << 32 {
            let rows = u32::try_from(len / round).map_err(|_| Error::BeyondRanks)?;
            let axes = [
                Axis::line(owners, i64::from(block)),
                Axis::line(rows, round as i64),
                Axis::line(block, 1),
            ];
            return Grid::closed(0, &axes, len).map(RankMap::closed);
        }
        if round == 0 {
            return Err(Error::Topology("blocks of none, or no owners"));
        }
        // Owners beyond the last block have no ranks.
        let served = u64::from(owners).min(len.div_ceil(u64::from(block))) as u32;
        let parts = (0..served).map(|owner| RankMap::block_cyclic(len, owners, block, owner));
        Ok(Builder::new().concatenate(&parts.collect::<Result<Vec<_>, _>>()?))
    }
}
