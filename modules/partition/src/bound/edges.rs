//! The edges of a network, with one number for both directions of an edge.

use crate::instance::Instance;

/// Edges by number, and the edges of each vertex.
#[derive(Debug)]
pub(crate) struct Edges {
    /// Both ends of each edge, the smaller one first.
    pub(crate) ends: Vec<(u32, u32)>,
    pub(crate) weight: Vec<i64>,
    first: Vec<u32>,
    near: Vec<(u32, u32)>,
}

impl Edges {
    pub(crate) fn new(inst: &Instance) -> Self {
        let n = inst.len();
        let mut edges = Self {
            ends: Vec::with_capacity(inst.arcs() / 2),
            weight: Vec::with_capacity(inst.arcs() / 2),
            first: vec![0],
            near: Vec::with_capacity(inst.arcs()),
        };
        // An edge to an earlier vertex got its number at that vertex.
        let mut known: Vec<Vec<(u32, u32)>> = vec![Vec::new(); n];
        for v in 0..n as u32 {
            edges.near.append(&mut known[v as usize]);
            for (u, weight) in inst.row(v).filter(|e| e.0 > v && e.1 > 0) {
                let number = edges.ends.len() as u32;
                known[u as usize].push((v, number));
                edges.near.push((u, number));
                edges.ends.push((v, u));
                edges.weight.push(weight);
            }
            edges.first.push(edges.near.len() as u32);
        }
        edges
    }

    /// Returns the neighbours of a vertex, each with the number of the edge. Edges without positive
    /// weight are omitted.
    pub(crate) fn of(&self, v: u32) -> &[(u32, u32)] {
        &self.near[self.first[v as usize] as usize..self.first[v as usize + 1] as usize]
    }
}
