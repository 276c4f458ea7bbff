//! Exchange of equal components, so that those in one block follow each other.
//!
//! The workers of a farm are interchangeable, but a search leaves them scattered. Then a mapping
//! that is written as runs of vertices gets long. If the few vertices with many neighbours are
//! removed, the network falls into components. Components that are equal, also in their edges to
//! the outside, may change places. They are assigned to the same places in the order of their
//! numbers. This changes neither cost nor loads, and breaks no rule. It takes nearly linear time in
//! vertices and edges.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use crate::clusters::Members;
use crate::instance::Instance;
use crate::tuning::bounds::{ALIKE, TAKEN_OUT};

/// Sorts the places of equal components of the network without its vertices of [`TAKEN_OUT`] or
/// more neighbours. Each of these vertices counts as a component of its own. Afterwards, of equal
/// components, those with lower numbers are in blocks that come first in the order of the machine.
/// Components of more than [`ALIKE`] vertices, or with vertices that must be kept apart, stay in
/// place. Changes neither cost nor loads.
pub(super) fn gather(inst: &Instance, block: &mut [u32]) {
    let parts = Parts::new(inst);
    let order = inst.shared.machine.in_order();
    let mut rank = vec![0; order.len()];
    for (i, &b) in order.iter().enumerate() {
        rank[b as usize] = i as u32;
    }
    for class in parts.classes() {
        // The places of all parts are in one list, in pieces of equal length. A list for each part
        // would take more time than everything else.
        let of = |part: &u32| {
            let members = parts.members(*part).iter();
            members.map(|&v| rank[block[v as usize] as usize])
        };
        let places: Vec<u32> = class.iter().flat_map(of).collect();
        let mut places: Vec<&[u32]> = places.chunks(places.len() / class.len()).collect();
        places.sort_unstable();
        for (&part, places) in class.iter().zip(places) {
            for (&v, &place) in parts.members(part).iter().zip(places) {
                block[v as usize] = order[place as usize];
            }
        }
    }
}

/// Components that remain when vertices with many neighbours are removed. Each removed vertex is a
/// part of its own.
struct Parts<'a> {
    inst: &'a Instance,
    /// Part of each vertex. Parts are numbered in the order of their first vertices.
    part: Vec<u32>,
    members: Members,
    /// Position of each vertex in its part.
    place: Vec<u32>,
}

impl<'a> Parts<'a> {
    fn new(inst: &'a Instance) -> Self {
        let alone = |v: u32| inst.degree(v) >= TAKEN_OUT;
        let (part, count) = inst.components(|v, u| !alone(v) && !alone(u));
        let members = Members::new(&part, count);
        Self {
            inst,
            part,
            place: members.places(),
            members,
        }
    }

    fn members(&self, part: u32) -> &[u32] {
        self.members.of(part as usize)
    }

    /// Replaces `words` by a description of a part: its vertices in order, each with its sizes, its
    /// set of blocks and its edges. An edge contains the position of a neighbour inside, or the
    /// number of one outside. Equal parts have equal descriptions.
    fn describe(&self, part: u32, words: &mut Vec<i64>) {
        words.clear();
        for &v in self.members(part) {
            words.extend(self.inst.size_of(v));
            words.push(self.inst.set.get(v as usize).copied().unwrap_or(0).into());
            words.push(self.inst.degree(v) as i64);
            let first = words.len();
            let name = |u: u32| match self.part[u as usize] == part {
                true => -1 - i64::from(self.place[u as usize]),
                false => i64::from(u),
            };
            for (u, weight) in self.inst.row(v) {
                words.extend([name(u), weight]);
            }
            let (edges, _) = words[first..].as_chunks_mut::<2>();
            edges.sort_unstable();
        }
    }

    /// Returns the classes of parts that may change places. Each class has several parts. Omits
    /// parts of more than [`ALIKE`] vertices, and parts with vertices that must be kept apart.
    fn classes(&self) -> Vec<Vec<u32>> {
        let apart = |v: &u32| {
            self.inst
                .apart
                .get(*v as usize)
                .is_some_and(|a| !a.is_empty())
        };
        let mut words = Vec::new();
        let mut hashed = Vec::new();
        for (part, members) in (0..).zip(self.members.iter()) {
            if members.len() > ALIKE || members.iter().any(apart) {
                continue;
            }
            self.describe(part, &mut words);
            let mut hasher = FxHasher::default();
            words.iter().for_each(|&word| hasher.write_i64(word));
            hashed.push((hasher.finish(), part));
        }
        hashed.sort_unstable();
        let mut classes = Vec::new();
        let mut other = Vec::new();
        for alike in hashed.chunk_by(|a, b| a.0 == b.0).filter(|a| a.len() > 1) {
            self.describe(alike[0].1, &mut words);
            let mut class = vec![alike[0].1];
            for &(_, part) in &alike[1..] {
                self.describe(part, &mut other);
                // A part with the same hash but another description gets no class.
                if words == other {
                    class.push(part);
                }
            }
            if class.len() > 1 {
                classes.push(class);
            }
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feasibility::is_feasible;
    use crate::graph::{Channel, Graph};
    use crate::machine::Machine;
    use crate::problem::Problem;
    use crate::random::Random;

    fn runs(block: &[u32]) -> usize {
        block.chunk_by(|a, b| a == b).count()
    }

    #[test]
    fn workers_of_two_stages_and_two_speeds_lie_in_runs() {
        // A source, forty pairs of workers and a sink. Half of the pairs are twice as heavy.
        let mut channels = Vec::new();
        for pair in 0..40 {
            let (first, second) = (1 + pair, 41 + pair);
            for (from, to) in [(0, first), (first, second), (second, 81)] {
                channels.push(Channel {
                    from,
                    to,
                    traffic: 3,
                });
            }
        }
        let load = |v: u64| 1 + u64::from((1..81).contains(&v) && (v - 1) % 40 >= 20);
        let graph = Graph::new((0..82).map(load).collect(), &channels).unwrap();
        let machine = Machine::regular(&[(2, 1), (2, 10)]).unwrap();
        let machine = machine.listed(vec![0, 2, 1, 3]).unwrap();
        let problem = Problem {
            imbalance: 1.0,
            ..Problem::new(&graph, &machine)
        };
        let (inst, _) = Instance::new(&problem).unwrap();
        let mut random = Random::new(5);
        for _ in 0..50 {
            let mut block: Vec<u32> = (0..82).map(|_| random.below(4) as u32).collect();
            for pair in 0..40 {
                block[41 + pair] = block[1 + pair];
            }
            let (cost, kept) = (inst.cost(&block), is_feasible(&inst, &block));
            gather(&inst, &mut block);
            assert_eq!(
                (inst.cost(&block), is_feasible(&inst, &block)),
                (cost, kept)
            );
            // Runs of the two ends, and of two stages with two speeds in four blocks each.
            assert!(runs(&block) <= 2 + 2 * 2 * 4, "{block:?}");
        }
    }

    #[test]
    fn components_that_differ_stay_in_place() {
        let channels = [(0, 1, 1), (0, 2, 2), (0, 3, 3), (0, 4, 4), (0, 5, 5)];
        let channels = channels.map(|(from, to, traffic)| Channel { from, to, traffic });
        let graph = Graph::new(vec![1; 6], &channels).unwrap();
        let machine = Machine::regular(&[(3, 1)]).unwrap();
        let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        let mut block = vec![2, 1, 0, 2, 1, 0];
        gather(&inst, &mut block);
        assert_eq!(block, [2, 1, 0, 2, 1, 0]);
    }
}
