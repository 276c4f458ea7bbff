//! A bound on a cut by flows: vertices send more than their group can keep.
//!
//! Let `v` send `load(u)` to each `u` of a set `S` around it. At most the capacity `m` of a group
//! stays in the group of `v`. So at least `load(S) - m` must cross the cut, on any paths. Sum such
//! flows over many `v`. If no channel carries more than `c` times its traffic, the traffic cut is
//! at least the sum of all `load(S) - m` divided by `c`.
//!
//! Sets and paths are free to choose. The implementation uses the nearest vertices along shortest
//! paths, under lengths that grow with the flow over a channel. The result is close to the best
//! choice (the dual of the spreading metrics of Even, Naor, Rao and Schieber, 1999, solved as by
//! Garg and Koenemann, 2007). All sums are integers, so the bound is exact even though the lengths
//! are rounded.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::edges::Edges;
use crate::instance::Instance;
use crate::random::Random;
use crate::tuning::bounds::GROWTH;

/// The network, with loads.
pub(crate) struct Flow {
    edges: Edges,
    load: Vec<i64>,
    total: i64,
}

/// Flow per unit of weight that one call of [`Flow::send`] puts on its tightest edge.
const UNIT: i64 = 1 << 32;
/// A number of this many bits times a weight, plus a flow, fits into 128 bits.
const FITS: u32 = 72;

/// Flows sent so far, and the state of the search for more.
struct Flows {
    /// Flow over each edge.
    flow: Vec<i128>,
    /// Part of all flow that must cross the cut.
    sent: i128,
    length: Vec<f64>,
    distance: Vec<f64>,
    /// Vertex and edge before each vertex on its shortest path.
    before: Vec<(u32, u32)>,
    below: Vec<i64>,
    done: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Flow {
    pub(crate) fn new(inst: &Instance) -> Self {
        let load: Vec<i64> = (0..inst.len() as u32).map(|v| inst.load(v)).collect();
        Self {
            edges: Edges::new(inst),
            total: load.iter().sum(),
            load,
        }
    }

    /// Returns a lower bound on the traffic between groups with a load of at most `most`. Returns 0
    /// without edges, or if one group can hold all load.
    ///
    /// Calls `more` at the start and after each flow, with the work done so far. A unit of work is
    /// about one visited edge. The search ends when `more` returns false, or if each connected
    /// component fits into a group.
    pub(crate) fn cut(&self, most: i64, more: &dyn Fn(u64) -> bool) -> i64 {
        let (n, m) = (self.load.len(), self.edges.weight.len());
        if m == 0 || self.total <= most {
            return 0;
        }
        let mut random = Random::new(0);
        let mut flows = Flows {
            flow: vec![0; m],
            sent: 0,
            length: self.edges.weight.iter().map(|&w| 1.0 / w as f64).collect(),
            distance: vec![f64::INFINITY; n],
            before: vec![(0, 0); n],
            below: vec![0; n],
            done: Vec::new(),
            heap: BinaryHeap::new(),
        };
        let mut best = 0;
        let mut order: Vec<u32> = (0..n as u32)
            .filter(|&v| self.load[v as usize] > 0)
            .collect();
        let (mut work, mut next) = (0, 16 * m as u64);
        while more(work) {
            let before = flows.sent;
            random.shuffle(&mut order);
            for &v in &order {
                work += 1 + self.send(v, most, &mut flows);
                if !more(work) {
                    break;
                }
                if work >= next {
                    next = work + work / 3;
                    best = best.max(self.proved(&flows));
                    // The first flows were sent before the bottlenecks were known, so their weight
                    // is reduced again and again.
                    flows.flow.iter_mut().for_each(|f| *f = (*f + 1) / 2);
                    flows.sent /= 2;
                }
            }
            if before == 0 && flows.sent == 0 {
                break; // Each connected component fits into a group.
            }
        }
        best.max(self.proved(&flows))
    }

    /// Returns the bound on the cut that the flows sent so far prove, or 0 without flow.
    fn proved(&self, Flows { flow, sent, .. }: &Flows) -> i64 {
        // With traffic near the largest permitted total, the products would overflow. In that case,
        // less counts as sent and more as flow, so that the bound still holds.
        let shift = (i128::BITS - sent.leading_zeros()).saturating_sub(FITS);
        let pairs = flow.iter().zip(&self.edges.weight).filter(|p| *p.0 > 0);
        // Rounded up, because a cut is an integer.
        let least = pairs
            .map(|(&flow, &w)| {
                let flow = match shift {
                    0 => flow,
                    _ => (flow >> shift) + 1,
                };
                ((sent >> shift) * i128::from(w) + flow - 1) / flow
            })
            .min();
        least.map_or(0, |l| l.min(i128::from(i64::MAX)) as i64)
    }

    /// Sends flow from one vertex to the nearest vertices, as much as fills its tightest edge, and
    /// increases the lengths of the edges used. Sends nothing if the vertices that can be reached
    /// have at most the load `most`, or if the vertex alone has more. Returns the work done.
    fn send(&self, from: u32, most: i64, flows: &mut Flows) -> u64 {
        let mut work = 0;
        let Flows {
            flow,
            sent,
            length,
            distance,
            before,
            below,
            done,
            heap,
        } = flows;
        distance[from as usize] = 0.0;
        let mut touched = vec![from];
        heap.push(Reverse((0, from)));
        done.clear();
        let (mut held, mut sum) = (0_i64, 0.0_f64);
        // The set minimises the sum of distances times load, divided by the load above `most`. It
        // grows while this ratio falls.
        let mut ceiling = f64::INFINITY;
        while let Some(Reverse((bits, v))) = heap.pop() {
            let far = f64::from_bits(bits);
            if far > distance[v as usize] || below[v as usize] > 0 {
                continue;
            }
            if far >= ceiling {
                break;
            }
            let load = self.load[v as usize];
            below[v as usize] = load.max(1);
            done.push(v);
            held += load;
            sum += far * load as f64;
            if held > most {
                ceiling = sum / (held - most) as f64;
            }
            let row = self.edges.of(v);
            work += row.len() as u64 + 2;
            for &(u, e) in row {
                let there = far + length[e as usize];
                if there < distance[u as usize] && below[u as usize] == 0 {
                    if distance[u as usize] == f64::INFINITY {
                        touched.push(u);
                    }
                    distance[u as usize] = there;
                    before[u as usize] = (v, e);
                    heap.push(Reverse((there.to_bits(), u)));
                }
            }
        }
        heap.clear();
        if held > most {
            done.iter()
                .for_each(|&v| below[v as usize] = self.load[v as usize]);
            // The flow over the edge before each vertex is the load of all vertices behind it.
            let mut tight = 0.0_f64;
            for &v in done[1..].iter().rev() {
                let (parent, edge) = before[v as usize];
                below[parent as usize] += below[v as usize];
                tight =
                    tight.max(below[v as usize] as f64 / self.edges.weight[edge as usize] as f64);
            }
            if tight > 0.0 {
                let amount = ((UNIT as f64 / tight) as i128).max(1);
                for &v in &done[1..] {
                    let edge = before[v as usize].1 as usize;
                    let share = below[v as usize] as f64 / self.edges.weight[edge] as f64 / tight;
                    flow[edge] += amount * i128::from(below[v as usize]);
                    length[edge] *= 1.0 + GROWTH * share;
                }
                *sent += amount * i128::from(held - most);
            }
        }
        for &v in &touched {
            distance[v as usize] = f64::INFINITY;
            below[v as usize] = 0;
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Channel, Graph, Machine, Problem};
    use petgraph::algo::dinics;
    use petgraph::graph::DiGraph;

    fn instance(load: Vec<u64>, edges: &[(u32, u32, u64)]) -> Instance {
        let channel = |&(from, to, traffic): &(u32, u32, u64)| Channel { from, to, traffic };
        let channels: Vec<Channel> = edges.iter().map(channel).collect();
        let graph = Graph::new(load, &channels).unwrap();
        let machine = Machine::regular(&[(2, 1)]).unwrap();
        Instance::new(&Problem::new(&graph, &machine)).unwrap().0
    }

    /// Returns the least traffic between groups with a load of at most `most`, over all groupings.
    fn least(inst: &Instance, most: i64, group: &mut Vec<usize>) -> i64 {
        let v = group.len();
        if v == inst.len() {
            let cut = |v: usize| {
                let row = inst.row(v as u32);
                let away = row.filter(|e| group[e.0 as usize] != group[v]);
                away.map(|e| e.1).sum::<i64>()
            };
            return (0..v).map(cut).sum::<i64>() / 2;
        }
        let mut best = i64::MAX;
        for g in 0..=group.iter().map(|g| g + 1).max().unwrap_or(0) {
            let held: i64 = (0..v)
                .filter(|&u| group[u] == g)
                .map(|u| inst.load(u as u32))
                .sum();
            if held + inst.load(v as u32) <= most {
                group.push(g);
                best = best.min(least(inst, most, group));
                group.pop();
            }
        }
        best
    }

    #[test]
    fn no_grouping_cuts_less() {
        let mut random = Random::new(5);
        for _ in 0..150 {
            let n = 2 + random.below(6);
            let load: Vec<u64> = (0..n).map(|_| random.below(5) as u64).collect();
            let mut edges = Vec::new();
            for a in 0..n as u32 {
                for b in 0..a {
                    if random.below(2) == 0 {
                        edges.push((a, b, random.below(9) as u64));
                    }
                }
            }
            let inst = instance(load, &edges);
            let flow = Flow::new(&inst);
            for most in 4..9 {
                let bound = flow.cut(most, &|work| work < 5_000);
                assert!(bound <= least(&inst, most, &mut Vec::new()));
            }
        }
    }

    /// Only two processes have load, and no group can hold both. So the least cut is the minimum
    /// cut between the two.
    #[test]
    fn two_processes_are_bounded_by_the_flow_between_them() {
        let mut random = Random::new(6);
        for n in 2..40 {
            let mut edges: Vec<(u32, u32, u64)> = Vec::new();
            for b in 1..n {
                for _ in 0..1 + random.below(3) {
                    let a = random.below(b as usize) as u32;
                    edges.push((a, b, 1 + random.below(9) as u64));
                }
            }
            let mut load = vec![0; n as usize];
            (load[0], load[n as usize - 1]) = (1, 1);
            let both_ways = edges
                .iter()
                .flat_map(|&(a, b, traffic)| [(a, b, traffic), (b, a, traffic)]);
            let graph = DiGraph::<(), u64>::from_edges(both_ways);
            let (least, _) = dinics(&graph, 0.into(), (n - 1).into());
            let flow = Flow::new(&instance(load, &edges));
            let bound = flow.cut(1, &|work| work < 200_000) as u64;
            assert!(bound <= least, "{bound} of {least}: {edges:?}");
            assert!(10 * bound >= 9 * least, "{bound} of {least}: {edges:?}");
        }
    }

    #[test]
    fn halves_of_a_grid_are_bounded_closely() {
        let at = |x: u32, y: u32| 6 * y + x;
        let mut edges = Vec::new();
        for i in 0..6 {
            for j in 0..5 {
                edges.push((at(j, i), at(j + 1, i), 1));
                edges.push((at(i, j), at(i, j + 1), 1));
            }
        }
        let flow = Flow::new(&instance(vec![1; 36], &edges));
        let bound = flow.cut(18, &|work| work < 400_000);
        assert!((5..=6).contains(&bound), "{bound}");
    }

    #[test]
    fn no_traffic_is_too_much() {
        // A ring whose total traffic is the largest permitted one.
        let each = crate::graph::LARGEST_TOTAL / 8;
        let edges: Vec<(u32, u32, u64)> = (0..8).map(|v| (v, (v + 1) % 8, each)).collect();
        let flow = Flow::new(&instance(vec![1; 8], &edges));
        let bound = flow.cut(4, &|work| work < 20_000) as u64;
        assert!(
            (each..=2 * each).contains(&bound),
            "{bound}, of {each} each"
        );
    }
}
