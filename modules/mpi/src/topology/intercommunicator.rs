//! Communicators between two groups of ranks.

use super::Rank;
use super::group::UserGroup;
use super::simple::SimpleCommunicator;
use crate::abi::MPI_Comm;
use crate::raw::AsRaw;
use crate::shared::{AsHandle, CommunicatorHandle};

/// A communicator between two groups of ranks. rsmpi makes them by spawning ranks only, which is not to be had here, so there are none.
pub struct InterCommunicator {
    handle: CommunicatorHandle,
    none: std::convert::Infallible,
}

impl InterCommunicator {
    /// A communicator of its handle, if it is one.
    ///
    /// # Safety
    /// The handle has to be valid.
    pub unsafe fn try_from_raw(_raw: MPI_Comm) -> Option<Self> {
        None
    }

    /// How many ranks the other group has.
    pub fn remote_size(&self) -> Rank {
        match self.none {}
    }

    /// The other group.
    pub fn remote_group(&self) -> UserGroup {
        match self.none {}
    }

    /// The communicator of both groups, in an order.
    pub fn merge(&self, _merge_order: MergeOrder) -> SimpleCommunicator {
        match self.none {}
    }
}

// SAFETY: that of the handle.
unsafe impl AsRaw for InterCommunicator {
    type Raw = MPI_Comm;

    fn as_raw(&self) -> MPI_Comm {
        self.handle.as_raw()
    }
}

impl AsHandle for InterCommunicator {
    fn as_handle(&self) -> &CommunicatorHandle {
        &self.handle
    }
}

/// Which group comes first when two are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeOrder {
    /// That of the rank that says so.
    Low,
    /// The other one.
    High,
}
