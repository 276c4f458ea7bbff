//! Division by size of the parts that were not yet divided when the time ended.
//!
//! The vertices of a part are assigned to its blocks in order of their numbers if they fit, because
//! neighbours mostly have close numbers. Otherwise the largest vertices are assigned first, each to
//! the block with the most space. Existing divisions are kept, so that the most expensive cuts
//! remain those that the search has found.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Divided;
use super::bisection_tree::BisectionTree;
use crate::clusters::Members;
use crate::instance::Instance;

/// Returns the block of each vertex, or `None` if neither method satisfies the load bounds. Other
/// constraints are ignored.
pub(super) fn by_size(tree: &BisectionTree<'_>, divided: &Divided) -> Option<Vec<u32>> {
    let (inst, Divided { parts, part }) = (tree.inst, divided);
    let mut block = vec![0; inst.len()];
    let mut room: Vec<i64> = (0..inst.k()).map(|b| inst.load_bound(b)).collect();
    // Vertices that do not fit into their part.
    let mut left = Vec::new();
    for (p, here) in (0..).zip(Members::new(part, parts.len()).iter()) {
        let blocks = parts.blocks_in(tree, p);
        if !in_turn(inst, here, blocks, (&mut room, &mut block)) {
            left.extend(largest_first(inst, here, blocks, (&mut room, &mut block)));
        }
    }
    let all: Vec<u32> = (0..inst.k() as u32).collect();
    let out = largest_first(inst, &left, &all, (&mut room, &mut block));
    out.is_empty().then_some(block)
}

/// Fills one block after the other with the vertices, in their order. Returns true if all vertices
/// fit, and reduces `room`. Otherwise `room` is not changed, but entries of `block` may be.
fn in_turn(
    inst: &Instance,
    mut vertices: &[u32],
    blocks: &[u32],
    (room, block): (&mut [i64], &mut [u32]),
) -> bool {
    let mut loads = vec![0; blocks.len()];
    let mut total: i64 = vertices.iter().map(|&v| inst.load(v)).sum();
    let mut all: i64 = blocks.iter().map(|&b| room[b as usize]).sum();
    // Each block gets its share of the load, not all that it can take. Otherwise the last block
    // would stay empty.
    for (i, &b) in blocks.iter().enumerate() {
        let own = room[b as usize];
        let share = (total as f64 * own as f64 / all.max(1) as f64).ceil() as i64;
        while let [v, rest @ ..] = vertices {
            let more = loads[i] + inst.load(*v);
            if more > own || (loads[i] >= share && i + 1 < blocks.len()) {
                break;
            }
            loads[i] = more;
            block[*v as usize] = b;
            vertices = rest;
        }
        total -= loads[i];
        all -= own;
    }
    let fits = vertices.is_empty();
    if fits {
        (blocks.iter().zip(loads)).for_each(|(&b, load)| room[b as usize] -= load);
    }
    fits
}

/// Assigns the vertices with the largest loads first, each to the block with the most space, and
/// reduces the space of that block in `room`. Returns the vertices that fit into no block.
fn largest_first(
    inst: &Instance,
    vertices: &[u32],
    blocks: &[u32],
    (room, block): (&mut [i64], &mut [u32]),
) -> Vec<u32> {
    let mut order = vertices.to_vec();
    order.sort_by_key(|&v| Reverse(inst.load(v)));
    let mut heap: BinaryHeap<(i64, Reverse<u32>)> = BinaryHeap::new();
    heap.extend(blocks.iter().map(|&b| (room[b as usize], Reverse(b))));
    order.retain(|&v| {
        let Some(mut most) = heap.peek_mut().filter(|most| most.0 >= inst.load(v)) else {
            return true;
        };
        let b = most.1.0;
        most.0 -= inst.load(v);
        room[b as usize] = most.0;
        block[v as usize] = b;
        false
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feasibility::is_feasible;
    use crate::random::Random;
    use crate::{Channel, Graph, Machine, Problem};

    #[test]
    fn partial_divisions_are_finished_within_the_bounds() {
        let mut random = Random::new(5);
        let machine = Machine::regular(&[(4, 1), (4, 10)]).unwrap();
        for heaviest in [1, 20] {
            let n = 800;
            let loads = (0..n).map(|_| 1 + random.below(heaviest) as u64).collect();
            let channels = (1..n).map(|v| Channel {
                from: v - 1,
                to: v,
                traffic: 1,
            });
            let graph = Graph::new(loads, &channels.collect::<Vec<_>>()).unwrap();
            let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
            let tree = BisectionTree::new(&inst, 0.5);
            // Undivided, and divided among hosts. In the latter case, each host gets an even run of
            // the order.
            let mut divided = Divided::whole(&tree, inst.len());
            let block = by_size(&tree, &divided).unwrap();
            assert!(is_feasible(&inst, &block));
            for _ in 0..2 {
                divided.parts = divided.parts.halved(&tree, 0).0;
            }
            let (total, mut before) = (inst.total_load(), 0);
            for v in 0..n {
                divided.part[v as usize] = (before * 4 / total) as u32;
                before += inst.load(v);
            }
            let block = by_size(&tree, &divided).unwrap();
            assert!(is_feasible(&inst, &block));
            let stays = (0..n).filter(|&v| block[v as usize] / 4 == divided.part[v as usize]);
            assert!(stays.count() as u32 > n - 40);
        }
    }

    #[test]
    fn infeasible_division_gives_none() {
        let machine = Machine::regular(&[(2, 1)]).unwrap();
        let graph = Graph::new(vec![3, 3, 3], &[]).unwrap();
        let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        let inst = inst.with_load_bounds(&[5, 5]);
        let tree = BisectionTree::new(&inst, 0.5);
        let divided = Divided::whole(&tree, 3);
        assert_eq!(by_size(&tree, &divided), None);
    }
}
