//! How the ranks of a communicator are neighbours: MPI's virtual topologies.

use super::cartesian::CartesianCommunicator;
use super::simple::SimpleCommunicator;

/// How ranks of a communicator are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// A graph.
    Graph,
    /// A grid.
    Cartesian,
    /// A graph that each rank knows a part of.
    DistributedGraph,
    /// It is not said.
    Undefined,
}

impl SimpleCommunicator {
    /// How its ranks are neighbours.
    pub fn topology(&self) -> Topology {
        match (&self.0.0.grid, &self.0.0.graph) {
            (Some(_), _) => Topology::Cartesian,
            (None, Some(_)) => Topology::DistributedGraph,
            (None, None) => Topology::Undefined,
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
