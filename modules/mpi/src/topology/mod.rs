//! Communicators: who sends messages to whom.

mod cartesian;
mod communicator;
mod group;
mod intercommunicator;
mod process;
mod simple;

pub use cartesian::{CartesianCommunicator, CartesianLayout};
pub use communicator::{
    AnyCommunicator, AsCommunicator, Color, Communicator, CommunicatorRelation, Key, Topology,
};
pub use group::{Group, GroupRelation, SystemGroup, UserGroup};
pub use intercommunicator::{InterCommunicator, MergeOrder};
pub use process::{AnyProcess, Process};
pub use simple::{
    DistributedGraphCommunicator, GraphCommunicator, IntoTopology, SimpleCommunicator,
};

/// The number of a process in a communicator, from 0.
pub type Rank = std::os::raw::c_int;

/// The traits of this module.
pub mod traits {
    pub use super::{AnyCommunicator, AsCommunicator, Communicator, Group};
}
