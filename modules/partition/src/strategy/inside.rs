//! Search in one group of the machine, as an instance of its own.
//!
//! From outside a group, all its blocks are at the same distance. So a gain inside the group is a
//! gain of the whole mapping. The search of a quarter of the network on a quarter of the blocks
//! takes much less than a quarter of the time.

use super::Context;
use crate::budget::Budget;
use crate::clusters::marks;
use crate::instance::Instance;
use crate::random::Random;
use crate::refine::anneal::Best;
use crate::tuning::small::LARGE;

/// Subproblem of one group.
struct Inside {
    inst: Instance,
    /// Vertices of the whole instance that are in the group, and the blocks of the group.
    vertices: Vec<u32>,
    blocks: Vec<u32>,
}

/// Searches each of the uppermost groups separately, starting from its part of `best`, and puts the
/// improvements into `best`. All groups together get at most `share` of the budget. Returns the
/// number of steps that the searches may have taken. Does nothing and returns 0 for a small
/// instance, an infeasible mapping, or an instance with other limits than load bounds.
///
/// `search` is called for each group. It may call this function again for the groups inside.
pub(super) fn improve(
    inst: &Instance,
    best: &mut Best,
    (budget, share): (&Budget<'_>, f64),
    random: &mut Random,
    search: impl Fn(&mut Context<'_>) -> Best,
) -> u64 {
    if inst.len() < LARGE || !best.feasible() || !fits(inst) {
        return 0;
    }
    let groups = groups(inst).into_iter();
    let groups: Vec<Inside> = groups
        .map(|node| Inside::new(inst, &best.block, node))
        .collect();
    let costs = groups.iter().map(|g| g.inst.cost(&g.pick(&best.block)));
    let costs: Vec<i64> = costs.collect();
    // If nearly all cost arises between groups, the possible gain is small.
    let inside = costs.iter().sum::<i64>().max(1) as f64;
    let share = share * (3.0 * inside / best.cost.max(1) as f64).min(1.0);
    let mut spent = 0;
    for (group, cost) in groups.iter().zip(costs) {
        if budget.ended() || cost == 0 {
            continue;
        }
        let share = share * cost as f64 / inside;
        let steps = (budget.steps as f64 * share) as u64;
        let part = Budget { steps, ..*budget };
        let initial_solutions = vec![group.pick(&best.block)];
        let mut context = Context::new(
            &group.inst,
            part,
            Random::new(random.next()),
            initial_solutions,
        );
        let found = search(&mut context);
        spent += steps;
        if found.feasible() && found.cost < cost {
            group.put(&found.block, &mut best.block);
            best.cost -= cost - found.cost;
        }
    }
    spent
}

/// Returns true if groups can be searched separately, because only load bounds connect them.
fn fits(inst: &Instance) -> bool {
    inst.is_plain() && !inst.shared.has_places()
}

/// Returns the uppermost groups that have several blocks, below the smallest group of all blocks.
fn groups(inst: &Instance) -> Vec<u32> {
    let machine = &inst.shared.machine;
    let mut members = machine.members_of(vec![0]);
    members.retain(|&c| machine.nodes()[c as usize].blocks.len() > 1);
    members
}

impl Inside {
    /// Creates the subproblem of a group, for an instance that [`fits`].
    fn new(inst: &Instance, block: &[u32], node: u32) -> Self {
        let inside = marks(&inst.shared.machine.nodes()[node as usize].blocks, inst.k());
        let all = 0..inst.len() as u32;
        let vertices: Vec<u32> = all
            .filter(|&v| inside[block[v as usize] as usize])
            .collect();
        let (inst, blocks) = inst.below(&[node], &vertices);
        Self {
            inst,
            vertices,
            blocks,
        }
    }

    /// Returns the block of each vertex of the group, numbered within the group. `block` contains
    /// the block of each vertex of the whole instance.
    fn pick(&self, block: &[u32]) -> Vec<u32> {
        let place = |b: u32| self.blocks.partition_point(|&o| o < b) as u32;
        self.vertices
            .iter()
            .map(|&v| place(block[v as usize]))
            .collect()
    }

    /// Copies a mapping of the group into the mapping of the whole instance.
    fn put(&self, found: &[u32], block: &mut [u32]) {
        for (&v, &b) in self.vertices.iter().zip(found) {
            block[v as usize] = self.blocks[b as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feasibility::is_feasible;
    use crate::graph::{Channel, Graph};
    use crate::machine::{Block, Machine, Tree};
    use crate::problem::Problem;
    use crate::refine::exchange;
    use crate::refine::state::State;

    /// Returns a ring with chords on three hosts: one with two sockets of two cores, one with three
    /// cores, and one with one core.
    fn instance() -> Instance {
        let channels = (0..240_u32).flat_map(|v| {
            let join = |to: u32, traffic| Channel {
                from: v,
                to: to % 240,
                traffic,
            };
            [join(v + 1, 1 + u64::from(v % 5)), join(v + 17, 1)]
        });
        let loads = (0..240).map(|v| 1 + v % 4).collect();
        let graph = Graph::new(loads, &channels.collect::<Vec<_>>()).unwrap();
        let core = || Tree::Block(Block::default());
        let group = |distance, members| Tree::Group { distance, members };
        let sockets = [(); 2].map(|()| group(1, vec![core(), core()]));
        let hosts = vec![
            group(10, sockets.to_vec()),
            group(1, vec![core(), core(), core()]),
            core(),
        ];
        let machine = Machine::new(&group(100, hosts), 0).unwrap();
        Instance::new(&Problem::new(&graph, &machine)).unwrap().0
    }

    #[test]
    fn groups_cost_by_themselves_what_they_cost_in_the_whole() {
        let inst = instance();
        assert!(fits(&inst));
        let block: Vec<u32> = (0..240).map(|v| v * 7 % 8).collect();
        let mut whole = 0;
        for node in groups(&inst) {
            let part = Inside::new(&inst, &block, node);
            let own = part.pick(&block);
            whole += part.inst.cost(&own);
            let mut copy = block.clone();
            part.put(&own, &mut copy);
            assert_eq!(copy, block);
        }
        let apart = |v: u32, u: u32| inst.distance(block[v as usize], block[u as usize]) == 100;
        let rows = (0..240).flat_map(|v| inst.row(v).map(move |e| (v, e)));
        let between = rows
            .filter(|&(v, (u, _))| apart(v, u))
            .map(|(_, e)| e.1 * 100);
        assert_eq!(whole + between.sum::<i64>() / 2, inst.cost(&block));
    }

    #[test]
    fn gains_inside_a_group_are_gains_of_the_mapping() {
        let inst = instance();
        let mut random = Random::new(7);
        let packed = crate::pack::pack(&inst, &mut random, crate::pack::Effort::of(10_000));
        assert!(packed.feasible());
        let mut best = Best::of(&State::new(&inst, packed.block));
        let before = best.cost;
        let budget = Budget {
            steps: 4_000_000,
            ..Budget::until(None)
        };
        let search = |context: &mut Context<'_>| {
            let first = Best::of(&State::new(
                context.inst,
                context.initial_solutions[0].clone(),
            ));
            exchange::improve(context.inst, &first, 40_000, None, &mut context.random).0
        };
        improve(&inst, &mut best, (&budget, 0.5), &mut random, search);
        assert!(best.cost < before);
        assert_eq!(best.cost, inst.cost(&best.block));
        assert!(is_feasible(&inst, &best.block));
    }
}
