//! What messages are sent from and received into.

use std::os::raw::c_void;

use super::equivalence::{Equivalence, alone, in_a_row};
use super::user::{Datatype, DatatypeRef};
use crate::Count;
use crate::raw::{AsRaw, FromRaw};

/// Something whose elements have a datatype.
///
/// # Safety
/// The datatype has to be that of the elements.
pub unsafe trait AsDatatype {
    /// The type of the datatype.
    type Out: Datatype;
    /// The datatype.
    fn as_datatype(&self) -> Self::Out;
}

/// Something that has a number of elements.
///
/// # Safety
/// It has to have as many.
pub unsafe trait Collection {
    /// How many.
    fn count(&self) -> Count;
}

/// Something whose elements are somewhere.
///
/// # Safety
/// The elements have to be there as long as it is borrowed.
pub unsafe trait Pointer {
    /// Where.
    fn pointer(&self) -> *const c_void;
}

/// Something whose elements can be changed.
///
/// # Safety
/// As for [`Pointer`].
pub unsafe trait PointerMut {
    /// Where they are.
    fn pointer_mut(&mut self) -> *mut c_void;
}

/// What messages can be sent from.
///
/// # Safety
/// What its parts say has to go together.
pub unsafe trait Buffer: Pointer + Collection + AsDatatype {}

/// What messages can be received into.
///
/// # Safety
/// As for [`Buffer`].
pub unsafe trait BufferMut: PointerMut + Collection + AsDatatype {}

/// A length as a count.
///
/// # Panics
/// If there are more than 2^31 - 1, which a `Count` cannot say.
#[track_caller]
fn counted(len: usize) -> Count {
    Count::try_from(len)
        .unwrap_or_else(|_| panic!("buffer of {len} elements: the limit of a message is 2^31 - 1"))
}

/// A value is one element.
fn one<T>(_value: &T) -> Count {
    1
}

/// A kind of buffer: its elements, from which function their datatype is had, and from which expressions they and their number.
macro_rules! buffer {
    ([$($generic:tt)*] $kind:ty, $datatype:ident, $this:ident => $count:expr, $pointer:expr, $pointer_mut:expr) => {
        // SAFETY: of its elements.
        unsafe impl<T: Equivalence, $($generic)*> AsDatatype for $kind {
            type Out = T::Out;

            fn as_datatype(&self) -> Self::Out {
                $datatype::<T>()
            }
        }

        // SAFETY: it has as many elements.
        unsafe impl<T: Equivalence, $($generic)*> Collection for $kind {
            fn count(&self) -> Count {
                let $this = self;
                $count
            }
        }

        // SAFETY: its elements.
        unsafe impl<T: Equivalence, $($generic)*> Pointer for $kind {
            fn pointer(&self) -> *const c_void {
                let $this = self;
                $pointer
            }
        }

        // SAFETY: its elements.
        unsafe impl<T: Equivalence, $($generic)*> PointerMut for $kind {
            fn pointer_mut(&mut self) -> *mut c_void {
                let $this = self;
                $pointer_mut
            }
        }

        // SAFETY: all of them are of the same elements.
        unsafe impl<T: Equivalence, $($generic)*> Buffer for $kind {}
        // SAFETY: likewise.
        unsafe impl<T: Equivalence, $($generic)*> BufferMut for $kind {}
    };
}

buffer!([] T, alone, this => one(this), std::ptr::from_ref(this).cast(), std::ptr::from_mut(this).cast());
buffer!([] [T], in_a_row, this => counted(this.len()), this.as_ptr().cast(), this.as_mut_ptr().cast());
buffer!([] Vec<T>, in_a_row, this => counted(this.len()), this.as_ptr().cast(), this.as_mut_ptr().cast());
buffer!([const N: usize] [T; N], in_a_row, this => counted(this.len()), this.as_ptr().cast(), this.as_mut_ptr().cast());

/// Elements of a type that is known at run time.
#[derive(Debug, Clone, Copy)]
pub struct DynBuffer<'a> {
    ptr: *const c_void,
    len: Count,
    datatype: DatatypeRef<'a>,
}

// SAFETY: as a shared slice of types that are all plain data.
unsafe impl Send for DynBuffer<'_> {}
// SAFETY: likewise.
unsafe impl Sync for DynBuffer<'_> {}

/// Elements of a type that is known at run time, which can be changed.
#[derive(Debug)]
pub struct DynBufferMut<'a> {
    ptr: *mut c_void,
    len: Count,
    datatype: DatatypeRef<'a>,
}

// SAFETY: as an exclusive slice of types that are all plain data.
unsafe impl Send for DynBufferMut<'_> {}
// SAFETY: likewise.
unsafe impl Sync for DynBufferMut<'_> {}

/// What both kinds do alike.
macro_rules! dynamic {
    ($name:ident) => {
        // SAFETY: whoever has made it has said so.
        unsafe impl Collection for $name<'_> {
            fn count(&self) -> Count {
                self.len
            }
        }

        // SAFETY: likewise.
        unsafe impl Pointer for $name<'_> {
            fn pointer(&self) -> *const c_void {
                self.ptr
            }
        }

        // SAFETY: likewise.
        unsafe impl<'a> AsDatatype for $name<'a> {
            type Out = DatatypeRef<'a>;

            fn as_datatype(&self) -> Self::Out {
                self.datatype
            }
        }

        // SAFETY: likewise.
        unsafe impl Buffer for $name<'_> {}

        impl<'a> $name<'a> {
            /// Whether its elements are of this type: of the same datatype.
            pub fn is<T: Equivalence>(&self) -> bool {
                self.datatype.as_raw() == T::equivalent_datatype().as_raw()
            }

            /// Whether they can be had as a slice of this type: another one of the same datatype may be aligned to more, or larger.
            fn are<T: Equivalence>(&self) -> bool {
                let is_spaced = self.datatype.as_raw().0.is_spaced(size_of::<T>());
                self.is::<T>() && is_spaced && self.ptr.cast::<T>().is_aligned()
            }

            /// How many elements there are.
            pub fn len(&self) -> usize {
                usize::try_from(self.len).unwrap_or(0)
            }

            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Where they are.
            pub fn as_ptr(&self) -> *const c_void {
                self.ptr
            }
        }
    };
}

dynamic!(DynBuffer);
dynamic!(DynBufferMut);

/// The datatype of the elements of a slice, which outlives all.
#[track_caller]
fn datatype<'a, T: Equivalence>() -> DatatypeRef<'a> {
    // SAFETY: layouts are never freed.
    unsafe { DatatypeRef::from_raw(in_a_row::<T>().as_raw()) }
}

impl<'a> DynBuffer<'a> {
    /// The elements of a slice.
    pub fn new<T: Equivalence>(buf: &'a [T]) -> Self {
        // SAFETY: they are borrowed as long as this lives.
        unsafe { Self::from_raw(buf.as_ptr(), buf.count(), datatype::<T>()) }
    }

    /// The elements, if they are of this type, and aligned as it is.
    pub fn downcast<T: Equivalence>(self) -> Option<&'a [T]> {
        // SAFETY: they are of the same datatype, aligned and spaced, and as many are there as long as they are borrowed.
        self.are::<T>()
            .then(|| unsafe { std::slice::from_raw_parts(self.ptr.cast(), self.len()) })
    }

    /// Elements of a datatype.
    ///
    /// # Safety
    /// As many elements of this datatype have to be there, aligned for their type, as long as this lives.
    pub unsafe fn from_raw<T>(ptr: *const T, len: Count, datatype: DatatypeRef<'a>) -> Self {
        debug_assert!(!ptr.is_null());
        let ptr = ptr.cast();
        DynBuffer { ptr, len, datatype }
    }
}

// SAFETY: whoever has made it has said so.
unsafe impl PointerMut for DynBufferMut<'_> {
    fn pointer_mut(&mut self) -> *mut c_void {
        self.ptr
    }
}

// SAFETY: likewise.
unsafe impl BufferMut for DynBufferMut<'_> {}

impl<'a> DynBufferMut<'a> {
    /// The elements of a slice.
    pub fn new<T: Equivalence>(buf: &'a mut [T]) -> Self {
        let len = buf.count();
        // SAFETY: they are borrowed as long as this lives.
        unsafe { Self::from_raw(buf.as_mut_ptr(), len, datatype::<T>()) }
    }

    /// The elements, if they are of this type, and aligned as it is.
    pub fn downcast<T: Equivalence>(self) -> Option<&'a mut [T]> {
        // SAFETY: they are of the same datatype, aligned and spaced, and as many are there, nobody else's, as long as they are borrowed.
        self.are::<T>()
            .then(|| unsafe { std::slice::from_raw_parts_mut(self.ptr.cast(), self.len()) })
    }

    /// Elements of a datatype.
    ///
    /// # Safety
    /// As many elements of this datatype have to be there, aligned for their type and nobody else's, as long as this lives.
    pub unsafe fn from_raw<T>(ptr: *mut T, len: Count, datatype: DatatypeRef<'a>) -> Self {
        debug_assert!(!ptr.is_null());
        let ptr = ptr.cast();
        DynBufferMut { ptr, len, datatype }
    }

    /// Where they are.
    pub fn as_mut_ptr(&mut self) -> *mut c_void {
        self.ptr
    }

    /// The same elements, to be read.
    pub fn reborrow(&self) -> DynBuffer<'_> {
        // SAFETY: this is borrowed meanwhile.
        unsafe { DynBuffer::from_raw(self.ptr.cast_const(), self.len, self.datatype) }
    }

    /// The same elements, for a while.
    pub fn reborrow_mut(&mut self) -> DynBufferMut<'_> {
        // SAFETY: this is borrowed meanwhile.
        unsafe { DynBufferMut::from_raw(self.ptr, self.len, self.datatype) }
    }

    /// The same elements, to be read only from now on.
    pub fn downgrade(self) -> DynBuffer<'a> {
        // SAFETY: this is gone.
        unsafe { DynBuffer::from_raw(self.ptr.cast_const(), self.len, self.datatype) }
    }
}

/// A datatype laid over a buffer to send from.
#[derive(Debug)]
pub struct View<'d, 'b, D: 'd + Datatype, B: 'b + Pointer + ?Sized> {
    datatype: &'d D,
    count: Count,
    buffer: &'b B,
}

/// A datatype laid over a buffer to receive into.
#[derive(Debug)]
pub struct MutView<'d, 'b, D: 'd + Datatype, B: 'b + PointerMut + ?Sized> {
    datatype: &'d D,
    count: Count,
    buffer: &'b mut B,
}

/// What both kinds do alike.
macro_rules! view {
    ($name:ident, $pointer:ident, [$($mutable:tt)*]) => {
        impl<'d, 'b, D: Datatype, B: $pointer + ?Sized> $name<'d, 'b, D, B> {
            /// So many elements of a datatype, from the beginning of a buffer.
            ///
            /// # Safety
            /// All of them have to be in the buffer, and what is received has to be values of its type.
            pub unsafe fn with_count_and_datatype(
                buffer: &'b $($mutable)* B,
                count: Count,
                datatype: &'d D,
            ) -> $name<'d, 'b, D, B> {
                $name { datatype, count, buffer }
            }
        }

        // SAFETY: whoever has made it has said so.
        unsafe impl<'d, D: Datatype, B: $pointer + ?Sized> AsDatatype for $name<'d, '_, D, B> {
            type Out = &'d D;

            fn as_datatype(&self) -> Self::Out {
                self.datatype
            }
        }

        // SAFETY: likewise.
        unsafe impl<D: Datatype, B: $pointer + ?Sized> Collection for $name<'_, '_, D, B> {
            fn count(&self) -> Count {
                self.count
            }
        }
    };
}

view!(View, Pointer, []);
view!(MutView, PointerMut, [mut]);

// SAFETY: that of the buffer.
unsafe impl<D: Datatype, B: Pointer + ?Sized> Pointer for View<'_, '_, D, B> {
    fn pointer(&self) -> *const c_void {
        self.buffer.pointer()
    }
}

// SAFETY: whoever has made it has said so.
unsafe impl<D: Datatype, B: Pointer + ?Sized> Buffer for View<'_, '_, D, B> {}

// SAFETY: that of the buffer.
unsafe impl<D: Datatype, B: PointerMut + ?Sized> PointerMut for MutView<'_, '_, D, B> {
    fn pointer_mut(&mut self) -> *mut c_void {
        self.buffer.pointer_mut()
    }
}

// SAFETY: whoever has made it has said so.
unsafe impl<D: Datatype, B: PointerMut + ?Sized> BufferMut for MutView<'_, '_, D, B> {}
