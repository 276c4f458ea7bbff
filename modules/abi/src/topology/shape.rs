//! Topologies of communicators, as values.

use std::ffi::c_int;

use graphmap_runtime::mpi::Grid;

/// An edge of a rank: the other rank, and a label that distinguishes edges of the same ranks.
/// `None` beyond the border of a grid.
pub(crate) type Edge = Option<(usize, u32)>;

/// Weights of the sources and of the destinations.
pub(crate) type Weights = (Vec<c_int>, Vec<c_int>);

/// Topology of a communicator, as seen by one of its ranks.
#[derive(Debug)]
pub(crate) struct Topology {
    pub(crate) kind: Kind,
    pub(crate) sources: Vec<Edge>,
    pub(crate) destinations: Vec<Edge>,
    /// Indices of the sources that exist, in the order of ranks and labels.
    pub(crate) arrivals: Vec<usize>,
}

/// Kind of a topology, with the results of the calls of that kind.
#[derive(Debug)]
pub(crate) enum Kind {
    Cart(Grid),
    /// Ends of the lists of neighbours of the nodes, and these lists.
    Graph(Vec<c_int>, Vec<c_int>),
    /// The weights, if the graph is weighted.
    Dist(Option<Weights>),
}

impl Topology {
    pub(crate) fn new(kind: Kind, sources: Vec<Edge>, destinations: Vec<Edge>) -> Self {
        let existing = (0..sources.len()).filter(|&index| sources[index].is_some());
        let mut arrivals: Vec<usize> = existing.collect();
        arrivals.sort_by_key(|&index| sources[index]);
        Topology {
            kind,
            sources,
            destinations,
            arrivals,
        }
    }

    /// Creates the topology of a rank of a grid. The neighbours are the previous and the next rank
    /// in each dimension. The label is the direction from which data arrives, so that the two
    /// neighbours are distinguished even if both are the same rank.
    pub(crate) fn cart(grid: Grid, rank: usize) -> Self {
        let (mut sources, mut destinations) = (Vec::new(), Vec::new());
        for (dimension, label) in (0..grid.dims().len()).zip((0..).step_by(2)) {
            let (before, behind) = grid.shift(rank, dimension, 1).unwrap_or_default();
            let edge = |rank: Option<usize>, label: u32| rank.map(|rank| (rank, label));
            sources.extend([edge(before, label), edge(behind, label + 1)]);
            destinations.extend([edge(before, label + 1), edge(behind, label)]);
        }
        Topology::new(Kind::Cart(grid), sources, destinations)
    }

    /// Creates the topology of a rank of a graph.
    pub(crate) fn graph(ends: &[c_int], edges: &[c_int], rank: usize) -> Self {
        let neighbours = unlabelled(neighbours(ends, edges, rank));
        let kind = Kind::Graph(ends.to_vec(), edges.to_vec());
        Topology::new(kind, neighbours.clone(), neighbours)
    }
}

/// Returns the edges to ranks that are not negative.
pub(crate) fn unlabelled(ranks: &[c_int]) -> Vec<Edge> {
    ranks.iter().map(|&rank| Some((rank as usize, 0))).collect()
}

/// Returns the neighbours of a node of a graph.
pub(crate) fn neighbours<'a>(ends: &[c_int], edges: &'a [c_int], node: usize) -> &'a [c_int] {
    let begin = node.checked_sub(1).map_or(0, |before| ends[before]);
    &edges[begin as usize..ends[node] as usize]
}
