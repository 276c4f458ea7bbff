//! The problem of one group of the machine: which of its members each vertex goes to.
//!
//! From outside a group all its blocks are equally far (on trees), so that nothing but its own
//! vertices counts, and all its members are equally far from one another. That makes a small
//! instance with as many blocks as the group has members, in which a move is cheap and nothing
//! blurs what it is worth.

use std::sync::Arc;

use crate::instance::{Instance, NO_LIMIT, Shared};

/// Members of a group, of which some may be counted as one.
pub(crate) struct Groups {
    /// Nodes of the machine, run by run.
    pub(crate) parts: Vec<Vec<u32>>,
    /// Run that each block lies in; the highest number for blocks outside.
    pub(crate) of: Vec<u32>,
}

impl Groups {
    /// The members of the smallest group that holds these nodes; `None` when they are one block.
    pub(crate) fn below(inst: &Instance, mut parts: Vec<u32>) -> Option<Self> {
        const WIDE: usize = 8;
        let nodes = inst.shared.machine.nodes();
        while let [only] = parts[..] {
            if nodes[only as usize].children.is_empty() {
                return None;
            }
            parts = nodes[only as usize].children.clone();
        }
        let count = if parts.len() <= WIDE { parts.len() } else { 4 };
        let at = |i: usize| i * parts.len() / count;
        let parts: Vec<Vec<u32>> = (0..count)
            .map(|i| parts[at(i)..at(i + 1)].to_vec())
            .collect();
        let mut of = vec![u32::MAX; inst.k()];
        for (g, part) in parts.iter().enumerate() {
            for &b in part.iter().flat_map(|&p| &nodes[p as usize].blocks) {
                of[b as usize] = g as u32;
            }
        }
        Some(Self { parts, of })
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    fn blocks(&self, inst: &Instance, g: usize) -> Vec<usize> {
        let nodes = inst.shared.machine.nodes();
        let parts = self.parts[g].iter();
        let blocks = parts.flat_map(|&p| nodes[p as usize].blocks.iter());
        blocks.map(|&b| b as usize).collect()
    }
}

/// The instance of these vertices over the groups. `greed` from 0 to 1 says how much of the slack
/// of the loads may be used up here: at 0 an even part of what the problems below need too, at 1 all.
pub(crate) fn view(inst: &Instance, vertices: &[u32], groups: &Groups, greed: f64) -> Instance {
    let d = kept(inst);
    let mut local = vec![u32::MAX; inst.len()];
    for (i, &v) in vertices.iter().enumerate() {
        local[v as usize] = i as u32;
    }
    let here = |u: u32| Some(local[u as usize]).filter(|&there| there != u32::MAX);
    let mut size = Vec::with_capacity(vertices.len() * d);
    for &v in vertices {
        size.extend_from_slice(&inst.size_of(v)[..d]);
    }
    let mut view = Instance {
        graph: inst.graph.among(vertices.iter().copied(), here),
        size: Arc::new(size),
        set: Vec::new(),
        apart: Vec::new(),
        shared: Arc::clone(&inst.shared),
    };
    if !inst.set.is_empty() {
        view.set = vertices.iter().map(|&v| inst.set[v as usize]).collect();
    }
    let blocks: Vec<Vec<usize>> = (0..groups.len()).map(|g| groups.blocks(inst, g)).collect();
    // Two that must be kept apart may go to one group while it has several blocks.
    if !inst.apart.is_empty() && blocks.iter().all(|b| b.len() == 1) {
        let inside = |v: &u32| {
            let list = inst.apart[*v as usize].iter();
            let list = list.map(|&(u, layer)| (local[u as usize], layer));
            list.filter(|e| e.0 != u32::MAX && e.1 == 0).collect()
        };
        view.apart = vertices.iter().map(inside).collect();
    }
    view.shared = Arc::new(shared(inst, &view, &blocks, greed));
    view
}

/// How many dimensions a view keeps: limits that hosts have as a whole do not add up over groups,
/// and are left to the search on the whole.
fn kept(inst: &Instance) -> usize {
    if inst.shared.has_places() {
        1
    } else {
        inst.dims()
    }
}

fn shared(inst: &Instance, view: &Instance, blocks: &[Vec<usize>], greed: f64) -> Shared {
    let (d, k) = (kept(inst), blocks.len());
    let old = &inst.shared;
    let sums = |bounds: &[i64]| -> Vec<i64> {
        let sum = |g: usize, i: usize| {
            let all = blocks[g].iter().map(|&b| bounds[b * inst.dims() + i]);
            all.fold(0, i64::saturating_add).min(NO_LIMIT)
        };
        let places = (0..k).flat_map(|g| (0..d).map(move |i| (g, i)));
        places.map(|(g, i)| sum(g, i)).collect()
    };
    let mut upper = sums(&old.upper);
    let lower = match old.lower[..] {
        [] => Vec::new(),
        _ => sums(&old.lower),
    };
    let total = |i: usize| view.size.iter().skip(i).step_by(d).sum::<i64>();
    let excess = (0..d).map(|i| k as f64 / total(i).max(1) as f64).collect();
    let allowed = |set: &Vec<bool>| {
        let any = |g: &Vec<usize>| g.iter().any(|&b| set[b]);
        blocks.iter().map(any).collect()
    };
    let sets = old.sets.iter().map(allowed).collect();
    let most = blocks.iter().map(Vec::len).max().unwrap_or(1);
    if most > 1 {
        // As if every problem below had as many members.
        let count: usize = blocks.iter().map(Vec::len).sum();
        let shrinks = count as f64 / most as f64;
        let even = shrinks.ln() / (count as f64).ln();
        let rooms: f64 = (0..k).map(|g| upper[g * d] as f64).sum();
        let slack = (rooms / total(0).max(1) as f64).max(1.0);
        let part = slack.powf(even + (1.0 - even) * greed) / slack;
        for g in 0..k {
            upper[g * d] = (upper[g * d] as f64 * part).ceil() as i64;
        }
    }
    Shared::flat(k, upper, lower, excess, sets, d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Channel, Graph};
    use crate::machine::Machine;
    use crate::problem::Problem;

    #[test]
    fn holds_what_lies_inside_and_the_sums_of_bounds() {
        let channels: Vec<Channel> = (0..7)
            .map(|v| Channel {
                from: v,
                to: v + 1,
                traffic: 10 + u64::from(v),
            })
            .collect();
        let graph = Graph::new(vec![100; 8], &channels).unwrap();
        let machine = Machine::regular(&[(2, 1), (2, 10)]).unwrap();
        let problem = Problem::new(&graph, &machine);
        let (inst, _) = Instance::new(&problem).unwrap();
        let groups = Groups::below(&inst, vec![0]).unwrap();
        assert_eq!(groups.of, [0, 0, 1, 1]);
        let part = view(&inst, &[1, 2, 3, 6], &groups, 1.0);
        assert_eq!((part.len(), part.k()), (4, 2));
        assert_eq!(part.cost(&[0, 1, 0, 0]), 11 + 12);
        assert_eq!(part.load_bound(0), inst.load_bound(0) + inst.load_bound(1));
        // Half of the slack is left for the members of the groups.
        let even = view(&inst, &[0, 1, 2, 3, 4, 5, 6, 7], &groups, 0.0);
        assert!(even.load_bound(0) < part.load_bound(0) && even.load_bound(0) >= 400);
        assert!(Groups::below(&inst, vec![2]).is_none());
    }
}
