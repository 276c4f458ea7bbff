//! Buffers with a part for each rank, whose parts may differ in length.

use std::borrow::Borrow;
use std::marker::PhantomData;
use std::os::raw::c_void;

use super::buffer::{AsDatatype, Buffer, BufferMut, Pointer, PointerMut};
use crate::Count;

/// A buffer with a part for each rank.
pub trait Partitioned {
    /// Returns the number of elements of each part.
    fn counts(&self) -> &[Count];
    /// Returns the index of the first element of each part, in the order of
    /// [`counts`](Self::counts).
    fn displs(&self) -> &[Count];
}

/// A buffer whose parts can be sent.
///
/// # Safety
/// Whenever `counts()` and `displs()` are called, the parts must be within the buffer. In rsmpi
/// this trait is safe to implement. Any type that derives `Equivalence` could then claim to have
/// parts outside its memory:
///
/// ```compile_fail,E0200
/// use mpi::datatype::{Equivalence, Partitioned, PartitionedBuffer, SystemDatatype};
///
/// struct Parts(i32);
/// // SAFETY: it is an `i32`. (It could also derive this.)
/// unsafe impl Equivalence for Parts {
///     type Out = SystemDatatype;
///     fn equivalent_datatype() -> SystemDatatype { i32::equivalent_datatype() }
/// }
/// impl Partitioned for Parts {
///     fn counts(&self) -> &[mpi::Count] { &[1000] }
///     fn displs(&self) -> &[mpi::Count] { &[0] }
/// }
/// impl PartitionedBuffer for Parts {}
/// ```
pub unsafe trait PartitionedBuffer: Partitioned + Pointer + AsDatatype {}

/// A buffer whose parts can be received into.
///
/// # Safety
/// As for [`PartitionedBuffer`].
pub unsafe trait PartitionedBufferMut: Partitioned + PointerMut + AsDatatype {}

/// Parts of a buffer to send from.
#[derive(Debug)]
pub struct Partition<'b, B: 'b + ?Sized, C, D> {
    buf: &'b B,
    parts: Parts<C, D>,
}

/// Parts of a buffer to receive into.
#[derive(Debug)]
pub struct PartitionMut<'b, B: 'b + ?Sized, C, D> {
    buf: &'b mut B,
    parts: Parts<C, D>,
}

/// Counts and displacements of parts. They are copied when they are checked, because `borrow()` may
/// return other values later.
#[derive(Debug)]
struct Parts<C, D> {
    counts: Vec<Count>,
    displs: Vec<Count>,
    _of: PhantomData<(C, D)>,
}

/// Returns true if all parts are within a buffer of `elements` elements. Returns false also for a
/// negative count or displacement, and if the numbers of counts and displacements differ.
fn fits(counts: &[Count], displs: &[Count], elements: Count) -> bool {
    let inside = |(&count, &displ): (&Count, &Count)| {
        count >= 0 && displ >= 0 && count.checked_add(displ).is_some_and(|end| end <= elements)
    };
    counts.len() == displs.len() && counts.iter().zip(displs).all(inside)
}

/// Implements the constructor and the common traits of both partitions.
macro_rules! partition {
    ($name:ident, $whole:ident, $parts:ident, $pointer:ident, [$($mutable:tt)*]) => {
        impl<'b, B, C, D> $name<'b, B, C, D>
        where
            B: 'b + $whole + ?Sized,
            C: Borrow<[Count]>,
            D: Borrow<[Count]>,
        {
            /// Divides a buffer into parts of `counts` elements each, which begin at the elements
            /// `displs`.
            ///
            /// # Panics
            /// If a part is not within the buffer, a count or displacement is negative, or the
            /// numbers of counts and displacements differ.
            #[track_caller]
            pub fn new(buf: &'b $($mutable)* B, counts: C, displs: D) -> Self {
                let parts = Parts {
                    counts: counts.borrow().to_vec(),
                    displs: displs.borrow().to_vec(),
                    _of: PhantomData,
                };
                assert!(
                    fits(&parts.counts, &parts.displs, buf.count()),
                    "a part of the partition is outside its buffer"
                );
                $name { buf, parts }
            }
        }

        // SAFETY: the datatype is the datatype of the buffer.
        unsafe impl<B: AsDatatype + ?Sized, C, D> AsDatatype for $name<'_, B, C, D> {
            type Out = B::Out;

            fn as_datatype(&self) -> Self::Out {
                self.buf.as_datatype()
            }
        }

        impl<B: ?Sized, C: Borrow<[Count]>, D: Borrow<[Count]>> Partitioned for $name<'_, B, C, D> {
            fn counts(&self) -> &[Count] {
                &self.parts.counts
            }

            fn displs(&self) -> &[Count] {
                &self.parts.displs
            }
        }

        // SAFETY: `new` has checked that the parts are within the buffer, and has copied their
        // bounds.
        unsafe impl<B, C, D> $parts for $name<'_, B, C, D>
        where
            B: $pointer + AsDatatype + ?Sized,
            C: Borrow<[Count]>,
            D: Borrow<[Count]>,
        {
        }
    };
}

partition!(Partition, Buffer, PartitionedBuffer, Pointer, []);
partition!(PartitionMut, BufferMut, PartitionedBufferMut, PointerMut, [mut]);

// SAFETY: it is the address of the buffer, which is borrowed by the partition.
unsafe impl<B: Pointer + ?Sized, C, D> Pointer for Partition<'_, B, C, D> {
    fn pointer(&self) -> *const c_void {
        self.buf.pointer()
    }
}

// SAFETY: it is the address of the buffer, which is borrowed by the partition.
unsafe impl<B: PointerMut + ?Sized, C, D> PointerMut for PartitionMut<'_, B, C, D> {
    fn pointer_mut(&mut self) -> *mut c_void {
        self.buf.pointer_mut()
    }
}
