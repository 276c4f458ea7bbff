//! What of MPI's C interface needs nothing of this crate: constants, what is told of a message, and handles that are not looked behind.

#![allow(non_camel_case_types, non_snake_case)]

use std::os::raw::c_int;

use graphmap_runtime::mpi as core;

/// A communicator, as one rank has it: a pointer to its `Shared`.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MPI_Comm(pub(crate) *const ());

/// A group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MPI_Group(pub(crate) *const Members);

/// What the handle of a group points to.
#[derive(Debug, Clone)]
pub(crate) struct Members {
    pub(crate) group: core::Group,
    /// The rank that has made it, as one of a group: that of its communicator, as it may be an endpoint.
    pub(crate) maker: Option<(core::Group, usize)>,
}

/// A message that was found by a matched probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MPI_Message(pub(crate) *const ());

/// What is told of a message.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MPI_Status {
    /// The rank that has sent it.
    pub MPI_SOURCE: c_int,
    /// Its tag.
    pub MPI_TAG: c_int,
    /// Always [`MPI_SUCCESS`]: an error ends the call, not the message.
    pub MPI_ERROR: c_int,
    pub(crate) bytes: usize,
}

/// Hints for a call. Nobody reads any here, so there are none but [`RSMPI_INFO_NULL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MPI_Info(());

/// A handle as Fortran has it.
pub type MPI_Fint = c_int;
/// An address, or a distance between two, in bytes.
pub type MPI_Aint = isize;

/// A call has done what it was to do.
pub const MPI_SUCCESS: c_int = 0;
/// A number of elements that is none, as of a message that ends within one.
pub const MPI_UNDEFINED: c_int = -32766;
/// No communicator.
pub const RSMPI_COMM_NULL: MPI_Comm = MPI_Comm(std::ptr::null());
/// Nobody wants to be told of the message.
pub const RSMPI_STATUS_IGNORE: *mut MPI_Status = std::ptr::null_mut();
/// No hints.
pub const RSMPI_INFO_NULL: MPI_Info = MPI_Info(());
/// Any tag.
pub const RSMPI_ANY_TAG: c_int = -1;
/// Any source.
pub const RSMPI_ANY_SOURCE: c_int = -2;
/// No rank.
pub const RSMPI_PROC_NULL: c_int = -1;
/// This rank is the root of a collective call of two groups (`MPI_ROOT`).
pub(crate) const RSMPI_ROOT: c_int = -3;
