//! Parts of a scope that no line joins.

/// Disjoint sets of nodes.
pub(super) struct Parts {
    parent: Vec<usize>,
}

impl Parts {
    /// Returns one set for each node.
    pub(super) fn new(nodes: usize) -> Parts {
        Parts {
            parent: (0..nodes).collect(),
        }
    }

    /// Returns the smallest node of the set of a node.
    pub(super) fn root(&mut self, mut node: usize) -> usize {
        while self.parent[node] != node {
            self.parent[node] = self.parent[self.parent[node]];
            node = self.parent[node];
        }
        node
    }

    /// Joins the sets of two nodes. Returns false if they are in the same set.
    pub(super) fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
        a != b
    }
}
