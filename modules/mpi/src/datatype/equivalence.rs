//! The Rust types that have a datatype.

use std::any::type_name;

use super::layout::{Basic, Layout};
use super::user::{Datatype, DatatypeRef};
use crate::datatype::layout::MPI_Datatype;
use crate::raw::{AsRaw, FromRaw};

/// The datatype of a predefined type.
pub type SystemDatatype = DatatypeRef<'static>;

/// A type whose values can be in messages.
///
/// # Safety
/// The datatype has to describe all that is initialized in a value, thus all but padding, and nothing else, and whatever has come as
/// that datatype has to be a value. Its extent has to be the size of the type, where more than one value is sent or received at a time. What is borrowed as shared
/// must not change (no `Cell`), as buffers of any type may be shared by threads.
pub unsafe trait Equivalence {
    /// The type of the datatype.
    type Out: Datatype;
    /// The datatype.
    fn equivalent_datatype() -> Self::Out;
}

/// The datatype of a value that stands alone.
///
/// # Panics
/// If it reaches beyond the value, as it may where `Equivalence` is implemented by hand.
#[track_caller]
pub(crate) fn alone<T: Equivalence>() -> T::Out {
    let datatype = T::equivalent_datatype();
    assert!(
        datatype.as_raw().0.is_within(size_of::<T>()),
        "the datatype of {} extends beyond its {} bytes",
        type_name::<T>(),
        size_of::<T>()
    );
    datatype
}

/// The datatype of values that follow each other.
///
/// # Panics
/// If its extent is not the size of a value, as it may be where `Equivalence` is implemented by hand for a struct that is packed, or
/// aligned to more than its fields are: other bytes would be read and written than those of the values.
#[track_caller]
pub(crate) fn in_a_row<T: Equivalence>() -> T::Out {
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
            // SAFETY: it is the datatype of this very type.
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

/// Complex numbers.
#[cfg(feature = "complex")]
pub mod complex_datatype {
    use num_complex::{Complex32, Complex64};

    use super::{Basic, DatatypeRef, Equivalence, FromRaw, Layout, MPI_Datatype, SystemDatatype};

    predefined! { Complex32 => C32, Complex64 => C64 }
}
