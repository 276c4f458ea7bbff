//! Network simplex (Gansner, Koutsofios, North and Vo, "A technique for drawing directed graphs",
//! 1993): integer positions of nodes that minimize the weighted length of all edges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A constraint: the position of `head` is at least the position of `tail` plus `length`. The excess costs
/// `weight` for each unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// The node with the smaller position.
    pub(super) tail: usize,
    /// The node with the larger position.
    pub(super) head: usize,
    /// Least distance, not negative.
    pub(super) length: i64,
    /// Cost of each unit of length, not negative.
    pub(super) weight: i64,
}

/// Number of edges with a negative cut value among which a pivot chooses.
const CANDIDATES: usize = 30;
/// No edge: the parent edge of the root.
const NONE: usize = usize::MAX;

/// Returns positions that satisfy all edges. They are optimal if the search ends within `work`
/// visits of nodes and edges. The smallest position is 0.
///
/// The edges must not have a cycle.
pub(super) fn positions(nodes: usize, edges: &[Edge], work: usize) -> Vec<i64> {
    let outgoing = Incident::new(nodes, edges, |e| e.tail);
    let initial = longest_paths(nodes, edges, &outgoing);
    improved(initial, edges, work)
}

/// Like [`positions`], from initial positions that satisfy all edges.
pub(super) fn improved(initial: Vec<i64>, edges: &[Edge], work: usize) -> Vec<i64> {
    if initial.is_empty() {
        return initial;
    }
    let mut all = edges.to_vec();
    connect(&initial, &mut all);
    let mut tree = Tree::new(initial, all);
    tree.run(work);
    let least = tree.position.iter().copied().min().unwrap_or(0);
    tree.position.iter().map(|p| p - least).collect()
}

/// Adds edges without weight between the first nodes of unconnected parts.
fn connect(initial: &[i64], edges: &mut Vec<Edge>) {
    let nodes = initial.len();
    let mut parts = super::parts::Parts::new(nodes);
    for edge in edges.iter() {
        parts.join(edge.tail, edge.head);
    }
    for node in 1..nodes {
        if parts.join(0, node) {
            let (tail, head) = if initial[0] <= initial[node] {
                (0, node)
            } else {
                (node, 0)
            };
            edges.push(Edge {
                tail,
                head,
                length: 0,
                weight: 0,
            });
        }
    }
}

/// Edges of each node, by index.
struct Incident {
    first: Vec<usize>,
    edges: Vec<usize>,
}

impl Incident {
    fn new(nodes: usize, edges: &[Edge], end: impl Fn(&Edge) -> usize) -> Incident {
        let mut first = vec![0; nodes + 1];
        for edge in edges {
            first[end(edge) + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut sorted = vec![0; edges.len()];
        for (i, edge) in edges.iter().enumerate() {
            sorted[next[end(edge)]] = i;
            next[end(edge)] += 1;
        }
        Incident {
            first,
            edges: sorted,
        }
    }

    fn of(&self, node: usize) -> &[usize] {
        &self.edges[self.first[node]..self.first[node + 1]]
    }
}

/// A spanning tree of tight edges, and the positions that it determines.
struct Tree {
    edges: Vec<Edge>,
    outgoing: Incident,
    incoming: Incident,
    position: Vec<i64>,
    /// Tree edges of each node.
    joined: Vec<Vec<usize>>,
    /// Tree edge to the parent. [`NONE`] for the root.
    parent: Vec<usize>,
    /// Nodes in postorder.
    order: Vec<usize>,
    /// Index of each node in `order`.
    last: Vec<usize>,
    /// Index in `order` of the first node of each subtree.
    first: Vec<usize>,
    /// Weight of the edges that leave each subtree, less the weight of edges that enter it.
    surplus: Vec<i64>,
    /// Weight of the edges that leave each node, less the weight of edges that enter it.
    balance: Vec<i64>,
}

impl Tree {
    fn new(position: Vec<i64>, edges: Vec<Edge>) -> Tree {
        let nodes = position.len();
        let outgoing = Incident::new(nodes, &edges, |e| e.tail);
        let incoming = Incident::new(nodes, &edges, |e| e.head);
        let mut balance = vec![0; nodes];
        for edge in &edges {
            balance[edge.tail] += edge.weight;
            balance[edge.head] -= edge.weight;
        }
        let mut tree = Tree {
            position,
            edges,
            outgoing,
            incoming,
            joined: vec![Vec::new(); nodes],
            parent: vec![NONE; nodes],
            order: vec![0; nodes],
            last: vec![0; nodes],
            first: vec![0; nodes],
            surplus: vec![0; nodes],
            balance,
        };
        tree.grow();
        tree.visit(0, 0);
        tree
    }

    /// Grows a tight tree from node 0. An edge that leads out of the tree and is not tight is made
    /// tight by moving the whole tree. O(E log E).
    fn grow(&mut self) {
        // The tree is moved by changing `shift`. Keys are slacks without it.
        let mut shift = 0;
        let mut grown = vec![false; self.position.len()];
        let mut ahead = BinaryHeap::new();
        let mut behind = BinaryHeap::new();
        let mut added = Some((0, NONE));
        while let Some((node, edge)) = added.take() {
            grown[node] = true;
            self.position[node] -= shift;
            if edge != NONE {
                self.joined[self.edges[edge].tail].push(edge);
                self.joined[self.edges[edge].head].push(edge);
            }
            for &out in self.outgoing.of(node) {
                let Edge { head, length, .. } = self.edges[out];
                if !grown[head] {
                    let key = self.position[head] - self.position[node] - length;
                    ahead.push(Reverse((key, out)));
                }
            }
            for &into in self.incoming.of(node) {
                let Edge { tail, length, .. } = self.edges[into];
                if !grown[tail] {
                    let key = self.position[node] - self.position[tail] - length;
                    behind.push(Reverse((key, into)));
                }
            }
            while let Some(&Reverse((_, edge))) = ahead.peek() {
                if !grown[self.edges[edge].head] {
                    break;
                }
                ahead.pop();
            }
            while let Some(&Reverse((_, edge))) = behind.peek() {
                if !grown[self.edges[edge].tail] {
                    break;
                }
                behind.pop();
            }
            let forth = ahead
                .peek()
                .map(|&Reverse((key, edge))| (key - shift, edge));
            let back = behind
                .peek()
                .map(|&Reverse((key, edge))| (key + shift, edge));
            added = match (forth, back) {
                (Some((slack, edge)), other) if other.is_none_or(|o| slack <= o.0) => {
                    shift += slack;
                    Some((self.edges[edge].head, edge))
                }
                (_, Some((slack, edge))) => {
                    shift -= slack;
                    Some((self.edges[edge].tail, edge))
                }
                (_, None) => None,
            };
        }
        for position in &mut self.position {
            *position += shift;
        }
    }

    fn other(&self, edge: usize, node: usize) -> usize {
        let Edge { tail, head, .. } = self.edges[edge];
        if tail == node { head } else { tail }
    }

    fn slack(&self, edge: usize) -> i64 {
        let Edge {
            tail, head, length, ..
        } = self.edges[edge];
        self.position[head] - self.position[tail] - length
    }

    /// Numbers the subtree of `root` in postorder from index `first`, and sums up its balances.
    /// The parent of `root` must be set.
    fn visit(&mut self, root: usize, first: usize) {
        let mut next = first;
        let mut stack = vec![(root, 0)];
        self.first[root] = first;
        self.surplus[root] = self.balance[root];
        while let Some((node, index)) = stack.last_mut() {
            let node = *node;
            if let Some(&edge) = self.joined[node].get(*index) {
                *index += 1;
                if edge != self.parent[node] {
                    let child = self.other(edge, node);
                    self.parent[child] = edge;
                    self.first[child] = next;
                    self.surplus[child] = self.balance[child];
                    stack.push((child, 0));
                }
            } else {
                self.last[node] = next;
                self.order[next] = node;
                next += 1;
                stack.pop();
                if let Some(&(above, _)) = stack.last() {
                    self.surplus[above] += self.surplus[node];
                }
            }
        }
    }

    /// Returns the cut value of the tree edge from a node to its parent.
    fn cut(&self, node: usize) -> i64 {
        if self.edges[self.parent[node]].tail == node {
            self.surplus[node]
        } else {
            -self.surplus[node]
        }
    }

    fn run(&mut self, work: usize) {
        let nodes = self.position.len();
        let mut done = 0;
        let mut scanned = 0;
        while done < work {
            let mut leaving = None;
            let mut found = 0;
            for _ in 0..nodes {
                let node = scanned;
                scanned = (scanned + 1) % nodes;
                done += 1;
                if self.parent[node] == NONE {
                    continue;
                }
                let cut = self.cut(node);
                if cut < 0 {
                    if leaving.is_none_or(|(least, _)| cut < least) {
                        leaving = Some((cut, node));
                    }
                    found += 1;
                    if found == CANDIDATES {
                        break;
                    }
                }
            }
            let Some((_, node)) = leaving else { return };
            done += self.pivot(node);
        }
    }

    /// Replaces the edge from a node to its parent by the edge with the least slack that crosses
    /// the cut in the other direction. Returns the number of visited nodes and edges.
    fn pivot(&mut self, node: usize) -> usize {
        let nodes = self.position.len();
        let leaving = self.parent[node];
        let (from, to) = (self.first[node], self.last[node] + 1);
        let inside = |other: usize| (from..to).contains(&self.last[other]);
        // If the subtree is the tail of the leaving edge, the entering edge must lead into it.
        let leads_in = self.edges[leaving].tail == node;
        let small = (to - from) * 2 <= nodes;
        let members = || {
            let (a, b, c) = if small {
                (from..to, 0..0, 0..0)
            } else {
                (0..from, to..nodes, 0..0)
            };
            a.chain(b).chain(c)
        };
        let mut work = 0;
        let mut entering: Option<(i64, usize)> = None;
        for index in members() {
            let member = self.order[index];
            let list = if leads_in == small {
                self.incoming.of(member)
            } else {
                self.outgoing.of(member)
            };
            work += 1 + list.len();
            for &edge in list {
                if inside(self.other(edge, member)) != small {
                    let slack = self.slack(edge);
                    if entering.is_none_or(|best| (slack, edge) < best) {
                        entering = Some((slack, edge));
                    }
                }
            }
        }
        // The graph is connected and the cut value negative, so an edge exists.
        let Some((slack, edge)) = entering else {
            return nodes;
        };
        let move_by = if leads_in == small { -slack } else { slack };
        for index in members() {
            self.position[self.order[index]] += move_by;
        }
        let Edge { tail, head, .. } = self.edges[edge];
        let (mut top, low, high) = (
            tail,
            self.last[tail].min(self.last[head]),
            self.last[tail].max(self.last[head]),
        );
        while self.parent[top] != NONE && !(self.first[top] <= low && high <= self.last[top]) {
            top = self.other(self.parent[top], top);
            work += 1;
        }
        let Edge {
            tail: old_tail,
            head: old_head,
            ..
        } = self.edges[leaving];
        for end in [old_tail, old_head] {
            self.joined[end].retain(|&e| e != leaving);
        }
        self.joined[tail].push(edge);
        self.joined[head].push(edge);
        work += self.last[top] - self.first[top];
        self.visit(top, self.first[top]);
        work
    }
}

/// Returns the smallest positions that satisfy all edges. Nodes on cycles stay at 0.
fn longest_paths(nodes: usize, edges: &[Edge], outgoing: &Incident) -> Vec<i64> {
    let mut position = vec![0; nodes];
    let mut missing = vec![0_usize; nodes];
    for edge in edges {
        missing[edge.head] += 1;
    }
    let mut ready: Vec<usize> = (0..nodes).filter(|&n| missing[n] == 0).collect();
    while let Some(node) = ready.pop() {
        for &edge in outgoing.of(node) {
            let Edge { head, length, .. } = edges[edge];
            position[head] = position[head].max(position[node] + length);
            missing[head] -= 1;
            if missing[head] == 0 {
                ready.push(head);
            }
        }
    }
    position
}

#[cfg(test)]
mod tests {
    use super::{Edge, positions};
    use proptest::prelude::*;

    fn cost(edges: &[Edge], position: &[i64]) -> Option<i64> {
        let slack = |e: &Edge| position[e.head] - position[e.tail] - e.length;
        let feasible = edges.iter().all(|e| slack(e) >= 0);
        feasible.then(|| edges.iter().map(|e| e.weight * slack(e)).sum())
    }

    proptest! {
        #[test]
        fn no_positions_are_better(
            drawn in prop::collection::vec((0..5_usize, 0..5_usize, 0..2_i64, 0..4_i64), 0..9)
        ) {
            let edges: Vec<Edge> = drawn
                .iter()
                .filter(|e| e.0 != e.1)
                .map(|&(a, b, length, weight)| Edge {
                    tail: a.min(b),
                    head: a.max(b),
                    length,
                    weight,
                })
                .collect();
            let found = cost(&edges, &positions(5, &edges, 1_000_000));
            // No path is longer than 4.
            let all = (0..5_i64.pow(5)).filter_map(|code| {
                let position: Vec<i64> = (0..5).map(|i| code / 5_i64.pow(i) % 5).collect();
                cost(&edges, &position)
            });
            prop_assert_eq!(found, all.min());
        }
    }
}
