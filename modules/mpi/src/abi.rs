//! The part of MPI's C interface that does not depend on the rest of this crate: constants, the
//! status of a message, and opaque handles.

#![allow(non_camel_case_types, non_snake_case)]

use std::os::raw::c_int;

use graphmap_runtime::mpi as core;

/// A communicator as one rank has it: a pointer to its `Shared`.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MPI_Comm(pub(crate) *const ());

/// A group of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MPI_Group(pub(crate) *const Members);

/// Data of the handle of a group.
#[derive(Debug, Clone)]
pub(crate) struct Members {
    pub(crate) group: core::Group,
    /// The rank that created the group: the group of its communicator and its rank in that group.
    /// The communicator is recorded because the rank may be an endpoint.
    pub(crate) maker: Option<(core::Group, usize)>,
}

/// A message that a matched probe has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MPI_Message(pub(crate) *const ());

/// Source, tag and size of a received message.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MPI_Status {
    /// Rank of the sender.
    pub MPI_SOURCE: c_int,
    /// Tag of the message.
    pub MPI_TAG: c_int,
    /// Always [`MPI_SUCCESS`], because errors belong to the call and not to the message.
    pub MPI_ERROR: c_int,
    pub(crate) bytes: usize,
}

/// Hints for a call. All calls ignore them, so the only value is [`RSMPI_INFO_NULL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MPI_Info(());

/// A handle in the representation of Fortran.
pub type MPI_Fint = c_int;
/// An address, or a distance between two, in bytes.
pub type MPI_Aint = isize;

/// Code of a call that succeeded.
pub const MPI_SUCCESS: c_int = 0;
/// Number of elements in a message that ends within an element.
pub const MPI_UNDEFINED: c_int = -32766;
/// The null communicator.
pub const RSMPI_COMM_NULL: MPI_Comm = MPI_Comm(std::ptr::null());
/// Passed as the pointer to a status that the caller does not need.
pub const RSMPI_STATUS_IGNORE: *mut MPI_Status = std::ptr::null_mut();
/// No hints.
pub const RSMPI_INFO_NULL: MPI_Info = MPI_Info(());
/// Matches any tag.
pub const RSMPI_ANY_TAG: c_int = -1;
/// Matches any source.
pub const RSMPI_ANY_SOURCE: c_int = -2;
/// The null rank: a message to or from it is not transferred.
pub const RSMPI_PROC_NULL: c_int = -1;
/// Passed by the rank that is the root of a collective call on an intercommunicator (`MPI_ROOT`).
pub(crate) const RSMPI_ROOT: c_int = -3;
