//! Conversions between networks and graphs of [petgraph](https://docs.rs/petgraph).

use crate::builder::{Builder, Node};
use graphmap_kpn::network::{ChannelId, Network, ProcessId};
use petgraph::Directed;
use petgraph::graph::{DiGraph, EdgeIndex, Graph, IndexType, NodeIndex};
use petgraph::visit::EdgeRef;

/// Returns the graph of a network: a node for each process, an edge for each channel.
///
/// The index of a node is the rank of its process. The index of an edge is the index of its
/// channel, in source order.
pub fn to_graph(network: &Network) -> DiGraph<ProcessId, ChannelId> {
    let mut graph = DiGraph::with_capacity(network.processes.len(), network.channels.len());
    let nodes: Vec<NodeIndex> = network
        .processes
        .ids()
        .map(|id| graph.add_node(id))
        .collect();
    let node = |process: ProcessId| nodes[graphmap_kpn::arena::Id::index(process)];
    for channel in network.channels.ids() {
        let (writer, reader) = (network.writer(channel), network.reader(channel));
        graph.add_edge(node(writer), node(reader), channel);
    }
    graph
}

/// Declares a network that has the shape of a graph.
///
/// `process` is called for each node in ascending order and declares its process. `channel` is then
/// called for each edge in ascending order, with the processes at its ends, and declares its
/// channel.
///
/// ```
/// # fn main() -> Result<(), graphmap::Error> {
/// use petgraph::graph::DiGraph;
///
/// let mut graph = DiGraph::new();
/// let nodes: Vec<_> = ["first", "second", "third"].map(|name| graph.add_node(name)).into();
/// graph.add_edge(nodes[0], nodes[1], 4);
/// graph.add_edge(nodes[1], nodes[2], 1);
/// let builder = graphmap::petgraph::from_graph(
///     "line",
///     &graph,
///     |builder, _, name| builder.process(name),
///     |builder, _, &capacity, from, to| {
///         builder.channel(from.port("out"), to.port("in")).ty("u64").capacity(capacity);
///     },
/// );
/// let network = graphmap::check(builder)?;
/// assert_eq!((network.processes.len(), network.channels.len()), (3, 2));
/// # Ok(())
/// # }
/// ```
pub fn from_graph<N, E, Ix: IndexType>(
    name: impl Into<String>,
    graph: &Graph<N, E, Directed, Ix>,
    mut process: impl FnMut(&mut Builder, NodeIndex<Ix>, &N) -> Node,
    mut channel: impl FnMut(&mut Builder, EdgeIndex<Ix>, &E, Node, Node),
) -> Builder {
    let mut builder = Builder::new(name);
    let indices = graph.node_indices();
    let nodes: Vec<Node> = indices
        .map(|index| process(&mut builder, index, &graph[index]))
        .collect();
    for edge in graph.edge_references() {
        let [from, to] = [edge.source(), edge.target()].map(|end| nodes[end.index()]);
        channel(&mut builder, edge.id(), edge.weight(), from, to);
    }
    builder
}
