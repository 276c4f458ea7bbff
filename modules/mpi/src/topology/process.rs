//! Ranks of a communicator, as others see them.

use super::communicator::{AsCommunicator, Communicator};
use crate::abi::MPI_Comm;
use crate::raw::AsRaw;
use crate::shared::{AsHandle, CommunicatorHandle};

use super::Rank;

/// A rank of a communicator.
#[derive(Clone, Copy)]
pub struct Process<'a> {
    comm: AnyProcess<'a>,
    rank: Rank,
}

impl<'a> Process<'a> {
    pub(super) fn new<C: Communicator + ?Sized>(comm: &'a C, rank: Rank) -> Self {
        let comm = AnyProcess::new(comm);
        Process { comm, rank }
    }

    /// Its number.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Whether it is the one that calls this.
    pub fn is_self(&self) -> bool {
        self.comm.rank() == self.rank
    }
}

/// Any rank of a communicator.
#[derive(Clone, Copy)]
pub struct AnyProcess<'a>(&'a CommunicatorHandle);

impl<'a> AnyProcess<'a> {
    pub(super) fn new<C: Communicator + ?Sized>(comm: &'a C) -> Self {
        AnyProcess(comm.as_handle())
    }
}

// SAFETY: that of the communicator.
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

impl Communicator for Process<'_> {
    fn target_size(&self) -> Rank {
        self.size()
    }
}

impl<'a> AsCommunicator for Process<'a> {
    type Out = AnyProcess<'a>;

    fn as_communicator(&self) -> &Self::Out {
        &self.comm
    }
}

// SAFETY: that of the communicator.
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

impl Communicator for AnyProcess<'_> {
    fn target_size(&self) -> Rank {
        self.size()
    }
}

impl<'a> AsCommunicator for AnyProcess<'a> {
    type Out = AnyProcess<'a>;

    fn as_communicator(&self) -> &Self::Out {
        self
    }
}
