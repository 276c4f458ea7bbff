//! Virtual topologies: neighbours of the ranks of a communicator.

use super::cartesian::CartesianCommunicator;
use super::simple::SimpleCommunicator;

/// Kind of virtual topology of a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// A graph.
    Graph,
    /// A grid.
    Cartesian,
    /// A graph of which each rank knows a part.
    DistributedGraph,
    /// No topology.
    Undefined,
}

impl SimpleCommunicator {
    /// Returns the kind of virtual topology: `Cartesian`, `DistributedGraph`, or `Undefined` if the
    /// communicator has neither. Never returns `Graph`.
    pub fn topology(&self) -> Topology {
        match (&self.0.0.grid, &self.0.0.graph) {
            (Some(_), _) => Topology::Cartesian,
            (None, Some(_)) => Topology::DistributedGraph,
            (None, None) => Topology::Undefined,
        }
    }

    /// Converts the communicator to the type of its virtual topology. A communicator with a grid
    /// becomes `Cartesian`. Any other becomes `Undefined`, even with a distributed graph, because
    /// that type is not implemented.
    pub fn into_topology(self) -> IntoTopology {
        match self.topology() {
            Topology::Cartesian => IntoTopology::Cartesian(CartesianCommunicator(self)),
            _ => IntoTopology::Undefined(self),
        }
    }
}

/// A communicator whose ranks form a graph. Not implemented: no call returns a value of this type.
#[derive(Debug)]
#[allow(missing_copy_implementations)]
pub struct GraphCommunicator;

/// A communicator whose ranks form a graph, of which each rank knows a part. Not implemented: no
/// call returns a value of this type.
#[derive(Debug)]
#[allow(missing_copy_implementations)]
pub struct DistributedGraphCommunicator;

/// A communicator, by its virtual topology.
pub enum IntoTopology {
    /// A graph.
    Graph(GraphCommunicator),
    /// A grid.
    Cartesian(CartesianCommunicator),
    /// A graph of which each rank knows a part.
    DistributedGraph(DistributedGraphCommunicator),
    /// No topology.
    Undefined(SimpleCommunicator),
}
