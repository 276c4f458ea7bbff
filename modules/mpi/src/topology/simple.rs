//! Communicators whose ranks are one group.

use super::cartesian::CartesianCommunicator;
use super::communicator::{AsCommunicator, Communicator, Topology};
use crate::abi::MPI_Comm;
use crate::rank;
use crate::raw::{AsRaw, FromRaw};
use crate::shared::{AsHandle, CommunicatorHandle, Kind, Shared};

use super::Rank;

/// A communicator whose ranks are one group.
pub struct SimpleCommunicator(pub(super) CommunicatorHandle);

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

    /// How its ranks are neighbours.
    pub fn topology(&self) -> Topology {
        match self.0.0.grid {
            Some(_) => Topology::Cartesian,
            None => Topology::Undefined,
        }
    }

    /// The communicator as what it is.
    pub fn into_topology(self) -> IntoTopology {
        match self.topology() {
            Topology::Cartesian => IntoTopology::Cartesian(CartesianCommunicator(self)),
            _ => IntoTopology::Undefined(self),
        }
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

impl Communicator for SimpleCommunicator {
    fn target_size(&self) -> Rank {
        self.size()
    }
}

impl AsCommunicator for SimpleCommunicator {
    type Out = SimpleCommunicator;

    fn as_communicator(&self) -> &Self::Out {
        self
    }
}

/// A communicator whose ranks are a graph. There are none yet.
#[derive(Debug)]
#[allow(missing_copy_implementations)]
pub struct GraphCommunicator;

/// A communicator whose ranks are a graph that each knows a part of. There are none yet.
#[derive(Debug)]
#[allow(missing_copy_implementations)]
pub struct DistributedGraphCommunicator;

/// A communicator as what it is.
pub enum IntoTopology {
    /// A graph.
    Graph(GraphCommunicator),
    /// A grid.
    Cartesian(CartesianCommunicator),
    /// A graph that each rank knows a part of.
    DistributedGraph(DistributedGraphCommunicator),
    /// Ranks, and nothing more.
    Undefined(SimpleCommunicator),
}
