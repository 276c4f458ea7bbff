//! Datatypes: what elements of messages are, and where they are in memory.
//!
//! A type whose elements can be in messages implements [`Equivalence`], by hand or by `#[derive(Equivalence)]`. Values, slices,
//! arrays and vectors of it are [`Buffer`]s; a [`View`] lays any datatype over one, as a column over a matrix.

mod buffer;
pub(crate) mod equivalence;
pub(crate) mod layout;
mod partition;
mod user;

pub use buffer::{
    AsDatatype, Buffer, BufferMut, Collection, DynBuffer, DynBufferMut, MutView, Pointer,
    PointerMut, View,
};
#[cfg(feature = "complex")]
pub use equivalence::complex_datatype;
pub use equivalence::{Equivalence, SystemDatatype};
pub use partition::{
    Partition, PartitionMut, Partitioned, PartitionedBuffer, PartitionedBufferMut,
};
pub use user::{
    Datatype, DatatypeRef, UncommittedDatatype, UncommittedDatatypeRef, UncommittedUserDatatype,
    UserDatatype,
};

use crate::Address;

/// The traits of this module.
pub mod traits {
    pub use super::{
        AsDatatype, Buffer, BufferMut, Collection, Datatype, Equivalence, Partitioned,
        PartitionedBuffer, PartitionedBufferMut, Pointer, PointerMut, UncommittedDatatype,
    };
}

/// Where something is.
pub fn address_of<T>(x: &T) -> Address {
    std::ptr::from_ref(x).addr().cast_signed()
}
