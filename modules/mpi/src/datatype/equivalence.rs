//! Rust types that have a datatype.

use std::any::type_name;

use super::layout::{Basic, Layout};
use super::user::{Datatype, DatatypeRef};
use crate::datatype::layout::MPI_Datatype;
use crate::raw::{AsRaw, FromRaw};

/// Datatype of a predefined type.
pub type SystemDatatype = DatatypeRef<'static>;

/// A type whose values can be elements of messages.
///
/// # Safety
/// * The datatype must describe all bytes of a value that are initialized, and no padding.
/// * Any bytes that are received as this datatype must be a valid value.
/// * If several values are sent or received at a time, the extent of the datatype must be the size
///   of the type.
/// * A shared reference must not permit changes (no `Cell`), because threads may share buffers of
///   any such type.
pub unsafe trait Equivalence {
    /// Type of the datatype.
    type Out: Datatype;
    /// Returns the datatype.
    fn equivalent_datatype() -> Self::Out;
}

/// Returns the datatype of a single value.
///
/// # Panics
/// If the datatype extends beyond the value. This is possible if `Equivalence` is implemented by
/// hand. Also if `T::equivalent_datatype` panics.
#[track_caller]
pub(crate) fn single_datatype<T: Equivalence>() -> T::Out {
    let datatype = T::equivalent_datatype();
    assert!(
        datatype.as_raw().0.is_within(size_of::<T>()),
        "the datatype of {} extends beyond its {} bytes",
        type_name::<T>(),
        size_of::<T>()
    );
    datatype
}

/// Returns the datatype of consecutive values.
///
/// # Panics
/// If the extent of the datatype is not the size of a value, because then other bytes than those of
/// the values would be accessed. This is possible if `Equivalence` is implemented by hand for a
/// struct that is packed, or aligned to more than its fields. Also if `T::equivalent_datatype`
/// panics.
#[track_caller]
pub(crate) fn slice_datatype<T: Equivalence>() -> T::Out {
    let datatype = T::equivalent_datatype();
    let layout = datatype.as_raw().0;
    assert!(
        layout.is_spaced(size_of::<T>()),
        "{} has {} bytes, but the extent of its datatype is {}: its values can be sent and \
         received only one at a time",
        type_name::<T>(),
        size_of::<T>(),
        layout.extent
    );
    datatype
}

macro_rules! predefined {
    ($($rust:ty => $basic:ident),*) => {
        $(
            // SAFETY: the predefined datatype describes this type. (`isize` and `usize` have 64
            // bits here; on other targets, `single_datatype` and `slice_datatype` panic.)
            unsafe impl Equivalence for $rust {
                type Out = SystemDatatype;

                fn equivalent_datatype() -> Self::Out {
                    static LAYOUT: std::sync::OnceLock<&Layout> = std::sync::OnceLock::new();
                    let layout = LAYOUT.get_or_init(|| Layout::basic(Basic::$basic));
                    // SAFETY: layouts are never freed.
                    unsafe { DatatypeRef::from_raw(MPI_Datatype(layout)) }
                }
            }
        )*
    };
}

predefined! {
    bool => Bool,
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64
}

predefined! { isize => I64, usize => U64 }

/// Datatypes of complex numbers.
#[cfg(feature = "complex")]
pub mod complex_datatype {
    use num_complex::{Complex32, Complex64};

    use super::{Basic, DatatypeRef, Equivalence, FromRaw, Layout, MPI_Datatype, SystemDatatype};

    predefined! { Complex32 => C32, Complex64 => C64 }
}
