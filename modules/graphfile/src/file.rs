//! A graph that was read, and what both languages say of graphs.

use graphmap_partition::Graph;

/// A graph that was read.
#[derive(Clone, Debug)]
pub struct GraphFile {
    /// The graph; its vertices are counted from 0, in the order of the file.
    pub graph: Graph,
    pub(crate) names: Names,
}

/// What the file calls its vertices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Numbers from this one on.
    From(u32),
    /// A label each.
    Labels(Vec<u32>),
}

impl GraphFile {
    /// What the file calls a vertex.
    ///
    /// # Panics
    /// When the graph has no such vertex.
    #[must_use]
    pub fn name(&self, vertex: u32) -> u64 {
        assert!((vertex as usize) < self.graph.vertices(), "no such vertex");
        match &self.names {
            Names::From(base) => u64::from(*base) + u64::from(vertex),
            Names::Labels(labels) => u64::from(labels[vertex as usize]),
        }
    }
}

/// "1 vertex", "7 vertices".
pub(crate) fn vertices(count: u64) -> String {
    match count {
        1 => "1 vertex".to_owned(),
        n => format!("{n} vertices"),
    }
}

/// "1 edge", "7 edges".
pub(crate) fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// Whether any vertex, and any edge, weighs something else than 1.
pub(crate) fn weighted(graph: &Graph) -> (bool, bool) {
    let mut vertices = 0..graph.vertices() as u32;
    let loads = vertices.clone().any(|v| graph.load(v) != 1);
    let edges = vertices.any(|v| graph.neighbours(v).any(|(_, weight)| weight != 1));
    (loads, edges)
}
