//! The problem of one group of the machine: which of its members each vertex goes to.
//!
//! From outside a group all its blocks are equally far (on trees), so that nothing but its own
//! vertices counts, and all its members are equally far from one another. That makes a small
//! instance with as many blocks as the group has members, in which a move is cheap and nothing
//! blurs what it is worth.

use crate::instance::Instance;
use crate::machine::Machine;

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

    fn blocks(&self, inst: &Instance, g: usize) -> Vec<u32> {
        let nodes = inst.shared.machine.nodes();
        let blocks = self.parts[g]
            .iter()
            .flat_map(|&p| &nodes[p as usize].blocks);
        blocks.copied().collect()
    }
}

/// The instance of these vertices over the groups, of which any two are at distance 1. `slack_share` from 0 to
/// 1 says how much of the slack of the loads may be used up here: at 0 an even part of what the problems
/// below need too, at 1 all.
pub(crate) fn view(
    inst: &Instance,
    vertices: &[u32],
    groups: &Groups,
    slack_share: f64,
) -> Instance {
    let mut place = vec![u32::MAX; inst.len()];
    (0..)
        .zip(vertices)
        .for_each(|(i, &v)| place[v as usize] = i);
    let k = groups.len();
    let blocks: Vec<Vec<u32>> = (0..k).map(|g| groups.blocks(inst, g)).collect();
    let flat = Machine::regular(&[(k, 1)]).expect("few blocks");
    let view = inst.part(vertices, &place).on(flat, &blocks);
    let most = blocks.iter().map(Vec::len).max().unwrap_or(1);
    if most == 1 {
        return view;
    }
    // As if every problem below had as many members.
    let count: usize = blocks.iter().map(Vec::len).sum();
    let shrinks = count as f64 / most as f64;
    let even = shrinks.ln() / (count as f64).ln();
    let rooms: f64 = (0..k).map(|g| view.load_bound(g) as f64).sum();
    let slack = (rooms / view.total_load().max(1) as f64).max(1.0);
    let part = slack.powf(even + (1.0 - even) * slack_share) / slack;
    let bound = |g: usize| (view.load_bound(g) as f64 * part).ceil() as i64;
    view.with_load_bounds(&(0..k).map(bound).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Channel, Graph};
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
