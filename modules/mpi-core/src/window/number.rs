//! Number types, and the operations by which windows combine them: the predefined operations of the
//! MPI standard (version 4.1, section 6.9.2).

use std::any::Any;

use super::super::value::Value;

/// Operation that combines the value of the origin with the element at the target. The origin is
/// the rank that calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// Sum of integers or floating-point numbers. Integers wrap around.
    Sum,
    /// Product of integers or floating-point numbers. Integers wrap around.
    Product,
    /// Minimum. Of a number and a NaN, it is the number.
    Min,
    /// Maximum. Of a number and a NaN, it is the number.
    Max,
    /// Bitwise AND of integers, or logical AND of truth values.
    And,
    /// Bitwise OR of integers, or logical OR of truth values.
    Or,
    /// Bitwise exclusive OR of integers, or logical exclusive OR of truth values.
    Xor,
    /// The value of the origin (`MPI_REPLACE`).
    Replace,
    /// The element at the target (`MPI_NO_OP`).
    Keep,
}

graphmap_executor::payload!(
    enum Op {
        Sum,
        Product,
        Min,
        Max,
        And,
        Or,
        Xor,
        Replace,
        Keep,
    }
);

impl Op {
    /// Returns true if the operation is defined for all types.
    pub(super) fn is_plain(self) -> bool {
        matches!(self, Op::Replace | Op::Keep)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A number or truth value, which windows can combine.
pub trait Number: Value + Copy + PartialEq + sealed::Sealed {
    /// Combines the element `self` at the target with the value `other` of the origin. Returns
    /// `None` if the operation is not defined for the type.
    #[doc(hidden)]
    fn combine(self, op: Op, other: Self) -> Option<Self>;
}

macro_rules! integers {
    ($($type:ty)*) => { $(
        impl sealed::Sealed for $type {}

        impl Number for $type {
            fn combine(self, op: Op, other: Self) -> Option<Self> {
                Some(match op {
                    Op::Sum => self.wrapping_add(other),
                    Op::Product => self.wrapping_mul(other),
                    Op::Min => self.min(other),
                    Op::Max => self.max(other),
                    Op::And => self & other,
                    Op::Or => self | other,
                    Op::Xor => self ^ other,
                    Op::Replace => other,
                    Op::Keep => self,
                })
            }
        }
    )* };
}

macro_rules! floats {
    ($($type:ty)*) => { $(
        impl sealed::Sealed for $type {}

        impl Number for $type {
            fn combine(self, op: Op, other: Self) -> Option<Self> {
                Some(match op {
                    Op::Sum => self + other,
                    Op::Product => self * other,
                    Op::Min => self.min(other),
                    Op::Max => self.max(other),
                    Op::And | Op::Or | Op::Xor => return None,
                    Op::Replace => other,
                    Op::Keep => self,
                })
            }
        }
    )* };
}

integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);
floats!(f32 f64);

impl sealed::Sealed for bool {}

impl Number for bool {
    fn combine(self, op: Op, other: Self) -> Option<Self> {
        Some(match op {
            Op::And => self & other,
            Op::Or => self | other,
            Op::Xor => self ^ other,
            Op::Replace => other,
            Op::Keep => self,
            Op::Sum | Op::Product | Op::Min | Op::Max => return None,
        })
    }
}

/// Operations of a type that implements [`Number`].
#[derive(Clone, Copy)]
pub(super) struct Arithmetic<T> {
    pub(super) combine: fn(T, Op, T) -> Option<T>,
    pub(super) equal: fn(&T, &T) -> bool,
}

/// Returns the arithmetic of a type, or `None` if it is not a [`Number`].
pub(super) fn arithmetic<T: Copy + 'static>() -> Option<Arithmetic<T>> {
    fn as_that<T: Copy + 'static, N: Number>() -> Option<Arithmetic<T>> {
        let known: &dyn Any = &Arithmetic::<N> {
            combine: N::combine,
            equal: N::eq,
        };
        known.downcast_ref().copied()
    }
    as_that::<T, u64>()
        .or_else(as_that::<T, i64>)
        .or_else(as_that::<T, f64>)
        .or_else(as_that::<T, u32>)
        .or_else(as_that::<T, i32>)
        .or_else(as_that::<T, f32>)
        .or_else(as_that::<T, usize>)
        .or_else(as_that::<T, isize>)
        .or_else(as_that::<T, u8>)
        .or_else(as_that::<T, i8>)
        .or_else(as_that::<T, u16>)
        .or_else(as_that::<T, i16>)
        .or_else(as_that::<T, u128>)
        .or_else(as_that::<T, i128>)
        .or_else(as_that::<T, bool>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_arithmetic() {
        fn has<T: Number>(two: T, three: T, sum: Option<T>) {
            let known = arithmetic::<T>().unwrap();
            assert!((known.combine)(two, Op::Sum, three) == sum);
            assert!((known.combine)(two, Op::Replace, three) == Some(three));
            assert!((known.combine)(two, Op::Keep, three) == Some(two));
            assert!((known.equal)(&two, &two) && !(known.equal)(&two, &three));
        }
        has(2u8, 3, Some(5));
        has(2u16, 3, Some(5));
        has(2u32, 3, Some(5));
        has(2u64, 3, Some(5));
        has(2u128, 3, Some(5));
        has(2usize, 3, Some(5));
        has(-2i8, -3, Some(-5));
        has(-2i16, -3, Some(-5));
        has(-2i32, -3, Some(-5));
        has(-2i64, -3, Some(-5));
        has(-2i128, -3, Some(-5));
        has(-2isize, -3, Some(-5));
        has(0.5f32, 0.25, Some(0.75));
        has(0.5f64, 0.25, Some(0.75));
        has(true, false, None);
        assert!(arithmetic::<char>().is_none() && arithmetic::<[u8; 2]>().is_none());
        assert_eq!(250u8.combine(Op::Sum, 10), Some(4));
        assert_eq!(1.0f64.combine(Op::Xor, 1.0), None);
    }
}
