//! Cycles of channels, and conversions from and to graphs of petgraph, which is the oracle.

use crate::common::Test;
use graphmap::kpn::arena::Id;
use graphmap::kpn::cycles::{Cycle, cycles};
use graphmap::kpn::network::Network;
use graphmap::petgraph::{from_graph, to_graph};
use graphmap::{Builder, Verified};
use petgraph::algo::{dijkstra, is_cyclic_directed, tarjan_scc};
use petgraph::graph::DiGraph;
use petgraph::visit::EdgeRef;
use proptest::collection::vec;
use proptest::prelude::*;
use std::fs;

/// Returns a network with a process for each node and a channel for each edge. An edge of weight 0
/// has a token at the start.
fn network_of(graph: &DiGraph<(), u32>) -> Verified {
    let mut ports = 0..;
    let builder = from_graph(
        "random",
        graph,
        // The letter after the number makes each process a kind of its own.
        |builder, node, ()| builder.process(&format!("n{}p", node.index())),
        |builder, _, &weight, from, to| {
            let port = ports.next().unwrap();
            let (out, input) = (format!("o{port}"), format!("i{port}"));
            builder
                .channel(from.port(out), to.port(input))
                .capacity(weight + 1)
                .initial(u32::from(weight == 0));
        },
    );
    graphmap::check(builder).unwrap().value
}

fn index(id: impl Id) -> usize {
    id.index()
}

/// Asserts that a cycle is closed, begins at its first process, and is a shortest cycle through one
/// of its channels.
fn assert_shortest(network: &Network, graph: &DiGraph<impl Sized, impl Sized>, cycle: &Cycle) {
    let channels = &cycle.channels;
    let next = channels.iter().cycle().skip(1);
    for (channel, next) in channels.iter().zip(next) {
        assert_eq!(network.reader(*channel), network.writer(*next));
    }
    let first = network.writer(channels[0]);
    assert!(channels.iter().all(|&id| first <= network.writer(id)));
    let is_shortest = channels.iter().any(|&id| {
        let edge = graph.edge_references().nth(index(id)).unwrap();
        let back = dijkstra(graph, edge.target(), Some(edge.source()), |_| 1);
        back[&edge.source()] + 1 == channels.len()
    });
    assert!(is_shortest, "{channels:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn cycles_are_those_of_the_strongly_connected_components(
        nodes in 1..12_usize,
        edges in vec((0..12_u32, 0..12_u32, 0..3_u32), 0..30),
    ) {
        let nodes = nodes as u32;
        let mut graph = DiGraph::from_edges(
            edges.iter().map(|&(from, to, weight)| (from % nodes, to % nodes, weight)),
        );
        while graph.node_count() < nodes as usize {
            graph.add_node(());
        }
        let network = network_of(&graph);
        let found = cycles(&network);
        prop_assert_eq!(!found.is_empty(), is_cyclic_directed(&graph));
        for cycle in &found {
            assert_shortest(&network, &graph, cycle);
            let weights = cycle.channels.iter().map(|&id| {
                graph.edge_weights().nth(index(id)).unwrap()
            });
            prop_assert_eq!(cycle.initial(&network), weights.clone().filter(|w| **w == 0).count() as u64);
            prop_assert_eq!(cycle.capacity(&network), weights.map(|w| u64::from(w + 1)).sum::<u64>());
        }
        // Each channel within a component is on a cycle, so each component has a listed cycle.
        for component in tarjan_scc(&graph) {
            let is_on = |cycle: &Cycle| {
                let writer = index(network.writer(cycle.channels[0]));
                component.iter().any(|node| node.index() == writer)
            };
            let is_cyclic = component.len() > 1 || graph.contains_edge(component[0], component[0]);
            prop_assert_eq!(found.iter().any(is_on), is_cyclic);
        }
    }

    #[test]
    fn graphs_of_petgraph_become_networks_and_graphs_again(
        edges in vec((0..12_u32, 0..12_u32, 0..3_u32), 1..30),
    ) {
        let graph = DiGraph::<(), u32>::from_edges(&edges);
        let again = to_graph(&network_of(&graph));
        prop_assert_eq!(graph.node_count(), again.node_count());
        let ends = |from: petgraph::graph::NodeIndex, to: petgraph::graph::NodeIndex| (from, to);
        let one: Vec<_> = graph.edge_references().map(|e| ends(e.source(), e.target())).collect();
        let other: Vec<_> = again.edge_references().map(|e| ends(e.source(), e.target())).collect();
        prop_assert_eq!(one, other);
    }
}

#[test]
fn networks_become_graphs_and_networks_again() {
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/graphs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "dot") {
            continue;
        }
        let network = graphmap::check(graphmap::read(&path).unwrap()).unwrap();
        let graph = to_graph(&network);
        assert_eq!(graph.node_count(), network.processes.len());
        let mut ports = 0..;
        let builder = from_graph(
            "again",
            &graph,
            |builder: &mut Builder, _, &id| {
                builder.process(&format!("{}_", network.process_name(id)))
            },
            |builder, _, _, from, to| {
                let port = ports.next().unwrap();
                let (out, input) = (format!("o{port}"), format!("i{port}"));
                builder.channel(from.port(out), to.port(input));
            },
        );
        let again = to_graph(&graphmap::check(builder).unwrap());
        let ends = |graph: &DiGraph<_, _>| -> Vec<_> {
            let ends = graph.edge_references().map(|e| (e.source(), e.target()));
            ends.collect()
        };
        assert_eq!(ends(&graph), ends(&again), "{}", path.display());
    }
}

#[test]
fn alike_cycles_of_modules_are_listed_once() {
    let text =
        "digraph { subgraph cluster_m { module=m; replicas=1000; a -> b [initial=1]; b -> a; } }";
    let registry = graphmap::Registry::new();
    let network = graphmap::check(registry.read_text("dot", "m.dot", text).unwrap()).unwrap();
    let found = cycles(&network);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].channels.len(), found[0].components), (2, 1000));
    assert_eq!(found[0].initial(&network), 1);
}

#[test]
fn check_lists_cycles_if_asked() {
    let text =
        "digraph {\n  a -> b [capacity=2];\n  b -> a [initial=1];\n  c -> c [src=o, dst=i];\n}\n";
    let test = || Test::new().file("a.dot", text);
    let plain = test().args("check a.dot").run();
    assert!(!plain.stderr().contains("G0322"), "{}", plain.stderr());
    let done = test().args("check a.dot --cycles").run();
    assert!(done.output.status.success());
    for line in [
        "note[G0322]: cycle of 2 processes has 1 token at the start, and room for 3: `a` -> `b` -> `a`",
        " --> a.dot:2:3",
        "`a.out` to `b.in`: capacity 2, 0 tokens at the start",
        "`b.out` to `a.in`: capacity 1, 1 token at the start",
        "note[G0322]: cycle of 1 process starts only if it writes before it reads: `c` -> `c`",
    ] {
        assert!(done.stderr().contains(line), "{line}\n{}", done.stderr());
    }
}
