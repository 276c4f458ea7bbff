//! The graph of a file, and functions that both formats share.

use graphmap_partition::Graph;

/// A graph that was read from a file.
#[derive(Clone, Debug)]
pub struct GraphFile {
    /// The graph. Its vertices are counted from 0, in the order of the file.
    pub graph: Graph,
    pub(crate) names: Names,
}

/// Names of the vertices in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Consecutive numbers from this one.
    From(u32),
    /// A label for each vertex.
    Labels(Vec<u32>),
}

impl GraphFile {
    /// Returns the name of a vertex in the file: its number as counted there, or its label.
    /// `vertex` is counted from 0.
    ///
    /// # Panics
    /// Panics if the graph has no such vertex.
    #[must_use]
    pub fn name(&self, vertex: u32) -> u64 {
        assert!((vertex as usize) < self.graph.vertices(), "no such vertex");
        match &self.names {
            Names::From(base) => u64::from(*base) + u64::from(vertex),
            Names::Labels(labels) => u64::from(labels[vertex as usize]),
        }
    }
}

/// Returns a number of vertices with the noun: "1 vertex", "7 vertices".
pub(crate) fn vertices(count: u64) -> String {
    match count {
        1 => "1 vertex".to_owned(),
        n => format!("{n} vertices"),
    }
}

/// Returns a number with the noun `what`: "1 edge", "7 edges". The plural gets an `s`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// Returns whether any vertex has a weight other than 1, and whether any edge has.
pub(crate) fn weighted(graph: &Graph) -> (bool, bool) {
    let mut vertices = 0..graph.vertices() as u32;
    let loads = vertices.clone().any(|v| graph.load(v) != 1);
    let edges = vertices.any(|v| graph.neighbours(v).any(|(_, weight)| weight != 1));
    (loads, edges)
}
