//! Communicators, groups and virtual topologies.

mod as_communicator;
mod cartesian;
mod communicator;
mod group;
mod intercommunicator;
mod process;
mod simple;
mod virtual_topology;

pub use as_communicator::AsCommunicator;
pub use cartesian::{CartesianCommunicator, CartesianLayout};
pub use communicator::{AnyCommunicator, Color, Communicator, CommunicatorRelation, Key};
pub use group::{Group, GroupRelation, SystemGroup, UserGroup};
pub(crate) use group::{number, rank};
pub use intercommunicator::{InterCommunicator, LocalRoot, MergeOrder};
pub use process::{AnyProcess, Process};
pub use simple::SimpleCommunicator;
pub use virtual_topology::{
    DistributedGraphCommunicator, GraphCommunicator, IntoTopology, Topology,
};

/// Rank of a process in a communicator, from 0.
pub type Rank = std::os::raw::c_int;

/// The traits of this module.
pub mod traits {
    pub use super::{AnyCommunicator, AsCommunicator, Communicator, Group};
}
