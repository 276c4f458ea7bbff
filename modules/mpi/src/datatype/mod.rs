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

/// What derived code calls.
#[doc(hidden)]
pub mod internal {
    use crate::life::Phase;
    use crate::rank::{elsewhere, is_own_thread, phase};
    use crate::threading::Threading;

    /// Panics unless a derived type may be made now, by this thread.
    #[track_caller]
    pub fn check_derive_equivalence_universe_state(type_name: &str) {
        let threading = match phase() {
            Some(Phase::Initialized(threading)) if is_own_thread() => {
                let _ = threading;
                return;
            }
            Some(Phase::Finalized(_)) => panic!(
                "the datatype of `{type_name}` is first used after the rank was finalized: its `Universe` was dropped"
            ),
            Some(Phase::Before) => panic!(
                "the datatype of `{type_name}` is first used before the rank was initialized: call `mpi::initialize` first"
            ),
            Some(Phase::Initialized(threading)) => threading,
            // A thread that a rank has started, of which nothing says which rank that was.
            None => match elsewhere() {
                (_, true) => Threading::Multiple,
                (true, false) => Threading::Single,
                (false, _) => panic!(
                    "the datatype of `{type_name}` is first used where no rank is initialized: call `mpi::initialize` first"
                ),
            },
        };
        assert!(
            threading == Threading::Multiple,
            "the datatype of `{type_name}` is first used by another thread than its rank's: call \
             `{type_name}::equivalent_datatype()` before, or `mpi::initialize_with_threading(mpi::Threading::Multiple)`"
        );
    }
}
