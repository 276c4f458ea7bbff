//! A bound on all cuts from the few vertices that everything hangs on: the source and the sink of a
//! farm of modules, say, with a channel to each module.
//!
//! A hub sends `load(u)` to every vertex `u` that is no hub, along a tree of fewest hops. Its group keeps no
//! more than it can hold, the rest crosses the cut: the argument of [`super::flow`], of which this is
//! the first round, without a search for paths, so that it takes linear time. What a tree carries
//! does not depend on the level, only how much of it must cross does.

use crate::instance::Instance;
use crate::tuning::bounds::{HUB, HUB_LEAST, HUBS};

/// What rounding may have cost, far beyond what it can: sums are of a few terms, and exact before
/// they are weighted.
const ROUNDED: f64 = 1e-12;

/// The flows of the first one, two, ... hubs together.
pub(crate) struct Hubs(Vec<Sum>);

struct Sum {
    /// By how much the flow of the last of the hubs was multiplied.
    amount: f64,
    /// The load that this hub reaches, its own included.
    reached: i64,
    /// Largest flow over an edge, all hubs together, relative to its weight.
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
            // Flows only grow: those that did not are no fuller than before.
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

    /// Least traffic between groups of load `most` at most.
    pub(crate) fn cut(&self, most: i64) -> i64 {
        let (mut crossing, mut best) = (0.0, 0.0_f64);
        for sum in self.0.iter().filter(|s| s.fullest > 0.0) {
            crossing += sum.amount * (sum.reached - most).max(0) as f64;
            best = best.max(crossing / sum.fullest);
        }
        // A cut is a whole number.
        (best * (1.0 - ROUNDED)).ceil() as i64
    }
}

/// The paths of one hub.
struct Tree {
    /// Edges, each by one of its two places in the rows, the same for every tree, with the load
    /// behind it.
    edges: Vec<(u32, i64)>,
    reached: i64,
}

impl Tree {
    /// Not to other hubs and not through them, where the flows of two would meet.
    fn new(inst: &Instance, hub: u32, hubs: &[u32]) -> Self {
        const NONE: u32 = u32::MAX;
        // Vertices in the order in which they are reached, each with the place of its parent there.
        let mut nodes = vec![(hub, NONE, NONE)];
        let mut seen = vec![false; inst.len()];
        hubs.iter().for_each(|&h| seen[h as usize] = true);
        let mut next = 0;
        // In a dense network all are reached from the first few.
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

/// The place of an edge in the row of its end with fewer neighbours.
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
    fn of_a_farm_of_modules_the_cut_is_known() {
        // Source 0 and sink 1; modules of four processes of load 1 on a path between them.
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
        // A group of 102 holds source, sink and 25 modules; each other module costs 1 + 2.
        assert_eq!(hubs.cut(102), 75 * 3);
        assert_eq!(hubs.cut(402), 0);
    }

    #[test]
    fn no_cut_around_hubs_is_smaller() {
        let mut random = Random::new(9);
        let mut tells = 0;
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
            // Groups of any kind: runs of the order, vertices at random, all beside a hub.
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
            tells += usize::from(bound > 0);
        }
        assert!(tells > 100, "{tells}");
    }
}
