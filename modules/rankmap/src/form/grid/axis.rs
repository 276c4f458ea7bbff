//! The axes of a regular section.

use crate::division::Divisor;

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

    /// An axis around a torus, whose first coordinate is `shift`.
    ///
    /// Cost: constant time. Source: Havlak and Kennedy 1991; around a torus, own.
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

/// An axis as it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    pub(super) axis: Axis,
    /// How many members one coordinate of this axis stands for.
    pub(super) weight: u32,
    pub(super) by_stride: Divisor,
    /// Which axis has the stride at this place in the order from the largest to the smallest.
    pub(super) next: u32,
}
