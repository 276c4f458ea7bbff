//! [rsmpi](https://docs.rs/mpi/0.8.2/mpi/)'s API over graphmap's coroutines: ranks are calls of a plain function on stacks of their
//! own, as many as wanted in one OS process, and need no MPI.
//!
//! A program that was written for rsmpi moves over by its manifest, and so do the libraries that it uses:
//!
//! ```toml
//! [patch.crates-io]
//! mpi = { path = "../graphmap/modules/mpi" }
//! ```
//!
//! and by one line, which says how many ranks there are: [`run`], or [`main`] for ranks in several OS processes.
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
//! # What is different
//!
//! * *Who waits does not block its thread*: another rank of it goes on. A rank that waits for nothing keeps the others from going on.
//! * *Ranks that wait for each other for ever* are reported at once, with what each waits for and the line of the program it is in.
//! * *Errors* end the rank that makes them, by a panic that says what is wrong, and so the run. The functions whose names begin with
//!   `try_` return them.
//! * *Statics and thread-locals* are shared by the ranks of an OS process and of a thread.
//! * *Requests* that are let go of are cancelled; nothing is written into a buffer but by the rank that waits for it.
//! * *Structs that derive `Equivalence`* are as large as the compiler makes them, packed or aligned to more than their fields: rsmpi reads
//!   and writes beyond slices of such. [`PartitionedBuffer`](datatype::PartitionedBuffer) is unsafe to implement.
//!
//! | | rsmpi over an MPI | here |
//! |---|---|---|
//! | call after the `Universe` was dropped | is undefined | panics |
//! | start without [`run`] | belongs to the launcher | `initialize` reports that there is no rank |
//! | scope that a panic leaves | ends the OS process | unwinds; the guards cancel their requests |
//! | attribute that is replaced while borrowed | is freed | lives as long as the communicator |
//! | attribute that panics when it is cloned or dropped | ends the OS process | fails its rank |
//! | `RequestCollection::wait_any` when all are complete | panics | returns `None` |
//! | statuses of `wait_some` and `test_some` | of another request, or none | of the request |
//! | `coordinates_to_rank` with a coordinate of 0 | panics at an edge | returns the rank |
//! | received byte that is not a `bool` | is undefined | is an error |
//! | value received from a message that is too short | is undefined beyond it | is an error |
//! | `Equivalence` of another size than the type | accesses memory beyond slices | slices panic |
//! | `Universe` in a `static` | belongs to the only rank | belongs to one rank; others panic |
//!
//! A size or extent of a datatype beyond the address space panics, as does a message that does not
//! fit into memory. A vector of any length takes the memory of one block. The first use of a type
//! is checked as in rsmpi: before `initialize` and after the end of the rank it panics.
//!
//! # What rsmpi does not have
//!
//! * [`endpoint`]: further ranks of a rank, on stacks or threads of their own.
//! * [`window`]: access to the memory of other ranks (one-sided communication).
//! * [`InterCommunicator::create`](topology::InterCommunicator::create): an intercommunicator of two communicators.

use std::fmt;
use std::os::raw::c_int;

mod abi;
pub mod attribute;
mod begun;
mod calls;
pub mod collective;
pub mod datatype;
pub mod endpoint;
pub mod environment;
#[allow(missing_docs)]
pub mod ffi;
mod fiber;
mod forms;
mod life;
mod operation;
mod place;
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

/// What a program wants to have in scope.
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

/// What derived code uses.
#[cfg(feature = "derive")]
#[doc(hidden)]
pub mod internal {
    pub use crate::derived::{Derived, Field, of_array, of_fields, of_type};
}
#[cfg(feature = "derive")]
mod derived;

#[doc(inline)]
pub use crate::environment::{
    Threading, initialize, initialize_with_threading, is_finalized, is_initialized, time,
    time_resolution,
};
pub use crate::run::{main, network, run, run_with};
pub use crate::topology::Rank;
/// What graphmap's runtime calls wrong: what the functions return whose names begin with `try_`.
pub use graphmap_runtime::mpi::Error as CallError;
pub use graphmap_runtime::{Options, Report, RunError};

/// The code of an error, as MPI's C interface has it.
pub type Error = c_int;
/// A number of elements.
pub type Count = c_int;
/// What a message is told from others by.
pub type Tag = c_int;
/// An address, or a distance between two, in bytes.
pub type Address = abi::MPI_Aint;

/// Why ranks could not be spawned.
#[derive(Debug)]
pub enum MpiError {
    /// So many ranks of so many could not be spawned.
    Spawn(Rank, Rank),
    /// A string with a zero byte in it.
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

/// What a call gives, or the end of the rank that has made it.
#[track_caller]
fn done<T>(result: Result<T, CallError>) -> T {
    // By no closure: a panic is told with the line of its caller, which a closure would be.
    match result {
        Ok(given) => given,
        Err(error) => panic!("{error}"),
    }
}
