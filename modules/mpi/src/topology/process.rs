//! Ranks of a communicator as sources, destinations and roots.

use super::Rank;
use super::group::rank;
use crate::abi::MPI_Comm;
use crate::raw::AsRaw;
use crate::shared::{AsHandle, CommunicatorHandle};

/// A rank of a communicator.
#[derive(Clone, Copy)]
pub struct Process<'a> {
    pub(super) comm: AnyProcess<'a>,
    rank: Rank,
}

impl<'a> Process<'a> {
    pub(super) fn new<C: AsHandle + ?Sized>(comm: &'a C, rank: Rank) -> Self {
        let comm = AnyProcess::new(comm);
        Process { comm, rank }
    }

    /// Returns the rank in the communicator.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Returns true if this is the rank that owns the communicator from which the process was made.
    /// Returns false for processes of a remote group.
    pub fn is_self(&self) -> bool {
        let of = &self.as_handle().0;
        of.remote().is_none() && rank(of.known().rank()) == self.rank
    }
}

/// Any rank of a communicator.
#[derive(Clone, Copy)]
pub struct AnyProcess<'a>(&'a CommunicatorHandle);

impl<'a> AnyProcess<'a> {
    pub(super) fn new<C: AsHandle + ?Sized>(comm: &'a C) -> Self {
        AnyProcess(comm.as_handle())
    }
}

// SAFETY: the handle of the communicator is valid as long as it is borrowed.
unsafe impl AsRaw for Process<'_> {
    type Raw = MPI_Comm;

    fn as_raw(&self) -> MPI_Comm {
        self.comm.as_raw()
    }
}

impl AsHandle for Process<'_> {
    fn as_handle(&self) -> &CommunicatorHandle {
        self.comm.0
    }
}

// SAFETY: the handle of the communicator is valid as long as it is borrowed.
unsafe impl AsRaw for AnyProcess<'_> {
    type Raw = MPI_Comm;

    fn as_raw(&self) -> MPI_Comm {
        self.0.as_raw()
    }
}

impl AsHandle for AnyProcess<'_> {
    fn as_handle(&self) -> &CommunicatorHandle {
        self.0
    }
}
