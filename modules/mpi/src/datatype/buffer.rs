//! Buffers: the memory that messages are sent from and received into.

use std::os::raw::c_void;

use super::equivalence::{Equivalence, single_datatype, slice_datatype};
use super::user::{Datatype, DatatypeRef};
use crate::Count;
use crate::raw::{AsRaw, FromRaw};

/// A buffer whose elements have a datatype.
///
/// # Safety
/// The returned datatype must be the datatype of the elements.
pub unsafe trait AsDatatype {
    /// Type of the datatype.
    type Out: Datatype;
    /// Returns the datatype of the elements.
    fn as_datatype(&self) -> Self::Out;
}

/// A buffer with a number of elements.
///
/// # Safety
/// The buffer must contain `count()` elements.
pub unsafe trait Collection {
    /// Returns the number of elements.
    ///
    /// # Panics
    /// If a slice, array or vector has more than 2^31 - 1 elements.
    fn count(&self) -> Count;
}

/// A buffer with an address.
///
/// # Safety
/// The elements must be at the returned address as long as the buffer is borrowed.
pub unsafe trait Pointer {
    /// Returns the address of the elements.
    fn pointer(&self) -> *const c_void;
}

/// A buffer whose elements can be changed.
///
/// # Safety
/// As for [`Pointer`].
pub unsafe trait PointerMut {
    /// Returns the address of the elements.
    fn pointer_mut(&mut self) -> *mut c_void;
}

/// A buffer that messages can be sent from.
///
/// # Safety
/// `pointer()` must point to `count()` initialized elements of `as_datatype()`.
pub unsafe trait Buffer: Pointer + Collection + AsDatatype {}

/// A buffer that messages can be received into.
///
/// # Safety
/// `pointer_mut()` must point to `count()` initialized elements of `as_datatype()`, which may be
/// written to.
pub unsafe trait BufferMut: PointerMut + Collection + AsDatatype {}

/// Converts a length to a count.
///
/// # Panics
/// If `len` is above 2^31 - 1, the largest `Count`.
#[track_caller]
fn counted(len: usize) -> Count {
    Count::try_from(len)
        .unwrap_or_else(|_| panic!("buffer of {len} elements: the limit of a message is 2^31 - 1"))
}

/// Returns 1: a value is one element.
fn one<T>(_value: &T) -> Count {
    1
}

/// Implements the traits of buffers for a type. The arguments are the function that returns the
/// datatype of the elements, and expressions for their number and address.
macro_rules! buffer {
    ([$($generic:tt)*] $kind:ty, $datatype:ident, $this:ident => $count:expr, $pointer:expr, $pointer_mut:expr) => {
        // SAFETY: it is the datatype of the element type.
        unsafe impl<T: Equivalence, $($generic)*> AsDatatype for $kind {
            type Out = T::Out;

            fn as_datatype(&self) -> Self::Out {
                $datatype::<T>()
            }
        }

        // SAFETY: the expression is the number of elements.
        unsafe impl<T: Equivalence, $($generic)*> Collection for $kind {
            fn count(&self) -> Count {
                let $this = self;
                $count
            }
        }

        // SAFETY: the address is valid as long as the buffer is borrowed.
        unsafe impl<T: Equivalence, $($generic)*> Pointer for $kind {
            fn pointer(&self) -> *const c_void {
                let $this = self;
                $pointer
            }
        }

        // SAFETY: as above.
        unsafe impl<T: Equivalence, $($generic)*> PointerMut for $kind {
            fn pointer_mut(&mut self) -> *mut c_void {
                let $this = self;
                $pointer_mut
            }
        }

        // SAFETY: datatype, number and address belong to the same elements, which are initialized.
        unsafe impl<T: Equivalence, $($generic)*> Buffer for $kind {}
        // SAFETY: as above.
        unsafe impl<T: Equivalence, $($generic)*> BufferMut for $kind {}
    };
}

buffer!([] T, single_datatype, this => one(this), std::ptr::from_ref(this).cast(), std::ptr::from_mut(this).cast());
buffer!([] [T], slice_datatype, this => counted(this.len()), this.as_ptr().cast(), this.as_mut_ptr().cast());
buffer!([] Vec<T>, slice_datatype, this => counted(this.len()), this.as_ptr().cast(), this.as_mut_ptr().cast());
buffer!([const N: usize] [T; N], slice_datatype, this => counted(this.len()), this.as_ptr().cast(), this.as_mut_ptr().cast());

/// Elements of a type that is known only at run time.
#[derive(Debug, Clone, Copy)]
pub struct DynBuffer<'a> {
    ptr: *const c_void,
    len: Count,
    datatype: DatatypeRef<'a>,
}

// SAFETY: it is a shared slice of plain data, because `Equivalence` excludes interior mutability.
unsafe impl Send for DynBuffer<'_> {}
// SAFETY: as above.
unsafe impl Sync for DynBuffer<'_> {}

/// Elements of a type that is known only at run time, which can be changed.
#[derive(Debug)]
pub struct DynBufferMut<'a> {
    ptr: *mut c_void,
    len: Count,
    datatype: DatatypeRef<'a>,
}

// SAFETY: it is an exclusive slice of plain data.
unsafe impl Send for DynBufferMut<'_> {}
// SAFETY: as above.
unsafe impl Sync for DynBufferMut<'_> {}

/// Implements the traits and functions that both dynamic buffers have.
macro_rules! dynamic {
    ($name:ident) => {
        // SAFETY: guaranteed by the caller of `from_raw`.
        unsafe impl Collection for $name<'_> {
            fn count(&self) -> Count {
                self.len
            }
        }

        // SAFETY: as above.
        unsafe impl Pointer for $name<'_> {
            fn pointer(&self) -> *const c_void {
                self.ptr
            }
        }

        // SAFETY: as above.
        unsafe impl<'a> AsDatatype for $name<'a> {
            type Out = DatatypeRef<'a>;

            fn as_datatype(&self) -> Self::Out {
                self.datatype
            }
        }

        // SAFETY: as above.
        unsafe impl Buffer for $name<'_> {}

        impl<'a> $name<'a> {
            /// Returns true if the datatype of the elements is the datatype of `T`.
            ///
            /// # Panics
            /// If the datatype of `T` cannot be created now: see the [crate](crate) documentation.
            pub fn is<T: Equivalence>(&self) -> bool {
                self.datatype.as_raw() == T::equivalent_datatype().as_raw()
            }

            /// Returns true if the elements can be accessed as a slice of `T`: the datatypes are
            /// equal, and size and alignment fit. A type with the same datatype may have another
            /// alignment or size.
            fn are<T: Equivalence>(&self) -> bool {
                let is_spaced = self.datatype.as_raw().0.is_spaced(size_of::<T>());
                self.is::<T>() && is_spaced && self.ptr.cast::<T>().is_aligned()
            }

            /// Returns the number of elements. A negative count is treated as 0.
            pub fn len(&self) -> usize {
                usize::try_from(self.len).unwrap_or(0)
            }

            /// Returns true if there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns the address of the elements.
            pub fn as_ptr(&self) -> *const c_void {
                self.ptr
            }
        }
    };
}

dynamic!(DynBuffer);
dynamic!(DynBufferMut);

/// Returns the datatype of the elements of a slice, for any lifetime.
///
/// # Panics
/// If the extent of the datatype is not the size of a value.
#[track_caller]
fn datatype<'a, T: Equivalence>() -> DatatypeRef<'a> {
    // SAFETY: layouts are never freed, so the handle is valid for any lifetime.
    unsafe { DatatypeRef::from_raw(slice_datatype::<T>().as_raw()) }
}

impl<'a> DynBuffer<'a> {
    /// Creates a buffer of the elements of a slice.
    ///
    /// # Panics
    /// If the slice has more than 2^31 - 1 elements, or if the extent of the datatype is not the
    /// size of a value. Also as [`is`](Self::is).
    pub fn new<T: Equivalence>(buf: &'a [T]) -> Self {
        // SAFETY: the slice is borrowed as long as this value lives.
        unsafe { Self::from_raw(buf.as_ptr(), buf.count(), datatype::<T>()) }
    }

    /// Returns the elements as a slice if `T` has the same datatype, the same size and a suitable
    /// alignment. Otherwise returns `None`.
    ///
    /// # Panics
    /// As [`is`](Self::is).
    pub fn downcast<T: Equivalence>(self) -> Option<&'a [T]> {
        // SAFETY: the elements have the datatype, spacing and alignment of `T`. There are `len` of
        // them, and they are borrowed for `'a`.
        self.are::<T>()
            .then(|| unsafe { std::slice::from_raw_parts(self.ptr.cast(), self.len()) })
    }

    /// Creates a buffer of elements of a datatype.
    ///
    /// # Safety
    /// `ptr` must not be null. It must point to `len` initialized elements of `datatype`, aligned
    /// for their type, that are valid for `'a`.
    pub unsafe fn from_raw<T>(ptr: *const T, len: Count, datatype: DatatypeRef<'a>) -> Self {
        debug_assert!(!ptr.is_null());
        let ptr = ptr.cast();
        DynBuffer { ptr, len, datatype }
    }
}

// SAFETY: guaranteed by the caller of `from_raw`.
unsafe impl PointerMut for DynBufferMut<'_> {
    fn pointer_mut(&mut self) -> *mut c_void {
        self.ptr
    }
}

// SAFETY: as above.
unsafe impl BufferMut for DynBufferMut<'_> {}

impl<'a> DynBufferMut<'a> {
    /// Creates a buffer of the elements of a slice.
    ///
    /// # Panics
    /// If the slice has more than 2^31 - 1 elements, or if the extent of the datatype is not the
    /// size of a value. Also as [`is`](Self::is).
    pub fn new<T: Equivalence>(buf: &'a mut [T]) -> Self {
        let len = buf.count();
        // SAFETY: the slice is borrowed exclusively as long as this value lives.
        unsafe { Self::from_raw(buf.as_mut_ptr(), len, datatype::<T>()) }
    }

    /// Returns the elements as a slice if `T` has the same datatype, the same size and a suitable
    /// alignment. Otherwise returns `None`.
    ///
    /// # Panics
    /// As [`is`](Self::is).
    pub fn downcast<T: Equivalence>(self) -> Option<&'a mut [T]> {
        // SAFETY: the elements have the datatype, spacing and alignment of `T`. There are `len` of
        // them, and they are borrowed exclusively for `'a`.
        self.are::<T>()
            .then(|| unsafe { std::slice::from_raw_parts_mut(self.ptr.cast(), self.len()) })
    }

    /// Creates a buffer of elements of a datatype.
    ///
    /// # Safety
    /// `ptr` must not be null. It must point to `len` initialized elements of `datatype`, aligned
    /// for their type, that are valid for `'a` and not accessed otherwise.
    pub unsafe fn from_raw<T>(ptr: *mut T, len: Count, datatype: DatatypeRef<'a>) -> Self {
        debug_assert!(!ptr.is_null());
        let ptr = ptr.cast();
        DynBufferMut { ptr, len, datatype }
    }

    /// Returns the address of the elements.
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        self.ptr
    }

    /// Borrows the elements for reading.
    pub fn reborrow(&self) -> DynBuffer<'_> {
        // SAFETY: this value is borrowed as long as the result lives.
        unsafe { DynBuffer::from_raw(self.ptr.cast_const(), self.len, self.datatype) }
    }

    /// Borrows the elements for writing.
    pub fn reborrow_mut(&mut self) -> DynBufferMut<'_> {
        // SAFETY: this value is borrowed exclusively as long as the result lives.
        unsafe { DynBufferMut::from_raw(self.ptr, self.len, self.datatype) }
    }

    /// Converts this to a buffer that can only be read.
    pub fn downgrade(self) -> DynBuffer<'a> {
        // SAFETY: this value is consumed, so the elements are not written any more.
        unsafe { DynBuffer::from_raw(self.ptr.cast_const(), self.len, self.datatype) }
    }
}

/// A datatype applied to a buffer to send from.
#[derive(Debug)]
pub struct View<'d, 'b, D: 'd + Datatype, B: 'b + Pointer + ?Sized> {
    datatype: &'d D,
    count: Count,
    buffer: &'b B,
}

/// A datatype applied to a buffer to receive into.
#[derive(Debug)]
pub struct MutView<'d, 'b, D: 'd + Datatype, B: 'b + PointerMut + ?Sized> {
    datatype: &'d D,
    count: Count,
    buffer: &'b mut B,
}

/// Implements the constructor and the common traits of both views.
macro_rules! view {
    ($name:ident, $pointer:ident, [$($mutable:tt)*]) => {
        impl<'d, 'b, D: Datatype, B: $pointer + ?Sized> $name<'d, 'b, D, B> {
            /// Applies a datatype to the beginning of a buffer: `count` elements of `datatype`. A
            /// negative `count` means no elements.
            ///
            /// # Safety
            /// All elements must be within the buffer. Received bytes must be valid values of the
            /// type of the buffer.
            pub unsafe fn with_count_and_datatype(
                buffer: &'b $($mutable)* B,
                count: Count,
                datatype: &'d D,
            ) -> $name<'d, 'b, D, B> {
                $name { datatype, count, buffer }
            }
        }

        // SAFETY: guaranteed by the caller of `with_count_and_datatype`.
        unsafe impl<'d, D: Datatype, B: $pointer + ?Sized> AsDatatype for $name<'d, '_, D, B> {
            type Out = &'d D;

            fn as_datatype(&self) -> Self::Out {
                self.datatype
            }
        }

        // SAFETY: as above.
        unsafe impl<D: Datatype, B: $pointer + ?Sized> Collection for $name<'_, '_, D, B> {
            fn count(&self) -> Count {
                self.count
            }
        }
    };
}

view!(View, Pointer, []);
view!(MutView, PointerMut, [mut]);

// SAFETY: it is the address of the buffer, which is borrowed by the view.
unsafe impl<D: Datatype, B: Pointer + ?Sized> Pointer for View<'_, '_, D, B> {
    fn pointer(&self) -> *const c_void {
        self.buffer.pointer()
    }
}

// SAFETY: guaranteed by the caller of `with_count_and_datatype`.
unsafe impl<D: Datatype, B: Pointer + ?Sized> Buffer for View<'_, '_, D, B> {}

// SAFETY: it is the address of the buffer, which is borrowed by the view.
unsafe impl<D: Datatype, B: PointerMut + ?Sized> PointerMut for MutView<'_, '_, D, B> {
    fn pointer_mut(&mut self) -> *mut c_void {
        self.buffer.pointer_mut()
    }
}

// SAFETY: guaranteed by the caller of `with_count_and_datatype`.
unsafe impl<D: Datatype, B: PointerMut + ?Sized> BufferMut for MutView<'_, '_, D, B> {}
