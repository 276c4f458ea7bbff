//! A vertex order with a narrow front.
//!
//! Vertices are placed one after another. A placed vertex with neighbours that are not placed yet
//! is open, and the open vertices form the front. A dynamic programme along the order needs a table
//! over the front only. So exact programmes are cheap if the front has two or three vertices
//! (pipelines, chains of farms, trees of up to a few hundred vertices).
//!
//! The smallest possible width of the front is the pathwidth of the network (Kinnersley 1992),
//! which is hard to compute. Therefore several orders are built greedily, so that the front grows
//! least, and the best one is used.

use std::time::Instant;

use super::edges::Edges;
use crate::budget::Clock;
use crate::instance::Instance;
use crate::random::Random;
use crate::tuning::bounds::GREEDY;

/// Largest width of a front.
pub(crate) const WIDEST: usize = 12;

/// The vertices in order, with the change of the front at each.
#[derive(Debug)]
pub(crate) struct Sweep {
    pub(crate) steps: Vec<Step>,
    pub(crate) edges: Edges,
}

/// The placement of one vertex.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) vertex: u32,
    /// Number of open vertices before the step. A pattern has one bit for each, which is set if the
    /// vertex is in the group considered.
    pub(crate) width: u32,
    /// Position in the front, and edge number, of each edge to an open vertex.
    pub(crate) back: Vec<(u32, u32)>,
    /// Bits of the pattern that remain open after the step. The vertex of the step has the last
    /// bit.
    keep: u32,
    /// Load of the vertex, and of all before it, see [`Sweep::count_in`].
    pub(crate) load: usize,
    pub(crate) before: usize,
}

impl Step {
    /// Returns the pattern after the step. `pattern` is the pattern before the step, with the bit
    /// of the step's vertex added at position `width`.
    #[inline]
    pub(crate) fn after(&self, pattern: u32) -> u32 {
        if self.keep == (2 << self.width) - 1 {
            return pattern;
        }
        kept(pattern, self.keep)
    }
}

/// Returns the bits of a pattern that are set in `keep`, moved together without gaps. The lowest
/// selected bit becomes bit 0.
pub(crate) fn kept(pattern: u32, mut keep: u32) -> u32 {
    let (mut result, mut at) = (0, 0);
    while keep != 0 {
        let bit = keep.trailing_zeros();
        result |= (pattern >> bit & 1) << at;
        at += 1;
        keep &= keep - 1;
    }
    result
}

impl Sweep {
    /// Returns the best order found, with all loads 0 until [`Sweep::count_in`] is called. Returns
    /// `None` if there are no vertices, if the fronts of all orders are too wide, or if the time is
    /// over.
    ///
    /// The time is nearly linear for networks with narrow fronts, and short for others.
    pub(crate) fn new(inst: &Instance, stop_at: Option<Instant>) -> Option<Self> {
        let n = inst.len();
        // Each vertex has edges only to the vertices of a front before it.
        if inst.arcs() > 2 * WIDEST * n {
            return None;
        }
        let mut clock = Clock::new(stop_at);
        let mut random = Random::new(0);
        let mut starts: Vec<u32> = (0..n as u32).collect();
        random.shuffle(&mut starts);
        starts.sort_by_key(|&v| inst.degree(v));
        let tries = starts.iter().take(GREEDY);
        let orders = tries.filter_map(|&start| greedy(inst, start, &mut clock));
        let best = orders.min_by_key(|order| order.0);
        // After the deadline, no time is left to use the order.
        best.filter(|_| !clock.is_late(0))
            .map(|b| Self::along(inst, &b.1))
    }

    fn along(inst: &Instance, order: &[u32]) -> Self {
        let n = inst.len();
        let mut sweep = Self {
            steps: Vec::with_capacity(n),
            edges: Edges::new(inst),
        };
        let mut open: Vec<usize> = (0..n as u32).map(|v| sweep.edges.of(v).len()).collect();
        let mut front: Vec<u32> = Vec::new();
        for &v in order {
            let mut back = Vec::new();
            for &(u, e) in sweep.edges.of(v) {
                open[u as usize] -= 1;
                if let Some(place) = front.iter().position(|&f| f == u) {
                    back.push((place as u32, e));
                }
            }
            let width = front.len() as u32;
            front.push(v);
            let stays = front.iter().map(|&u| open[u as usize] > 0);
            let keep = stays
                .enumerate()
                .fold(0, |mask, (i, stays)| mask | u32::from(stays) << i);
            front.retain(|&u| open[u as usize] > 0);
            sweep.steps.push(Step {
                vertex: v,
                width,
                back,
                keep,
                load: 0,
                before: 0,
            });
        }
        sweep
    }

    /// Sets the loads of all steps, in multiples of `unit`, each rounded down. `unit` must be
    /// positive.
    pub(crate) fn count_in(&mut self, unit: i64, inst: &Instance) {
        let mut before = 0;
        for step in &mut self.steps {
            (step.load, step.before) = ((inst.load(step.vertex) / unit) as usize, before);
            before += step.load;
        }
    }

    /// Returns the total load in units.
    pub(crate) fn total(&self) -> usize {
        self.steps.last().map_or(0, |s| s.before + s.load)
    }
}

/// Builds an order from a start vertex. Each step places the vertex after which the front is
/// narrowest, close to the vertices placed last. Also returns the number of table entries over all
/// fronts, without factors for loads. Returns `None` if a front is wider than [`WIDEST`], or if the
/// clock is late. Panics if `start` does not exist.
fn greedy(inst: &Instance, start: u32, clock: &mut Clock) -> Option<(u64, Vec<u32>)> {
    let n = inst.len();
    let mut open: Vec<usize> = (0..n as u32).map(|v| inst.degree(v)).collect();
    let mut placed = vec![false; n];
    let mut order = Vec::with_capacity(n);
    let mut front: Vec<u32> = Vec::new();
    let (mut next, mut anywhere, mut work, mut entries) = (start, 0, 0, 0);
    loop {
        entries += 2 << front.len();
        placed[next as usize] = true;
        order.push(next);
        inst.row(next).for_each(|(u, _)| open[u as usize] -= 1);
        front.push(next);
        front.retain(|&u| open[u as usize] > 0);
        if front.len() > WIDEST {
            return None;
        }
        if order.len() == n {
            return Some((entries, order));
        }
        if clock.is_late(std::mem::take(&mut work)) {
            return None;
        }
        let mut best = None;
        for (age, &f) in front.iter().rev().enumerate() {
            work += inst.degree(f);
            for (v, _) in inst.row(f).filter(|e| !placed[e.0 as usize]) {
                work += inst.degree(v);
                let closed = inst
                    .row(v)
                    .filter(|e| placed[e.0 as usize] && open[e.0 as usize] == 1);
                let growth = i64::from(open[v as usize] > 0) - closed.count() as i64;
                let key = (growth, open[v as usize], age, v);
                if best.is_none_or(|b| key < b) {
                    best = Some(key);
                }
            }
        }
        next = if let Some(best) = best {
            best.3
        } else {
            while placed[anywhere] {
                anywhere += 1;
            }
            anywhere as u32
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Channel, Graph, Machine, Problem};

    fn widest(n: usize, edges: &[(u32, u32)]) -> Option<u32> {
        let channels: Vec<Channel> = edges
            .iter()
            .map(|&(from, to)| Channel {
                from,
                to,
                traffic: 1,
            })
            .collect();
        let graph = Graph::new(vec![1; n], &channels).unwrap();
        let machine = Machine::regular(&[(2, 1)]).unwrap();
        let inst = Instance::new(&Problem::new(&graph, &machine)).unwrap().0;
        let sweep = Sweep::new(&inst, None)?;
        let mut seen: Vec<u32> = sweep.steps.iter().map(|s| s.vertex).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..n as u32).collect::<Vec<_>>());
        assert_eq!(
            sweep.steps.iter().map(|s| s.back.len()).sum::<usize>(),
            sweep.edges.ends.len()
        );
        sweep.steps.iter().map(|s| s.width).max()
    }

    #[test]
    fn narrow_networks_get_narrow_fronts() {
        let path: Vec<(u32, u32)> = (1..50).map(|v| (v - 1, v)).collect();
        assert_eq!(widest(50, &path), Some(1));
        let star: Vec<(u32, u32)> = (1..50).map(|v| (0, v)).collect();
        assert_eq!(widest(50, &star), Some(1));
        let farm: Vec<(u32, u32)> = (2..50).flat_map(|v| [(0, v), (v, 1)]).collect();
        assert!(widest(50, &farm) <= Some(3));
        let tree: Vec<(u32, u32)> = (1..300).map(|v| ((v - 1) / 3, v)).collect();
        assert!(widest(300, &tree) <= Some(8));
        let dense: Vec<(u32, u32)> = (0..40).flat_map(|v| (0..v).map(move |u| (u, v))).collect();
        assert_eq!(widest(40, &dense), None);
        assert_eq!(widest(3, &[]), Some(0));
    }
}
