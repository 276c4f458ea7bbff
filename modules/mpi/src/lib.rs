//! [rsmpi](https://docs.rs/mpi/0.8.2/mpi/)'s API on graphmap's coroutines. A rank is a call of a
//! plain function on a stack of its own. One OS process runs any number of ranks, and no MPI
//! library is required.
//!
//! To port a program that was written for rsmpi, change its manifest. This also ports the libraries
//! that it uses:
//!
//! ```toml
//! [patch.crates-io]
//! mpi = { path = "../graphmap/modules/mpi" }
//! ```
//!
//! Then start the ranks with [`run`], or with [`main`] for ranks in several OS processes:
//!
//! ```
//! use mpi::traits::*;
//!
//! fn main() {
//!     mpi::run(4, rank).unwrap();
//! }
//!
//! fn rank() {
//!     let universe = mpi::initialize().unwrap();
//!     let world = universe.world();
//!     let next = world.process_at_rank((world.rank() + 1) % world.size());
//!     next.send(&world.rank());
//!     let (rank, status) = world.any_process().receive::<i32>();
//!     assert_eq!(rank, status.source_rank());
//! }
//! ```
//!
//! # Differences from rsmpi
//!
//! * *A rank that waits does not block its thread*: the thread runs another rank. A rank that never
//!   waits keeps the other ranks of its thread from running.
//! * *A deadlock* is reported at once, with the call of each rank and its line in the program.
//! * *An error* of a call is a panic with a description of the error. The panic ends the rank, and
//!   so the run. Functions whose names begin with `try_` return the error instead.
//! * *Statics* are shared by all ranks of an OS process, and *thread-locals* by all ranks of a
//!   thread.
//! * *A request* that is dropped ends without blocking: a receive is cancelled, but a message that
//!   was sent is still delivered. Only the rank that waits for a request, or tests it, writes into
//!   its buffer.
//! * *Structs that derive `Equivalence`* have the size that the compiler gives them, also if they
//!   are packed or aligned to more than their fields. With rsmpi, slices of such structs are
//!   accessed out of bounds. [`PartitionedBuffer`](datatype::PartitionedBuffer) is unsafe to
//!   implement.
//!
//! | | rsmpi over an MPI | here |
//! |---|---|---|
//! | call after the `Universe` was dropped | undefined | panics |
//! | start without [`run`] | by the launcher | `initialize` panics: the caller is not a rank |
//! | scope that a panic leaves | ends the OS process | unwinds, and guards cancel requests |
//! | attribute that is replaced while borrowed | is freed | lives as long as the communicator |
//! | attribute that panics when it is cloned or dropped | ends the OS process | fails its rank |
//! | `RequestCollection::wait_any` when all are complete | panics | returns `None` |
//! | statuses of `wait_some` and `test_some` | of another request, or missing | of the request |
//! | `coordinates_to_rank` with a coordinate of 0 | panics at an edge | returns the rank |
//! | received byte that is not a `bool` | undefined | error |
//! | value received from a message that is too short | undefined beyond the message | error |
//! | `Equivalence` of another size than the type | accesses memory beyond slices | slices panic |
//! | `Universe` in a `static` | belongs to the only rank | belongs to one rank (others panic) |
//!
//! A datatype panics if its size or extent exceeds the address space. So does a message that does
//! not fit into memory, and a buffer that is a slice, array or vector of more than 2^31 - 1
//! elements. A vector datatype of any length takes the memory of one block. A type is checked at
//! its first use, as in rsmpi. This use panics before `initialize` and after the end of the rank.
//!
//! A call that waits panics if it is made inside the poll of a future, or inside an operation of a
//! reduction of several ranks. It also panics if it would have to block while its stack is
//! unwinding.
//!
//! # Additions to rsmpi
//!
//! * [`sleep`]: blocks a rank for a time, while other ranks of its thread run.
//! * [`endpoint`]: additional ranks of a rank, on stacks or threads of their own.
//! * [`window`]: access to the memory of other ranks (one-sided communication).
//! * [`InterCommunicator::create`](topology::InterCommunicator::create): an intercommunicator of
//!   two communicators.

use std::fmt;
use std::os::raw::c_int;

mod abi;
pub mod attribute;
mod buffer_range;
mod calls;
pub mod collective;
pub mod datatype;
pub mod endpoint;
pub mod environment;
#[allow(missing_docs)]
pub mod ffi;
mod fiber;
mod forms;
mod nonblocking;
mod operation;
mod phase;
pub mod point_to_point;
mod process;
mod rank;
pub mod raw;
pub mod request;
mod run;
mod shared;
mod status;
mod threading;
pub mod topology;
pub mod window;

/// All traits of this crate, and the derive macro.
pub mod traits {
    #[cfg(feature = "derive")]
    pub use graphmap_mpi_derive::Equivalence;

    pub use crate::attribute::traits::*;
    pub use crate::collective::traits::*;
    pub use crate::datatype::traits::*;
    pub use crate::point_to_point::traits::*;
    pub use crate::raw::traits::*;
    pub use crate::topology::traits::*;
}

/// Items that the code generated by `#[derive(Equivalence)]` uses.
#[cfg(feature = "derive")]
#[doc(hidden)]
pub mod internal {
    pub use crate::derived::{Derived, Field, array_datatype, struct_datatype, type_datatype};
}
#[cfg(feature = "derive")]
mod derived;

#[doc(inline)]
pub use crate::environment::{
    Threading, initialize, initialize_with_threading, is_finalized, is_initialized, sleep, time,
    time_resolution,
};
pub use crate::run::{main, network, run, run_with};
pub use crate::topology::Rank;
/// Error of a call, returned by the functions whose names begin with `try_`.
pub use graphmap_runtime::mpi::Error as CallError;
pub use graphmap_runtime::{Options, Report, RunError};

/// Error code of MPI's C interface.
pub type Error = c_int;
/// Number of elements.
pub type Count = c_int;
/// Tag of a message, by which a receive can select it.
pub type Tag = c_int;
/// Address, or distance between two addresses, in bytes.
pub type Address = abi::MPI_Aint;

/// Error of a call that spawns ranks.
#[derive(Debug)]
pub enum MpiError {
    /// Number of ranks that could not be spawned, and number of ranks requested.
    Spawn(Rank, Rank),
    /// A string contains a zero byte.
    StringNul(std::ffi::NulError),
}

impl fmt::Display for MpiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MpiError::Spawn(failed, of) => write!(f, "Failed to spawn {failed} of {of} processes"),
            MpiError::StringNul(_) => f.write_str("An interior 0 byte was found in string"),
        }
    }
}

impl std::error::Error for MpiError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MpiError::StringNul(error) => Some(error),
            MpiError::Spawn(..) => None,
        }
    }
}

impl From<std::ffi::NulError> for MpiError {
    fn from(error: std::ffi::NulError) -> Self {
        MpiError::StringNul(error)
    }
}

/// Returns the value of a call.
///
/// # Panics
/// With the error of the call, which ends the rank.
#[track_caller]
fn done<T>(result: Result<T, CallError>) -> T {
    // Not a closure: the panic would report the line of the closure, not of the caller.
    match result {
        Ok(given) => given,
        Err(error) => panic!("{error}"),
    }
}
