//! What lies in a group of the machine is divided anew among its members, on the group's own
//! problem (see [`crate::multilevel::view`]); what lies below follows.
//!
//! A division that is no better on its own is dropped before anything below it is looked at.

use std::time::Instant;

use super::anneal::{Best, Schedule, anneal, typical};
use super::pair;
use super::state::State;
use crate::clusters::{lifted, lowered};
use crate::feasibility::keeps;
use crate::instance::Instance;
use crate::multilevel::coarsen::pairs;
use crate::multilevel::initial::{Tries, section};
use crate::multilevel::view::{Groups, view};
use crate::random::Random;
use crate::tuning::divisions::{BELOW, ENTRIES};

/// Where a new division starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// How it is.
    Here,
    /// Bisections.
    Nothing,
    /// How it is, but for two members, divided exactly.
    Pair,
}

/// How long a division is annealed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) from: From,
    /// Steps for each vertex.
    pub(crate) steps: u64,
    pub(crate) stop_at: Option<Instant>,
}

/// A division in the making.
struct Work<'a> {
    effort: &'a Effort,
    random: &'a mut Random,
    spent: u64,
}

/// Divides what lies below a node of the machine anew; returns a mapping no worse than the given
/// one and the steps taken.
pub(crate) fn regroup(
    inst: &Instance,
    best: &Best,
    node: u32,
    effort: &Effort,
    random: &mut Random,
) -> (Best, u64) {
    let Some(groups) = Groups::below(inst, vec![node]) else {
        return (best.clone(), 1);
    };
    let inside = |v: &u32| groups.of[best.block[*v as usize] as usize] != u32::MAX;
    let vertices: Vec<u32> = (0..inst.len() as u32).filter(inside).collect();
    if vertices.len() < 2 {
        return (best.clone(), 1);
    }
    let slack_share = if random.below(3) == 0 {
        0.0
    } else {
        random.unit()
    };
    let mut part = view(inst, &vertices, &groups, slack_share);
    let old: Vec<u32> = vertices
        .iter()
        .map(|&v| groups.of[best.block[v as usize] as usize])
        .collect();
    let (now, faults) = {
        let state = State::new(&part, old.clone());
        (state.cost, state.faults)
    };
    if faults > 0 {
        part = view(inst, &vertices, &groups, 1.0);
    }
    let mut work = Work {
        effort,
        random,
        spent: (inst.targets.len() * 4) as u64,
    };
    let found = match effort.from {
        From::Here => work.warm(&part, old.clone()),
        From::Nothing => work.fresh(&part, &old),
        From::Pair => work.pair(&part, old.clone()),
    };
    let farther = inst.shared.machine.nodes()[groups_node(inst, node) as usize].distance;
    let worse = (found.cost - now) as f64 * f64::from(farther);
    let patience = work.random.unit() * work.random.unit() * 0.004 * best.cost as f64;
    if found.block == old || !found.feasible() || worse > patience {
        return (best.clone(), work.spent);
    }
    let mut block = best.block.clone();
    work.descend(inst, &groups, (&vertices, &found.block), &mut block);
    // The search counts loads and pairs, but not pins.
    let lies = |v: &u32| inst.may_lie(*v, block[*v as usize]);
    if !inst.set.is_empty() && !vertices.iter().all(lies) {
        return (best.clone(), work.spent);
    }
    if pair::fits(inst) && keeps(inst, &block) {
        let mut changed = vec![false; inst.k()];
        let moved = block.iter().zip(&best.block).filter(|b| b.0 != b.1);
        moved.for_each(|(&b, &o)| (changed[b as usize], changed[o as usize]) = (true, true));
        work.spent += pair::polish(inst, &mut block, &changed, work.random);
    }
    let found = Best::of(&State::new(inst, block));
    work.spent += (inst.len() * inst.k() / 8) as u64;
    if best.beats(&found) {
        return (best.clone(), work.spent);
    }
    (found, work.spent)
}

/// The first node with several members from here on.
fn groups_node(inst: &Instance, mut node: u32) -> u32 {
    let nodes = inst.shared.machine.nodes();
    while let [only] = nodes[node as usize].children[..] {
        node = only;
    }
    node
}

impl Work<'_> {
    /// Annealing of clusters first, of vertices last.
    fn warm(&mut self, part: &Instance, mut block: Vec<u32>) -> Best {
        let depth = self.random.below(4);
        let heaviest = (0..part.k()).map(|b| part.load_bound(b)).min().unwrap_or(0) / 4;
        let mut levels: Vec<(Instance, Vec<u32>)> = Vec::new();
        while levels.len() < depth {
            let fine = levels.last().map_or(part, |l| &l.0);
            let (map, clusters) = pairs(fine, &block, heaviest, self.random);
            if clusters * 20 > fine.len() * 19 {
                break;
            }
            let coarse = fine.contract(&map, clusters);
            block = lifted(&map, clusters, &block);
            levels.push((coarse, map));
        }
        let warmth = 0.03 + 0.4 * self.random.unit() * self.random.unit();
        loop {
            let here = levels.last().map_or(part, |l| &l.0);
            let found = self.heat(here, block, warmth, self.effort.steps);
            let Some((_, map)) = levels.pop() else {
                return found;
            };
            block = lowered(&map, &found.block);
        }
    }

    /// Bisections, a touch of annealing, and the members named as they were.
    fn fresh(&mut self, part: &Instance, old: &[u32]) -> Best {
        let mut block = vec![0; part.len()];
        let all = (0..part.len() as u32).collect();
        let tries = Tries {
            coarsest: 2,
            rounds: 1,
        };
        let slack_share = self.random.unit();
        section(
            part,
            (all, vec![0]),
            (tries, slack_share),
            &mut block,
            self.random,
        );
        self.spent += 20 * (part.len() + part.targets.len()) as u64;
        let mut found = self.heat(part, block, 0.1, self.effort.steps);
        if part.set.is_empty() && part.dims() == 1 {
            rename(part, old, &mut found.block);
        }
        found
    }

    /// Two members, exactly.
    fn pair(&mut self, part: &Instance, mut block: Vec<u32>) -> Best {
        let k = part.k();
        let first = self.random.below(k);
        let second = (first + 1 + self.random.below(k - 1)) % k;
        let state = State::new(part, block.clone());
        if pair::fits(part) && state.faults == 0 {
            let sides = [first as u32, second as u32];
            self.spent += pair::redivide(part, &mut block, sides, ENTRIES, self.random).1;
        }
        Best::of(&State::new(part, block))
    }

    fn heat(&mut self, part: &Instance, block: Vec<u32>, warmth: f64, steps: u64) -> Best {
        let mut state = State::new(part, block);
        let hot = typical(&state) * warmth;
        let schedule = Schedule::new(steps * part.len() as u64, hot, 0.1, self.effort.stop_at);
        self.spent += schedule.steps;
        anneal(&mut state, self.random, &schedule)
    }

    /// Carries a division down: what comes into a group is put beside its neighbours there, and the
    /// group's own division annealed, as far down as anything changed.
    fn descend(
        &mut self,
        inst: &Instance,
        groups: &Groups,
        (vertices, to): (&[u32], &[u32]),
        block: &mut [u32],
    ) {
        for g in 0..groups.len() {
            let members: Vec<u32> = (0..vertices.len())
                .filter(|&i| to[i] as usize == g)
                .map(|i| vertices[i])
                .collect();
            let came = members
                .iter()
                .any(|&v| groups.of[block[v as usize] as usize] as usize != g);
            let stayed = vertices
                .iter()
                .filter(|&&v| groups.of[block[v as usize] as usize] as usize == g)
                .count();
            if !came && stayed == members.len() {
                continue;
            }
            let Some(below) = Groups::below(inst, groups.parts[g].clone()) else {
                let nodes = inst.shared.machine.nodes();
                let leaf = nodes[groups.parts[g][0] as usize].blocks[0];
                members.iter().for_each(|&v| block[v as usize] = leaf);
                continue;
            };
            if members.is_empty() {
                continue;
            }
            let part = view(inst, &members, &below, 0.5);
            let start = settle(&part, &members, &below, block);
            let found = self.heat(&part, start, 0.1, BELOW);
            self.spent += (inst.len() + part.targets.len() * 2) as u64;
            self.descend(inst, &below, (&members, &found.block), block);
        }
    }
}

/// Gives equal members the names under which most of their load lay before.
fn rename(part: &Instance, old: &[u32], block: &mut [u32]) {
    let k = part.k();
    let mut shared = vec![0_i64; k * k];
    for (v, (&o, &b)) in old.iter().zip(block.iter()).enumerate() {
        shared[b as usize * k + o as usize] += part.load(v as u32).max(1);
    }
    let mut pairs: Vec<usize> = (0..k * k).collect();
    pairs.sort_by_key(|&i| (-shared[i], i));
    let mut name = vec![u32::MAX; k];
    let mut taken = vec![false; k];
    for i in pairs {
        let (b, o) = (i / k, i % k);
        if name[b] == u32::MAX && !taken[o] && part.load_bound(b) == part.load_bound(o) {
            name[b] = o as u32;
            taken[o] = true;
        }
    }
    if name.contains(&u32::MAX) {
        return;
    }
    block.iter_mut().for_each(|b| *b = name[*b as usize]);
}

/// Where vertices of a group lie among its members: newcomers beside what they talk to most.
fn settle(part: &Instance, members: &[u32], below: &Groups, block: &[u32]) -> Vec<u32> {
    let k = part.k();
    let mut load = vec![0_i64; k];
    let mut start: Vec<u32> = members
        .iter()
        .map(|&v| below.of[block[v as usize] as usize])
        .collect();
    for (v, &b) in start.iter().enumerate() {
        if b != u32::MAX {
            load[b as usize] += part.load(v as u32);
        }
    }
    let mut pull = vec![0_i64; k];
    for v in 0..start.len() {
        if start[v] != u32::MAX {
            continue;
        }
        pull.fill(0);
        for (u, w) in part.row(v as u32) {
            if start[u as usize] != u32::MAX {
                pull[start[u as usize] as usize] += w;
            }
        }
        let size = part.load(v as u32);
        let rank = |b: usize| {
            let fits = load[b] + size <= part.load_bound(b);
            (part.may_lie(v as u32, b as u32), fits, pull[b], -load[b])
        };
        let b = (0..k).max_by_key(|&b| rank(b)).unwrap_or(0);
        load[b] += size;
        start[v] = b as u32;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Channel, Graph};
    use crate::machine::Machine;
    use crate::problem::Problem;

    /// A ring with chords, loads from 1 to 5.
    fn ring(n: u32) -> Graph {
        let join = |from: u32, to: u32, traffic| Channel {
            from,
            to: to % n,
            traffic,
        };
        let near = (0..n).map(|v| join(v, v + 1, 1 + u64::from(v % 7)));
        let far = (0..n).step_by(3).map(|v| join(v, v + n / 5, 2));
        let loads = (0..n).map(|v| 1 + u64::from(v * 7 % 5)).collect();
        Graph::new(loads, &near.chain(far).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn improves_or_returns_what_it_was_given() {
        let graph = ring(120);
        let machine = Machine::regular(&[(3, 1), (2, 10), (2, 100)]).unwrap();
        let problem = Problem::new(&graph, &machine);
        let (inst, _) = Instance::new(&problem).unwrap();
        let mut random = Random::new(5);
        let packed = crate::pack::pack(&inst, &mut random, crate::pack::Effort::of(10_000));
        let block = packed.block;
        assert!(keeps(&inst, &block));
        let mut best = Best::of(&State::new(&inst, block));
        let first = best.cost;
        for round in 0..40 {
            for from in [From::Here, From::Nothing, From::Pair] {
                let effort = Effort {
                    from,
                    steps: 50,
                    stop_at: None,
                };
                let node = if round % 3 == 0 { 0 } else { 1 };
                let (found, _) = regroup(&inst, &best, node, &effort, &mut random);
                assert!(found.cost <= best.cost);
                assert_eq!(found.cost, inst.cost(&found.block));
                assert!(keeps(&inst, &found.block));
                best = found;
            }
        }
        assert!(best.cost * 2 < first, "{} from {first}", best.cost);
    }

    #[test]
    fn names_members_by_what_lay_there() {
        let graph = ring(12);
        let machine = Machine::regular(&[(3, 1)]).unwrap();
        let problem = Problem::new(&graph, &machine);
        let (inst, _) = Instance::new(&problem).unwrap();
        let old = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2];
        let mut block = [2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 0];
        rename(&inst, &old, &mut block);
        assert_eq!(block, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 1]);
    }
}
