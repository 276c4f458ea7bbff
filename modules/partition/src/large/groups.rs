//! Machines with more blocks than a distance table can hold. The network is divided among groups of
//! blocks. Then the vertices of each group are mapped onto its blocks.
//!
//! In a tree of distances, the two steps are independent: the cost of a channel that leaves a group
//! does not depend on the block inside the group. So the only loss is that load cannot move between
//! groups after the first step.

use super::Effort;
use super::bisection_tree::middle;
use crate::budget::Budget;
use crate::clusters::{Members, lowered};
use crate::instance::Instance;
use crate::machine::{Block, Machine, Tree};
use crate::random::Random;
use crate::tuning::large::TOGETHER;

/// Adjacent groups or blocks of the machine (node numbers) that are treated as one block.
type Group = Vec<u32>;

/// Maps an instance whose machine is a tree of distances.
///
/// Among groups, only constraints that can be expressed for groups are applied. So the mapping may
/// violate some constraints. Returns `None` if the time does not suffice. Does not use the time
/// that is left after the mapping.
pub(super) fn map(
    inst: &Instance,
    effort: &Effort,
    budget: &Budget<'_>,
    random: &mut Random,
) -> Option<Vec<u32>> {
    let machine = &inst.shared.machine;
    let mut groups = Vec::new();
    let tree = divide(inst, vec![0], &mut groups);
    let all: Vec<Vec<u32>> = groups.iter().map(|g| machine.blocks_of(g)).collect();
    let collocated = machine.collocated();
    let above = Machine::new(&tree, collocated).expect("groups of a machine");
    let above = inst.on(above, &all);
    let above = above.with_load_bounds(&shares(&above));
    let group_of = super::mapped(&above, effort, (budget, super::TimeUse::Once), random)?;

    in_each(inst, &groups, &group_of, |part, _| {
        super::mapped(part, effort, (budget, super::TimeUse::Once), random)
    })
}

/// Improves a mapping inside each group. No vertex moves to another group. Never returns `None`.
pub(super) fn improve(
    inst: &Instance,
    block: &[u32],
    budget: &Budget<'_>,
    random: &mut Random,
) -> Option<Vec<u32>> {
    let mut groups = Vec::new();
    divide(inst, vec![0], &mut groups);
    let (mut group, mut place) = (vec![0; inst.k()], vec![0; inst.k()]);
    for (g, nodes) in groups.iter().enumerate() {
        for (i, &b) in inst.shared.machine.blocks_of(nodes).iter().enumerate() {
            (group[b as usize], place[b as usize]) = (g as u32, i as u32);
        }
    }
    let group_of = lowered(block, &group);
    in_each(inst, &groups, &group_of, |part, here| {
        let own = here.iter().map(|&v| place[block[v as usize] as usize]);
        Some(super::improve(part, own.collect(), budget, random))
    })
}

/// Maps the vertices of each group with `map`, and returns the block of every vertex. `map` gets
/// the instance of the group and the numbers of its vertices in the whole instance. `group_of`
/// contains the group of each vertex. Returns `None` if `map` does so for any group.
fn in_each(
    inst: &Instance,
    groups: &[Group],
    group_of: &[u32],
    mut map: impl FnMut(&Instance, &[u32]) -> Option<Vec<u32>>,
) -> Option<Vec<u32>> {
    let members = Members::new(group_of, groups.len());
    let mut block_of = vec![0; inst.len()];
    for (group, here) in groups.iter().zip(members.iter()) {
        let (part, blocks) = inst.below(group, here);
        let found = map(&part, here)?;
        for (&v, &b) in here.iter().zip(&found) {
            block_of[v as usize] = blocks[b as usize];
        }
    }
    Some(block_of)
}

/// Returns the load bound of each group: its share of the load, times the square root of the slack
/// factor, at least the share rounded up, and at most the bounds of its blocks together. The
/// remaining slack makes it possible to fill the blocks of a group.
fn shares(above: &Instance) -> Vec<i64> {
    let rooms = (0..above.k()).map(|group| above.load_bound(group));
    let total = above.total_load() as f64;
    let all = rooms.clone().fold(0, i64::saturating_add).max(1) as f64;
    let slack = (all / total.max(1.0)).max(1.0);
    let bound = |room: i64| {
        let share = total * room as f64 / all;
        ((share * slack.sqrt()).max(share.ceil()) as i64).min(room)
    };
    rooms.map(bound).collect()
}

/// Halves a sequence of sibling nodes until no group has too many blocks. Appends the groups to
/// `groups`, and returns their tree.
fn divide(inst: &Instance, nodes: Group, groups: &mut Vec<Group>) -> Tree {
    let machine = &inst.shared.machine;
    let below = |node: u32| &machine.nodes()[node as usize];
    let mut nodes = machine.members_of(nodes);
    let blocks: usize = nodes.iter().map(|&n| below(n).blocks.len()).sum();
    if nodes.len() == 1 || blocks <= TOGETHER.max(inst.k() / TOGETHER) {
        groups.push(nodes);
        return Tree::Block(Block::default());
    }
    let right = nodes.split_off(middle(machine, &nodes));
    let ends = [&nodes, &right].map(|half| below(half[0]).blocks[0]);
    Tree::Group {
        distance: machine.distance(ends[0], ends[1]),
        members: vec![divide(inst, nodes, groups), divide(inst, right, groups)],
    }
}

#[cfg(test)]
mod tests {
    use super::super::FAST;
    use super::*;
    use crate::feasibility::is_feasible;
    use crate::graph::{Channel, Graph};
    use crate::problem::Problem;

    fn machine(hosts: &[usize]) -> Machine {
        let cores = |count| Tree::Group {
            distance: 1,
            members: vec![Tree::Block(Block::default()); count],
        };
        let host = |&count: &usize| Tree::Group {
            distance: 10,
            members: vec![cores(count), cores(count / 2)],
        };
        let tree = Tree::Group {
            distance: 100,
            members: hosts.iter().map(host).collect(),
        };
        Machine::new(&tree, 0).unwrap()
    }

    #[test]
    fn more_blocks_than_a_table_has_are_filled_group_by_group() {
        let side = 110_u32;
        let channels = (0..side * side).flat_map(|v| {
            let right = (v % side + 1 < side).then_some(v + 1);
            let down = (v + side < side * side).then_some(v + side);
            let to = right.into_iter().chain(down);
            to.map(move |to| Channel {
                from: v,
                to,
                traffic: 1 + u64::from(v % 3),
            })
        });
        let graph = Graph::new(
            vec![1; (side * side) as usize],
            &channels.collect::<Vec<_>>(),
        )
        .unwrap();
        // One host is larger than a group, and some are smaller. In the second machine, all cores
        // are in one host.
        let irregular = machine(&[1200, 300, 300, 40, 800, 900]);
        let flat = Machine::regular(&[(5000, 7)]).unwrap();
        for machine in [irregular, flat] {
            let (inst, _) = Instance::new(&Problem {
                imbalance: 0.5,
                ..Problem::new(&graph, &machine)
            })
            .unwrap();
            assert!(inst.k() > super::super::BLOCKS);
            let budget = Budget::until(None);
            let found = map(&inst, &FAST, &budget, &mut Random::new(1)).unwrap();
            assert!(is_feasible(&inst, &found));
            let rows: Vec<u32> = (0..side * side)
                .map(|v| (u64::from(v) * inst.k() as u64 / u64::from(side * side)) as u32)
                .collect();
            assert!(inst.cost(&found) < inst.cost(&rows));
        }
    }

    #[test]
    fn groups_hold_every_block_once_at_the_distances_of_the_machine() {
        for machine in [
            machine(&[1200, 3, 800, 40, 2000]),
            Machine::regular(&[(30, 1), (2, 4), (100, 9)]).unwrap(),
        ] {
            let graph = Graph::new(vec![1; 10], &[]).unwrap();
            let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
            let mut groups = Vec::new();
            let tree = divide(&inst, vec![0], &mut groups);
            let above = Machine::new(&tree, 0).unwrap();
            let all: Vec<Vec<u32>> = groups.iter().map(|g| machine.blocks_of(g)).collect();
            let mut seen = all.concat();
            seen.sort_unstable();
            assert_eq!(seen, (0..machine.len() as u32).collect::<Vec<_>>());
            for (a, one) in all.iter().enumerate() {
                assert!(one.len() <= TOGETHER);
                let part = Machine::new(&machine.part(&groups[a]), 0).unwrap();
                for (b, other) in all.iter().enumerate().filter(|(b, _)| *b != a) {
                    let apart = above.distance(a as u32, b as u32);
                    assert_eq!(apart, machine.distance(one[0], other[other.len() - 1]));
                }
                for (i, &block) in one.iter().enumerate() {
                    assert_eq!(part.distance(0, i as u32), machine.distance(one[0], block));
                }
            }
        }
    }
}
