//! Communicators of one group of ranks.

use crate::abi::MPI_Comm;
use crate::rank;
use crate::raw::{AsRaw, FromRaw};
use crate::shared::{AsHandle, CommunicatorHandle, Kind, Shared};

/// A communicator of one group of ranks (an intracommunicator).
pub struct SimpleCommunicator(pub(crate) CommunicatorHandle);

impl SimpleCommunicator {
    pub(crate) fn made(shared: Shared) -> Self {
        SimpleCommunicator(CommunicatorHandle::new(shared))
    }

    /// Returns the communicator of all ranks (`MPI_COMM_WORLD`).
    ///
    /// # Panics
    /// If the caller is not a rank, or the rank is not initialized, or was finalized. On the first
    /// call of a rank, also if the run has ended.
    #[track_caller]
    pub fn world() -> SimpleCommunicator {
        SimpleCommunicator(CommunicatorHandle(rank::communicator(Kind::World)))
    }

    /// Returns the communicator of the calling rank alone (`MPI_COMM_SELF`).
    ///
    /// # Panics
    /// As [`world`](Self::world).
    #[track_caller]
    pub fn self_comm() -> SimpleCommunicator {
        SimpleCommunicator(CommunicatorHandle(rank::communicator(Kind::SelfComm)))
    }
}

// SAFETY: the raw handle is valid as long as `self.0` lives.
unsafe impl AsRaw for SimpleCommunicator {
    type Raw = MPI_Comm;

    fn as_raw(&self) -> MPI_Comm {
        self.0.as_raw()
    }
}

impl FromRaw for SimpleCommunicator {
    unsafe fn from_raw(handle: MPI_Comm) -> Self {
        // SAFETY: guaranteed by the caller.
        SimpleCommunicator(unsafe { CommunicatorHandle::from_raw(handle) })
    }
}

impl AsHandle for SimpleCommunicator {
    fn as_handle(&self) -> &CommunicatorHandle {
        &self.0
    }
}
