//! Networks with an order in which few channels pass over most points, such as chains of modules.
//! The order is cut into one run for each block, and only the vertices near the cuts are refined.
//!
//! The order is the numbering of the vertices. One pass over it finds the cheapest gaps. A dynamic
//! programme over the blocks chooses all cuts among the gaps at once. It includes the distances
//! between blocks and keeps the load bounds. So the network is not contracted, and the time is
//! about that of reading it a few times.
//!
//! The order is measured first on a sample, and then on the cut. The cut must be cheaper than the
//! block boundaries of a mesh, and the channels over it must be short. A cut through long channels,
//! as on a ring or a tree, is far from optimal. A cut across several interleaved lines is too.
//! Therefore windows of the order are bisected by contraction, and if that is cheaper, the order is
//! not used.

use std::iter;
use std::sync::Arc;

use super::Effort;
use super::bisection_tree::{BisectionTree, Parts};
use super::level::Level;
use super::mapping::Mapping;
use super::{pairs, refine};
use crate::csr::Csr;
use crate::instance::Instance;
use crate::multilevel::bisect::bisect;
use crate::multilevel::line::{Gap, cheapest, gaps};
use crate::multilevel::passes::{Sides, Sub};
use crate::random::Random;
use crate::tuning::narrow::{
    ACROSS, BETWEEN, LEAST, PLACES, REACH, SAMPLE, SHORT, WINDOW, WINDOWS, WORK,
};

/// Maps an instance that must have only load bounds. Returns `None` if its order is not narrow, if
/// no cut keeps the load bounds, or if there are fewer than [`LEAST`] vertices.
pub(super) fn map(inst: &Instance, effort: &Effort, random: &mut Random) -> Option<Vec<u32>> {
    let (n, k) = (inst.len(), inst.k());
    let most = effort.narrow * (n as f64 / k as f64).sqrt();
    if n < LEAST || spanned(inst) > BETWEEN * most || !is_cheapest_across(inst, random) {
        return None;
    }
    let cut = Cut::new(inst, most)?;
    Some(cut.refined(inst, effort, random))
}

/// Returns the mean number of channels that pass over a point of the order, estimated from a
/// sample. It is the sum of the lengths of all channels divided by the number of vertices.
fn spanned(inst: &Instance) -> f64 {
    let mut sum = 0_u64;
    let sample = (0..inst.len() as u32).step_by(SAMPLE);
    let looked = sample.len().max(1);
    for v in sample {
        let later = inst.row(v).filter(|e| e.0 > v);
        sum += later.map(|(u, _)| u64::from(u - v)).sum::<u64>();
    }
    sum as f64 / looked as f64
}

/// Returns true if the best bisection of each of some windows of the order costs at least the share
/// [`ACROSS`] of the best cut between two numbers. Windows for which no even bisection is found do
/// not count.
fn is_cheapest_across(inst: &Instance, random: &mut Random) -> bool {
    let length = (inst.len() / inst.k()).min(WINDOW);
    (1..=WINDOWS).all(|i| {
        let middle = inst.len() * i / (WINDOWS + 1);
        let from = middle - length / 2;
        let here = from as u32..(from + length) as u32;
        let window = Sub {
            graph: inst.stretch(here.clone()),
            size: Arc::new(here.map(|v| inst.load(v)).collect()),
            fixed: Vec::new(),
        };
        let total: i64 = window.size.iter().sum();
        let most = (total as f64 * 0.6) as i64;
        let gaps = numbered(&window, |v| window.size[v as usize], 1);
        let even = |g: &&Gap| g.before <= most && total - g.before <= most;
        let across = gaps.iter().filter(even).map(|g| g.traffic).min();
        let sides = Sides {
            want: total / 2,
            most: [most; 2],
        };
        let ((excess, cut), _) = bisect(&window, sides, 2, random);
        excess > 0 || cut as f64 >= ACROSS * across.unwrap_or(i64::MAX) as f64
    })
}

/// Returns the cheapest gap of every stretch of `stretch` vertices in the order, and the gaps at
/// both ends.
fn numbered(graph: &Csr, load: impl Fn(u32) -> i64, stretch: usize) -> Vec<Gap> {
    gaps(graph, load, stretch, |at| at as u32, |v| v as usize)
}

/// A network cut into one run for each block: the start of each run, and the end of the last.
struct Cut(Vec<usize>);

impl Cut {
    /// Returns the cheapest cut that keeps the load bounds.
    ///
    /// Returns `None` if there is no such cut at the chosen gaps, or if more than `most` channels
    /// pass over a cut on average. Also returns `None` if too many of these channels are long.
    fn new(inst: &Instance, most: f64) -> Option<Self> {
        let stretch = (inst.len() / (inst.k() * PLACES)).max(1);
        let gaps = numbered(inst, |v| inst.load(v), stretch);
        let work = WORK * inst.len().max(LEAST);
        let ends = cheapest(inst, &gaps, work)?;
        let inner = &ends[..ends.len() - 1];
        let channels: i64 = inner.iter().map(|&g| gaps[g].channels).sum();
        if channels as f64 > most * inner.len() as f64 {
            return None;
        }
        let traffic: i64 = inner.iter().map(|&g| gaps[g].traffic).sum();
        let start = iter::once(0).chain(ends.iter().map(|&g| gaps[g].at));
        let cut = Self(start.collect());
        let short = cut.short(inst);
        (short as f64 >= SHORT * traffic as f64).then_some(cut)
    }

    /// Returns the traffic over the cuts between vertices that are both near the cut.
    fn short(&self, inst: &Instance) -> i64 {
        let mut sum = 0;
        for runs in self.0.windows(3) {
            let [left, cut, right] = [runs[0], runs[1], runs[2]];
            for at in left.max(cut.saturating_sub(REACH))..cut {
                let reach = cut..right.min(cut + REACH);
                let row = inst.row(at as u32);
                let over = row.filter(|e| reach.contains(&(e.0 as usize)));
                sum += over.map(|e| e.1).sum::<i64>();
            }
        }
        sum
    }

    /// Refines the vertices near the cuts and returns the block of each vertex.
    fn refined(self, inst: &Instance, effort: &Effort, random: &mut Random) -> Vec<u32> {
        let (n, k) = (inst.len(), inst.k());
        let mut block = vec![0; n];
        for (run, b) in self.0.windows(2).zip(0..) {
            block[run[0]..run[1]].fill(b);
        }
        let near = self.near(effort.near);
        let (level, bound) = surroundings(inst, &block, &near);
        let mut part: Vec<u32> = (0..k as u32).collect();
        part.extend(near.iter().map(|&v| block[v as usize]));
        let mut parts = Parts::blocks(&BisectionTree::new(inst, effort.slack_share));
        parts.bound = bound;
        let mut mapping = Mapping::new(&level, &parts, &mut part);
        mapping.fixed = k as u32;
        for _ in 0..effort.rounds {
            pairs::refine(&mut mapping, effort.rounds, effort.edge_visits, random);
            if refine::search(&mut mapping, effort.patience, random) == 0 {
                break;
            }
        }
        for (i, &v) in near.iter().enumerate() {
            block[v as usize] = part[k + i];
        }
        block
    }

    /// Returns up to `most` vertices on either side of each cut, at most to the middle of a run.
    fn near(&self, most: usize) -> Vec<u32> {
        let end = self.0[self.0.len() - 1];
        let half = |run: &[usize]| ((run[1] - run[0]) / 2).min(most);
        let cuts = self.0.windows(3).filter(|runs| (1..end).contains(&runs[1]));
        let near = cuts.flat_map(|runs| runs[1] - half(runs)..runs[1] + half(&runs[1..]));
        near.map(|v| v as u32).collect()
    }
}

/// Returns the level of the vertices near the cuts. Before them, the level has one fixed vertex for
/// each block, which represents all other vertices of the block. A fixed vertex has no load, and
/// its row is empty. Also returns the load that each block may get from the vertices near the cuts.
fn surroundings(inst: &Instance, block: &[u32], near: &[u32]) -> (Level, Vec<i64>) {
    let k = inst.k();
    let mut local = vec![0_u32; inst.len()];
    for (i, &v) in near.iter().enumerate() {
        local[v as usize] = (k + i) as u32;
    }
    let mut bound: Vec<i64> = (0..k).map(|b| inst.load_bound(b)).collect();
    for (v, &b) in block.iter().enumerate() {
        if local[v] == 0 {
            bound[b as usize] -= inst.load(v as u32);
        }
    }
    let row = |v: u32| {
        inst.row(v).map(|(u, w)| match local[u as usize] {
            0 => (block[u as usize], w),
            other => (other, w),
        })
    };
    let rows = (0..k + near.len()).map(|at| at.checked_sub(k).map(|i| row(near[i])));
    let loads = iter::repeat_n(0, k).chain(near.iter().map(|&v| inst.load(v)));
    let level = Level {
        graph: Csr::of(rows.map(|row| row.into_iter().flatten())),
        load: Arc::new(loads.collect()),
        held: None,
    };
    (level, bound)
}

#[cfg(test)]
mod tests {
    use super::super::{FAST, GOOD};
    use super::*;
    use crate::feasibility::is_feasible;
    use crate::graph::{Channel, Graph};
    use crate::machine::Machine;
    use crate::problem::Problem;

    fn network(load: &[u64], ends: &[(u32, u32, u64)]) -> Graph {
        let one = |&(from, to, traffic): &_| Channel { from, to, traffic };
        Graph::new(load.to_vec(), &ends.iter().map(one).collect::<Vec<_>>()).unwrap()
    }

    /// Returns a graph with channels to later vertices, at most `reach` away, and with various
    /// loads.
    fn strip(n: u32, reach: u32, random: &mut Random) -> Graph {
        let load: Vec<u64> = (0..n).map(|_| 1 + random.below(9) as u64).collect();
        let mut ends = Vec::new();
        for v in 1..n {
            for _ in 0..1 + random.below(2) {
                let back = 1 + random.below(reach.min(v) as usize) as u32;
                ends.push((v - back, v, 1 + random.below(20) as u64));
            }
        }
        network(&load, &ends)
    }

    /// Returns the cost of the cheapest cut, found by trying all cuts.
    fn tried(inst: &Instance, gaps: &[Gap], b: usize, from: usize) -> Option<i64> {
        let last = gaps.len() - 1;
        if b == inst.k() {
            return (from == last).then_some(0);
        }
        let over = match b {
            0 => 0,
            _ => gaps[from].traffic * inst.distance(b as u32 - 1, b as u32),
        };
        let full = |&end: &usize| gaps[end].before - gaps[from].before <= inst.load_bound(b);
        let ends = (from..=last).take_while(full);
        let rest = ends.filter_map(|end| tried(inst, gaps, b + 1, end)).min();
        rest.map(|cost| cost + over)
    }

    #[test]
    fn no_other_cut_is_cheaper() {
        let mut random = Random::new(5);
        let mut found = 0;
        for round in 0..300 {
            let graph = strip(2 + round % 12, 3, &mut random);
            let machine = Machine::regular(&[(2, 1), (2, 10)]).unwrap();
            let imbalance = [0.0, 0.1, 0.5, 1000.0][random.below(4)];
            let problem = Problem {
                imbalance,
                ..Problem::new(&graph, &machine)
            };
            let (inst, _) = Instance::new(&problem).unwrap();
            let gaps = numbered(&inst, |v| inst.load(v), 1);
            let best = tried(&inst, &gaps, 0, 0);
            let ends = cheapest(&inst, &gaps, usize::MAX);
            assert_eq!(ends.is_some(), best.is_some());
            let Some(ends) = ends else { continue };
            let over = |b: usize| inst.distance(b as u32, b as u32 + 1);
            let cost = (0..3).map(|b| gaps[ends[b]].traffic * over(b)).sum();
            assert_eq!(Some(cost), best);
            let (mut from, mut block) = (0, Vec::new());
            for (b, &end) in ends.iter().enumerate() {
                block.resize(gaps[end].at, b as u32);
                assert!(from <= end);
                from = end;
            }
            assert!(is_feasible(&inst, &block));
            // A channel over several cuts is counted at each.
            assert!(inst.cost(&block) <= cost);
            found += 1;
        }
        assert!(found > 100);
    }

    #[test]
    fn refinement_keeps_all_bounds_and_costs_no_more() {
        let mut random = Random::new(8);
        let machine = Machine::regular(&[(4, 1), (2, 10), (2, 100)]).unwrap();
        for round in 0..40 {
            let graph = strip(400 + 97 * round, 4, &mut random);
            let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
            let cut = Cut::new(&inst, 1e9).unwrap();
            let runs = cut.0.windows(2).enumerate();
            let runs: Vec<u32> = runs
                .flat_map(|(b, run)| vec![b as u32; run[1] - run[0]])
                .collect();
            for effort in [&FAST, &GOOD] {
                let block = Cut::new(&inst, 1e9)
                    .unwrap()
                    .refined(&inst, effort, &mut random);
                assert!(is_feasible(&inst, &block));
                assert!(inst.cost(&block) <= inst.cost(&runs));
            }
        }
    }

    #[test]
    fn only_narrow_orders_are_cut() {
        let machine = Machine::regular(&[(4, 1), (4, 10)]).unwrap();
        let is_narrow = |graph: &Graph| {
            let (inst, _) = Instance::new(&Problem::new(graph, &machine)).unwrap();
            let found = map(&inst, &GOOD, &mut Random::new(1));
            found.is_some_and(|block| is_feasible(&inst, &block))
        };
        let n = 30_000;
        let ones = vec![1; n as usize];
        let strip = strip(n, 4, &mut Random::new(2));
        assert!(is_narrow(&strip));
        // The same network with randomly numbered vertices.
        let mut number: Vec<u32> = (0..n).collect();
        Random::new(3).shuffle(&mut number);
        let at = |v: u32| number[v as usize];
        let ends = |v: u32| strip.neighbours(v).map(move |(u, w)| (v, u, w));
        let all = (0..n).flat_map(ends).filter(|e| e.0 < e.1);
        let shuffled: Vec<_> = all.map(|(v, u, w)| (at(v), at(u), w)).collect();
        assert!(!is_narrow(&network(&ones, &shuffled)));
        let mesh: Vec<_> = (0..n)
            .flat_map(|v| [(v, v + 1, 1), (v, v + 150, 1)])
            .filter(|e| e.1 < n)
            .collect();
        assert!(!is_narrow(&network(&ones, &mesh)));
        // The channel that closes the ring passes over all cuts.
        let path = (1..n).map(|v| (v - 1, v, 1));
        let ring: Vec<_> = path.clone().chain([(0, n - 1, 1)]).collect();
        assert!(is_narrow(&network(&ones, &path.collect::<Vec<_>>())));
        assert!(!is_narrow(&network(&ones, &ring)));
        // Numbered depth first, so that few channels pass over a point, but many of them are long.
        let mut tree = Vec::new();
        let mut open = vec![(0, n)];
        while let Some((first, below)) = open.pop() {
            let each = (below - 1) / 3;
            for c in 0..if each > 0 { 3 } else { 0 } {
                tree.push((first, first + 1 + c * each, 1));
                open.push((first + 1 + c * each, each));
            }
        }
        assert!(!is_narrow(&network(&ones, &tree)));
        assert!(is_narrow(&network(&ones, &[])));
        // Ten interleaved lines, without and with a few channels between them.
        let lines: Vec<_> = (10..n).map(|v| (v - 10, v, 1)).collect();
        assert!(!is_narrow(&network(&ones, &lines)));
        let rungs = (0..n - 1).step_by(301).map(|v| (v, v + 1, 1));
        let ladder: Vec<_> = lines.into_iter().chain(rungs).collect();
        assert!(!is_narrow(&network(&ones, &ladder)));
    }

    #[test]
    fn unusual_instances_are_cut_or_left() {
        let n = 12_000;
        let path = |traffic| (1..n).map(move |v| (v - 1, v, traffic)).collect::<Vec<_>>();
        let plain = Machine::regular(&[(4, 1), (4, 10)]).unwrap();
        let one = Machine::regular(&[(1, 1)]).unwrap();
        let few = Machine::regular(&[(2, 1), (2, 10)]).unwrap();
        let many = Machine::regular(&[(64, 1), (64, 10)]).unwrap();
        let most = 1 << 30;
        let cases = [
            ("one block", 1, path(1), &one, 0.03, Some(0)),
            ("no load", 0, path(1), &few, 0.03, Some(0)),
            ("large numbers", most, path(1 << 20), &plain, 0.03, None),
            ("loose bounds on many blocks", 1, path(1), &many, 50.0, None),
            ("many blocks", 1, path(1), &many, 0.4, None),
        ];
        for (name, load, ends, machine, imbalance, cost) in cases {
            let graph = network(&vec![load; n as usize], &ends);
            let problem = Problem {
                imbalance,
                ..Problem::new(&graph, machine)
            };
            let (inst, _) = Instance::new(&problem).unwrap();
            let found = map(&inst, &GOOD, &mut Random::new(1));
            if let Some(block) = found {
                assert!(is_feasible(&inst, &block), "{name}");
                assert!(cost.is_none_or(|c| c == inst.cost(&block)), "{name}");
            } else {
                assert_eq!(cost, None, "{name}");
            }
        }
    }
}
