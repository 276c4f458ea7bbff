//! Operations of reductions on packed elements.

use std::fmt;
use std::os::raw::{c_int, c_void};

use graphmap_runtime::mpi as core;

use crate::datatype::layout::{Basic, Layout, MPI_Datatype};
use crate::datatype::{DatatypeRef, DynBuffer, DynBufferMut};
use crate::raw::FromRaw;

/// Signature of a user-defined operation in C (`MPI_User_function`).
pub(crate) type Function =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);

/// Combines the first buffer, which comes from lower ranks, with the second, and stores the result
/// in the second.
type Combine<'a> = dyn Fn(DynBuffer<'_>, DynBufferMut<'_>) + Sync + 'a;

/// Operation that is defined by a closure.
pub(crate) struct Closure<'a> {
    pub(crate) function: Box<Combine<'a>>,
}

impl fmt::Debug for Closure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closure")
    }
}

/// A predefined operation (MPI 4.1, section 6.9.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    Max,
    Min,
    Sum,
    Product,
    LogicalAnd,
    BitwiseAnd,
    LogicalOr,
    BitwiseOr,
    LogicalXor,
    BitwiseXor,
}

/// Operation of a reduction.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RawOperation {
    System(System),
    /// Closure, which lives as long as the operation, and whether it is commutative.
    Closure(*const Closure<'static>, bool),
    /// C function, and whether it is commutative.
    Function(Function, bool),
}

/// Handle of an operation.
#[allow(non_camel_case_types)]
#[derive(Debug, Clone, Copy)]
pub struct MPI_Op(pub(crate) RawOperation);

macro_rules! constants {
    ($($name:ident $system:ident)*) => {
        $(#[allow(missing_docs)] pub const $name: MPI_Op = MPI_Op(RawOperation::System(System::$system));)*
    };
}

constants! {
    RSMPI_MAX Max RSMPI_MIN Min RSMPI_SUM Sum RSMPI_PROD Product
    RSMPI_LAND LogicalAnd RSMPI_LOR LogicalOr RSMPI_LXOR LogicalXor
    RSMPI_BAND BitwiseAnd RSMPI_BOR BitwiseOr RSMPI_BXOR BitwiseXor
}

/// Packed elements, and the operation that combines them.
#[derive(Clone, Copy)]
pub(crate) struct Elements {
    pub(crate) operation: RawOperation,
    pub(crate) layout: &'static Layout,
    pub(crate) count: usize,
}

impl Elements {
    /// Checks that the operation is defined for the elements.
    ///
    /// # Errors
    /// `Error::Unreadable` if a predefined operation is not defined for the datatype. Operations of
    /// the program are defined for all datatypes, and all operations for elements of size 0.
    pub(crate) fn check(&self) -> Result<(), core::Error> {
        let RawOperation::System(system) = self.operation else {
            return Ok(());
        };
        let known = self
            .layout
            .uniform()
            .is_some_and(|(basic, _)| combine(system, basic, &[], &mut []));
        match known || self.layout.size == 0 {
            true => Ok(()),
            false => Err(core::Error::Unreadable(format!(
                "the operation {system:?} is not defined for elements of this datatype"
            ))),
        }
    }

    /// Combines `left` with `right`, and stores the result in `right`. `left` comes from lower
    /// ranks than `right`. If a predefined operation is not defined for the elements, `right` stays
    /// unchanged.
    ///
    /// # Panics
    /// If `left` and `right` differ in length, or if the operation panics. With an operation of the
    /// program, also if there is not enough memory for unpacked elements, or if a byte is not a
    /// valid `bool`.
    pub(crate) fn combine(&self, left: &[u8], right: &mut [u8]) {
        assert!(
            left.len() == right.len(),
            "ranks passed {} and {} bytes to a reduction: all must pass the same number",
            left.len(),
            right.len()
        );
        match self.operation {
            RawOperation::System(system) => {
                if let Some((basic, _)) = self.layout.uniform() {
                    combine(system, basic, left, right);
                }
            }
            RawOperation::Closure(closure, _) => self.unpacked(left, right, |left, right| {
                let count = c_int::try_from(self.count).unwrap_or(c_int::MAX);
                // SAFETY: the layout is valid because layouts are never freed.
                let datatype = unsafe { DatatypeRef::from_raw(MPI_Datatype(self.layout)) };
                // SAFETY: the closure is valid because the operation lives until all calls that use
                // it have ended. Both buffers contain `count` elements.
                unsafe {
                    let left = DynBuffer::from_raw(left, count, datatype);
                    ((*closure).function)(left, DynBufferMut::from_raw(right, count, datatype));
                }
            }),
            RawOperation::Function(function, _) => self.unpacked(left, right, |left, right| {
                let mut count = c_int::try_from(self.count).unwrap_or(c_int::MAX);
                let mut datatype = MPI_Datatype(self.layout);
                // SAFETY: the creator of the operation guarantees that it may be called with
                // `count` elements of this datatype in each buffer.
                unsafe { function(left.cast(), right.cast(), &raw mut count, &raw mut datatype) };
            }),
        }
    }

    /// Unpacks both operands, calls `f` with their addresses, and packs the second operand, which
    /// has the result, into `right`.
    ///
    /// # Panics
    /// If there is not enough memory, if a byte is not a valid `bool`, or if `f` panics.
    fn unpacked(&self, left: &[u8], right: &mut [u8], f: impl FnOnce(*mut u8, *mut u8)) {
        let (from, to) = self
            .layout
            .reach(self.count)
            .expect("elements that are in memory have an extent");
        let room = usize::try_from(to - from).unwrap_or(0);
        /// Unit of allocation. Its alignment suffices for all predefined types, and for structs
        /// that are aligned to cache lines.
        #[derive(Clone)]
        #[repr(C, align(128))]
        struct Lines([u8; 128]);
        let count = room.div_ceil(size_of::<Lines>()).max(1);
        let lines = || {
            let mut lines: Vec<Lines> = Vec::new();
            let reserved = lines.try_reserve_exact(count);
            reserved
                .unwrap_or_else(|_| panic!("no memory for elements that extend over {room} bytes"));
            lines.resize(count, Lines([0; 128]));
            lines
        };
        let [mut first, mut second] = [lines(), lines()];
        let begins =
            |lines: &mut Vec<Lines>| lines.as_mut_ptr().cast::<u8>().wrapping_offset(-from);
        let (left_at, right_at) = (begins(&mut first), begins(&mut second));
        // SAFETY: both allocations have room for the extent of `count` elements.
        unsafe {
            let values = self.layout.unpack(left_at, self.count, &mut &*left);
            let others = self.layout.unpack(right_at, self.count, &mut &*right);
            values
                .and(others)
                .expect("what a rank has packed are values");
        }
        f(left_at, right_at);
        let mut packed = Vec::with_capacity(right.len());
        // SAFETY: the allocation still contains `count` elements.
        unsafe { self.layout.pack(right_at, self.count, &mut packed) };
        right.copy_from_slice(&packed);
    }
}

/// Combines elements of a predefined type, and stores the result in `right`. Returns true if the
/// operation is defined for the type. Otherwise `right` stays unchanged.
fn combine(system: System, basic: Basic, left: &[u8], right: &mut [u8]) -> bool {
    // A macro, because no trait has `from_ne_bytes` and `to_ne_bytes`.
    macro_rules! each {
        ($type:ty, $combine:expr) => {
            each::<$type, { size_of::<$type>() }>(
                left,
                right,
                <$type>::from_ne_bytes,
                <$type>::to_ne_bytes,
                $combine,
            )
        };
    }
    macro_rules! integers {
        ($type:ty) => {
            match system {
                System::Max => each!($type, Ord::max),
                System::Min => each!($type, Ord::min),
                System::Sum => each!($type, <$type>::wrapping_add),
                System::Product => each!($type, <$type>::wrapping_mul),
                System::LogicalAnd => each!($type, |a, b| <$type>::from(a != 0 && b != 0)),
                System::LogicalOr => each!($type, |a, b| <$type>::from(a != 0 || b != 0)),
                System::LogicalXor => each!($type, |a, b| <$type>::from((a != 0) != (b != 0))),
                System::BitwiseAnd => each!($type, |a, b| a & b),
                System::BitwiseOr => each!($type, |a, b| a | b),
                System::BitwiseXor => each!($type, |a, b| a ^ b),
            }
        };
    }
    macro_rules! floats {
        ($type:ty) => {
            match system {
                System::Max => each!($type, <$type>::max),
                System::Min => each!($type, <$type>::min),
                System::Sum => each!($type, |a, b| a + b),
                System::Product => each!($type, |a, b| a * b),
                _ => return false,
            }
        };
    }
    match basic {
        Basic::I8 => integers!(i8),
        Basic::I16 => integers!(i16),
        Basic::I32 => integers!(i32),
        Basic::I64 => integers!(i64),
        Basic::U8 => integers!(u8),
        Basic::U16 => integers!(u16),
        Basic::U32 => integers!(u32),
        Basic::U64 => integers!(u64),
        Basic::F32 => floats!(f32),
        Basic::F64 => floats!(f64),
        Basic::Bool => match system {
            System::LogicalAnd | System::BitwiseAnd => {
                each::<u8, 1>(left, right, |a| a[0], |a| [a], |a, b| a & b)
            }
            System::LogicalOr | System::BitwiseOr => {
                each::<u8, 1>(left, right, |a| a[0], |a| [a], |a, b| a | b)
            }
            System::LogicalXor | System::BitwiseXor => {
                each::<u8, 1>(left, right, |a| a[0], |a| [a], |a, b| a ^ b)
            }
            _ => return false,
        },
        #[cfg(feature = "complex")]
        Basic::C32 => {
            return complex::<f32, 4, 8>(system, left, right, f32::from_ne_bytes, f32::to_ne_bytes);
        }
        #[cfg(feature = "complex")]
        Basic::C64 => {
            return complex::<f64, 8, 16>(
                system,
                left,
                right,
                f64::from_ne_bytes,
                f64::to_ne_bytes,
            );
        }
    }
    true
}

/// Combines elements of `N` bytes one by one, up to the end of the shorter slice, and stores the
/// results in `right`. `from` and `to` convert an element. The first argument of `combine` is from
/// `left`.
fn each<T, const N: usize>(
    left: &[u8],
    right: &mut [u8],
    from: fn([u8; N]) -> T,
    to: fn(T) -> [u8; N],
    combine: impl Fn(T, T) -> T,
) {
    for (left, right) in left
        .as_chunks::<N>()
        .0
        .iter()
        .zip(right.as_chunks_mut::<N>().0)
    {
        *right = to(combine(from(*left), from(*right)));
    }
}

/// Combines complex numbers, each of two floats of `N` bytes, and stores the result in `right`.
/// Returns true if the operation is defined for complex numbers. Otherwise `right` stays unchanged.
#[cfg(feature = "complex")]
fn complex<T, const N: usize, const M: usize>(
    system: System,
    left: &[u8],
    right: &mut [u8],
    from: fn([u8; N]) -> T,
    to: fn(T) -> [u8; N],
) -> bool
where
    T: Copy + std::ops::Add<Output = T> + std::ops::Sub<Output = T> + std::ops::Mul<Output = T>,
{
    let of = |bytes: &[u8; M]| {
        let parts = bytes.as_chunks::<N>().0;
        (from(parts[0]), from(parts[1]))
    };
    for (left, right) in left
        .as_chunks::<M>()
        .0
        .iter()
        .zip(right.as_chunks_mut::<M>().0)
    {
        let ((a, b), (c, d)) = (of(left), of(right));
        let (re, im) = match system {
            System::Sum => (a + c, b + d),
            System::Product => (a * c - b * d, a * d + b * c),
            _ => return false,
        };
        right[..N].copy_from_slice(&to(re));
        right[N..].copy_from_slice(&to(im));
    }
    matches!(system, System::Sum | System::Product)
}
