//! What stands for something of MPI by a handle.

/// The traits of this module.
pub mod traits {
    pub use super::{AsRaw, AsRawMut, FromRaw, MatchesRaw};
}

/// Something that has a handle.
///
/// # Safety
/// The handle has to be one of this crate, and to be valid as long as the value is.
pub unsafe trait AsRaw {
    /// The type of the handle.
    type Raw;
    /// The handle.
    fn as_raw(&self) -> Self::Raw;
}

// SAFETY: the handle of what is referred to, which lives as long at least.
unsafe impl<T: AsRaw> AsRaw for &T {
    type Raw = T::Raw;

    fn as_raw(&self) -> Self::Raw {
        (**self).as_raw()
    }
}

/// Something whose handle can be changed in place.
///
/// # Safety
/// As for [`AsRaw`].
pub unsafe trait AsRawMut: AsRaw {
    /// The place of the handle.
    fn as_raw_mut(&mut self) -> *mut <Self as AsRaw>::Raw;
}

/// Something that can be made of its handle.
pub trait FromRaw: AsRaw {
    /// Makes it of a handle.
    ///
    /// # Safety
    /// The handle has to be valid and of this kind, and if this type frees what it has, nobody else may.
    unsafe fn from_raw(handle: <Self as AsRaw>::Raw) -> Self;
}

/// Something that is laid out as its handle is.
///
/// # Safety
/// A pointer to it has to be one to its handle.
pub unsafe trait MatchesRaw: AsRaw {}
