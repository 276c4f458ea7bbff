//! A bound on all cuts from a few hubs, which are adjacent to a large part of the network. An
//! example is a farm of modules, whose source and sink each have a channel to every module.
//!
//! A hub sends `load(u)` along a breadth-first tree to every vertex `u` that is not a hub. Its
//! group keeps no more than its capacity, and the rest crosses the cut. This is the first round of
//! [`super::flow`] without a search for paths, so it takes linear time. The flow of a tree does not
//! depend on the level. Only the part of it that must cross the cut does.

use crate::instance::Instance;
use crate::tuning::bounds::{HUB, HUB_LEAST, HUBS};

/// Relative bound on rounding errors. It is far above the possible error, because sums have few
/// terms and are exact before they are weighted.
const ROUNDED: f64 = 1e-12;

/// Sums of the flows of the first one, two and more hubs.
pub(crate) struct Hubs(Vec<Sum>);

struct Sum {
    /// Factor of the flow of the last of these hubs.
    amount: f64,
    /// Load that this hub reaches, its own included.
    reached: i64,
    /// Largest total flow over an edge, relative to its weight.
    fullest: f64,
}

impl Hubs {
    pub(crate) fn new(inst: &Instance) -> Self {
        let n = inst.len();
        let is_hub = |&v: &u32| n >= HUB_LEAST && inst.degree(v) * HUB >= n;
        let mut hubs: Vec<u32> = (0..n as u32).filter(is_hub).collect();
        hubs.sort_by_key(|&v| (std::cmp::Reverse(inst.degree(v)), v));
        hubs.truncate(HUBS);
        if hubs.is_empty() {
            return Self(Vec::new());
        }
        let mut flow = vec![0.0; inst.arcs()];
        let mut fullest = 0.0_f64;
        let one = |&hub| {
            let tree = Tree::new(inst, hub, &hubs);
            let full =
                |&(edge, load): &(u32, i64)| load as f64 / inst.weights[edge as usize] as f64;
            let tight = tree.edges.iter().map(full).fold(0.0, f64::max);
            let amount = if tight > 0.0 { 1.0 / tight } else { 0.0 };
            // Flows only grow, and an edge whose flow did not change is no fuller than before.
            for &(edge, load) in &tree.edges {
                let flow = &mut flow[edge as usize];
                *flow += amount * load as f64;
                if *flow > 0.0 {
                    fullest = fullest.max(*flow / inst.weights[edge as usize] as f64);
                }
            }
            Sum {
                amount,
                reached: tree.reached,
                fullest,
            }
        };
        Self(hubs.iter().map(one).collect())
    }

    /// Returns a lower bound on the traffic between groups with a load of at most `most`. It is 0
    /// if there are no hubs.
    pub(crate) fn cut(&self, most: i64) -> i64 {
        let (mut crossing, mut best) = (0.0, 0.0_f64);
        for sum in self.0.iter().filter(|s| s.fullest > 0.0) {
            crossing += sum.amount * (sum.reached - most).max(0) as f64;
            best = best.max(crossing / sum.fullest);
        }
        // Rounded up, because a cut is an integer.
        (best * (1.0 - ROUNDED)).ceil() as i64
    }
}

/// Breadth-first tree of one hub.
struct Tree {
    /// Edges, each with the load behind it. An edge is identified by one of its two indices in the
    /// rows, which is the same for every tree.
    edges: Vec<(u32, i64)>,
    reached: i64,
}

impl Tree {
    /// Builds the tree of `hub` along edges with positive weight. `hubs` must contain `hub`. The
    /// tree does not contain the other hubs, because the flows of two hubs would meet there.
    fn new(inst: &Instance, hub: u32, hubs: &[u32]) -> Self {
        const NONE: u32 = u32::MAX;
        // Vertices in the order in which they are reached, each with the index of its parent in
        // this list.
        let mut nodes = vec![(hub, NONE, NONE)];
        let mut seen = vec![false; inst.len()];
        hubs.iter().for_each(|&h| seen[h as usize] = true);
        let mut next = 0;
        // Stop early, because in a dense network the first few vertices reach all others.
        let most = inst.len() + 1 - hubs.len();
        while let Some(&(v, ..)) = nodes.get(next).filter(|_| nodes.len() < most) {
            for (u, w) in inst.row(v) {
                if w > 0 && !std::mem::replace(&mut seen[u as usize], true) {
                    nodes.push((u, next as u32, edge(inst, v, u)));
                }
            }
            next += 1;
        }
        let mut behind: Vec<i64> = nodes.iter().map(|n| inst.load(n.0)).collect();
        for at in (1..nodes.len()).rev() {
            behind[nodes[at].1 as usize] += behind[at];
        }
        let edges = nodes.iter().zip(&behind).skip(1);
        Self {
            edges: edges.map(|(n, &load)| (n.2, load)).collect(),
            reached: behind[0],
        }
    }
}

/// Returns the index of the edge between `a` and `b` in the row of the end with fewer neighbours,
/// or of the smaller end if both have as many. Panics if there is no such edge.
fn edge(inst: &Instance, a: u32, b: u32) -> u32 {
    let (short, other) = if (inst.degree(a), a) < (inst.degree(b), b) {
        (a, b)
    } else {
        (b, a)
    };
    let start = inst.offsets[short as usize];
    let at = inst.row(short).position(|e| e.0 == other);
    start + at.expect("each edge stands at both of its ends") as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::{Channel, Graph, Machine, Problem};

    fn instance(load: Vec<u64>, channels: &[Channel]) -> Instance {
        let graph = Graph::new(load, channels).unwrap();
        let machine = Machine::regular(&[(4, 1)]).unwrap();
        Instance::new(&Problem::new(&graph, &machine)).unwrap().0
    }

    fn channel(from: u32, to: u32, traffic: u64) -> Channel {
        Channel { from, to, traffic }
    }

    #[test]
    fn cut_of_a_farm_of_modules_is_exact() {
        // Vertex 0 is the source and vertex 1 the sink. Modules of four processes of load 1 are on
        // paths between them.
        let modules = 100;
        let mut channels = Vec::new();
        for m in 0..modules {
            let at = 2 + 4 * m;
            channels.push(channel(0, at, 1));
            channels.extend((at..at + 3).map(|v| channel(v, v + 1, 20)));
            channels.push(channel(at + 3, 1, 2));
        }
        let inst = instance(vec![1; 2 + 4 * modules as usize], &channels);
        let hubs = Hubs::new(&inst);
        // A group of 102 contains the source, the sink and 25 modules. Each other module costs 3.
        assert_eq!(hubs.cut(102), 75 * 3);
        assert_eq!(hubs.cut(402), 0);
    }

    #[test]
    fn no_cut_around_hubs_is_smaller() {
        let mut random = Random::new(9);
        let mut nonzero = 0;
        for _ in 0..200 {
            let n = HUB_LEAST as u32 + random.below(40) as u32;
            let load = (0..n).map(|_| random.below(4) as u64).collect();
            let mut channels = Vec::new();
            for v in 2..n {
                let mut to = |u, most| channels.push(channel(v, u, random.below(most) as u64));
                to(v % 2, 9);
                to(v - 1, 9);
            }
            let inst = instance(load, &channels);
            let hubs = Hubs::new(&inst);
            // Various groups: runs of the order, random vertices, or all vertices beside one of two
            // hubs.
            let groups = 2 + random.below(4) as u32;
            let run = n.div_ceil(groups);
            let group: Vec<u32> = match random.below(3) {
                0 => (0..n).map(|v| v / run).collect(),
                1 => (0..n)
                    .map(|_| random.below(groups as usize) as u32)
                    .collect(),
                _ => (0..n).map(|v| v % 2).collect(),
            };
            let mut held = vec![0; groups as usize];
            (0..n).for_each(|v| held[group[v as usize] as usize] += inst.load(v));
            let mut cut = 0;
            for v in 0..n {
                let away = inst
                    .row(v)
                    .filter(|e| group[e.0 as usize] != group[v as usize]);
                cut += away.map(|e| e.1).sum::<i64>();
            }
            let cut = cut / 2;
            let most = held.iter().copied().max().unwrap_or(0);
            let bound = hubs.cut(most);
            assert!(bound <= cut, "{bound} > {cut}");
            nonzero += usize::from(bound > 0);
        }
        assert!(nonzero > 100, "{nonzero}");
    }
}
