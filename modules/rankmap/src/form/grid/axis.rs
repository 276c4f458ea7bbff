//! Axes of a regular section.

use crate::division::Divisor;

/// One axis of a regular section.
///
/// A coordinate `c` from 0 to `count - 1` adds `((c + shift) mod modulus) * stride` to the world
/// rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Number of coordinates.
    pub count: u32,
    /// Difference in world rank for one step along the axis. Negative for a descending axis.
    pub stride: i64,
    /// Position of the first coordinate on the torus.
    pub shift: u32,
    /// Circumference of the torus. Must be at least `count`.
    pub modulus: u32,
}

impl Axis {
    /// Creates an axis that does not wrap.
    ///
    /// Cost: constant time. Source: Havlak and Kennedy 1991.
    pub fn line(count: u32, stride: i64) -> Self {
        Axis {
            count,
            stride,
            shift: 0,
            modulus: count,
        }
    }

    /// Creates an axis on a torus with the circumference `modulus`, with its first coordinate at
    /// `shift`. The values are not checked here. [`RankMap::grid`](crate::RankMap::grid) reports an
    /// error if `modulus` is below `count` or not above `shift`.
    ///
    /// Cost: constant time. Source: Havlak and Kennedy 1991, this crate for a torus.
    pub fn ring(count: u32, stride: i64, shift: u32, modulus: u32) -> Self {
        Axis {
            count,
            stride,
            shift,
            modulus,
        }
    }

    pub(super) fn wraps(&self) -> bool {
        u64::from(self.shift) + u64::from(self.count) > u64::from(self.modulus)
    }
}

/// An axis, prepared for look-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    pub(super) axis: Axis,
    /// Number of members for each coordinate of this axis.
    pub(super) weight: u32,
    pub(super) by_stride: Divisor,
    /// Index of the axis whose stride has this position in descending order of the strides.
    pub(super) next: u32,
}
