//! Communicators whose ranks are one group.

use crate::abi::MPI_Comm;
use crate::rank;
use crate::raw::{AsRaw, FromRaw};
use crate::shared::{AsHandle, CommunicatorHandle, Kind, Shared};

/// A communicator whose ranks are one group.
pub struct SimpleCommunicator(pub(crate) CommunicatorHandle);

impl SimpleCommunicator {
    pub(crate) fn made(shared: Shared) -> Self {
        SimpleCommunicator(CommunicatorHandle::new(shared))
    }

    /// That of all ranks.
    ///
    /// # Panics
    /// If no rank calls it, or it is not initialized.
    #[track_caller]
    pub fn world() -> SimpleCommunicator {
        SimpleCommunicator(CommunicatorHandle(rank::communicator(Kind::World)))
    }

    /// That of the rank that calls this, alone.
    ///
    /// # Panics
    /// As [`world`](Self::world).
    #[track_caller]
    pub fn self_comm() -> SimpleCommunicator {
        SimpleCommunicator(CommunicatorHandle(rank::communicator(Kind::Itself)))
    }
}

// SAFETY: that of the handle.
unsafe impl AsRaw for SimpleCommunicator {
    type Raw = MPI_Comm;

    fn as_raw(&self) -> MPI_Comm {
        self.0.as_raw()
    }
}

impl FromRaw for SimpleCommunicator {
    unsafe fn from_raw(handle: MPI_Comm) -> Self {
        // SAFETY: as the caller says.
        SimpleCommunicator(unsafe { CommunicatorHandle::from_raw(handle) })
    }
}

impl AsHandle for SimpleCommunicator {
    fn as_handle(&self) -> &CommunicatorHandle {
        &self.0
    }
}
