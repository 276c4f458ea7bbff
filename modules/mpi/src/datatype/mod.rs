//! Datatypes: the types of the elements of messages, and their layout in memory.
//!
//! A type whose values can be elements of messages implements [`Equivalence`], by hand or by
//! `#[derive(Equivalence)]`. Values, slices, arrays and vectors of such a type are [`Buffer`]s. A
//! [`View`] applies any datatype to a buffer, for example a column to a matrix.

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

/// Returns the address of a value (`MPI_Get_address`).
pub fn address_of<T>(x: &T) -> Address {
    std::ptr::from_ref(x).addr().cast_signed()
}
