//! Conversions between values and MPI's handles.

/// The traits of this module.
pub mod traits {
    pub use super::{AsRaw, AsRawMut, FromRaw, MatchesRaw};
}

/// A value that has a handle.
///
/// # Safety
/// The handle must be one of this crate. It must be valid as long as the value lives.
pub unsafe trait AsRaw {
    /// Type of the handle.
    type Raw;
    /// Returns the handle.
    fn as_raw(&self) -> Self::Raw;
}

// SAFETY: the handle belongs to the referenced value, which outlives the reference.
unsafe impl<T: AsRaw> AsRaw for &T {
    type Raw = T::Raw;

    fn as_raw(&self) -> Self::Raw {
        (**self).as_raw()
    }
}

/// A value whose handle can be changed in place.
///
/// # Safety
/// As for [`AsRaw`].
pub unsafe trait AsRawMut: AsRaw {
    /// Returns a pointer to the handle.
    fn as_raw_mut(&mut self) -> *mut <Self as AsRaw>::Raw;
}

/// A value that can be made from its handle.
pub trait FromRaw: AsRaw {
    /// Makes a value from a handle.
    ///
    /// # Safety
    /// The handle must be valid and of this type. If the type frees the object behind the handle,
    /// no other value may free it.
    unsafe fn from_raw(handle: <Self as AsRaw>::Raw) -> Self;
}

/// A value that has the same memory layout as its handle.
///
/// # Safety
/// A pointer to the value must be a valid pointer to its handle.
pub unsafe trait MatchesRaw: AsRaw {}
