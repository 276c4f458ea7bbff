//! Decides whether vertices fit into blocks at all. Blocks are filled one after another, with
//! counts of equal sizes (bin completion, Korf 2002, on counts).
//!
//! The largest remaining vertex goes into one of several equal blocks, and all ways to complete
//! that block are tried. The free space of a block must not exceed the total slack. Each
//! combination of remaining vertices and blocks is examined once.

use std::collections::{BTreeMap, HashSet};

use super::limit::Limit;
use crate::clusters::add;
use crate::instance::Instance;
use crate::tuning::proofs::{REMEMBERED, SIZES, WAYS};

/// Largest number of blocks, because each block is a level of recursion.
const BLOCKS: usize = 512;

/// Result of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// A feasible mapping, with the block of each vertex.
    Found(Vec<u32>),
    /// Proof that no feasible mapping exists.
    Never,
    /// Undecided, or the instance has constraints that this search does not support.
    Open,
}

/// Searches for a feasible mapping if only sizes matter. Returns [`Fit::Open`] if the limit is
/// reached, if no mapping was found but some ways were omitted, or if the instance is not
/// supported. Pins, separation, lower limits, limits shared by blocks, more than `BLOCKS` blocks
/// and more than `SIZES` different sizes are not supported.
pub(crate) fn fill(inst: &Instance, limit: Limit<'_>) -> Fit {
    let (n, k, d) = (inst.len(), inst.k(), inst.dims());
    let shared = &inst.shared;
    let plain = inst.set.is_empty() && inst.apart.is_empty() && shared.lower.is_empty();
    if !plain || shared.has_places() || k > BLOCKS {
        return Fit::Open;
    }
    let mut sizes: BTreeMap<Vec<i64>, Vec<u32>> = BTreeMap::new();
    for v in 0..n as u32 {
        sizes.entry(inst.size_of(v).to_vec()).or_default().push(v);
        if sizes.len() > SIZES {
            return Fit::Open;
        }
    }
    let mut rooms: BTreeMap<Vec<i64>, Vec<u32>> = BTreeMap::new();
    for b in 0..k {
        let room = shared.upper[b * d..(b + 1) * d].to_vec();
        rooms.entry(room).or_default().push(b as u32);
    }
    // The largest first.
    let (size, vertices): (Vec<_>, Vec<_>) = sizes.into_iter().rev().unzip();
    let (room, blocks): (Vec<_>, Vec<_>) = rooms.into_iter().rev().unzip();
    let mut search = Fill {
        left: vertices.iter().map(|v| v.len() as u32).collect(),
        free: blocks.iter().map(|b| b.len() as u32).collect(),
        size,
        room,
        failed: HashSet::new(),
        filled: Vec::new(),
        nodes: 0,
        limit,
        stopped: false,
        partial: false,
    };
    let slack = |i: usize| {
        let whole = search.room.iter().zip(&search.free);
        let whole = whole.map(|(r, &f)| i128::from(r[i]) * i128::from(f));
        let taken = search.size.iter().zip(&search.left);
        let taken = taken.map(|(s, &l)| i128::from(s[i]) * i128::from(l));
        whole.sum::<i128>() - taken.sum::<i128>()
    };
    let slack: Vec<i128> = (0..d).map(slack).collect();
    if search.fill_rest(&slack) {
        let (mut vertices, mut blocks) = (vertices, blocks);
        let mut block = vec![0; n];
        for (room, inside) in search.filled {
            let b = blocks[room].pop().expect("no more than there are");
            for (class, count) in inside {
                for _ in 0..count {
                    let v = vertices[class].pop().expect("no more than there are");
                    block[v as usize] = b;
                }
            }
        }
        return Fit::Found(block);
    }
    match search.stopped || search.partial {
        true => Fit::Open,
        false => Fit::Never,
    }
}

/// Pairs of the index of a size and a count.
type Inside = Vec<(usize, u32)>;

struct Fill<'a> {
    /// Distinct sizes, the largest first, and the remaining number of each.
    size: Vec<Vec<i64>>,
    left: Vec<u32>,
    /// Distinct capacities of blocks, and the number of empty blocks of each.
    room: Vec<Vec<i64>>,
    free: Vec<u32>,
    /// Remaining counts that are known not to fit.
    failed: HashSet<Box<[u32]>>,
    filled: Vec<(usize, Inside)>,
    nodes: u64,
    limit: Limit<'a>,
    stopped: bool,
    /// True if some ways were omitted.
    partial: bool,
}

impl Fill<'_> {
    /// Returns true if it finds that the remaining vertices fit into the empty blocks, and appends
    /// the filled blocks to `filled`. `slack` is the space that they leave, by dimension. False is
    /// a proof only if neither `stopped` nor `partial` is set.
    fn fill_rest(&mut self, slack: &[i128]) -> bool {
        let Some(first) = self.left.iter().position(|&l| l > 0) else {
            return true;
        };
        if slack.iter().any(|&s| s < 0) {
            return false;
        }
        let state: Box<[u32]> = self.left.iter().chain(&self.free).copied().collect();
        if self.failed.contains(&state) {
            return false;
        }
        for room in 0..self.room.len() {
            if self.free[room] == 0 {
                continue;
            }
            let mut ways = Vec::new();
            let mut inside = vec![(first, 1)];
            let mut space = self.room[room].clone();
            add(&mut space, &self.size[first], -1);
            if space.iter().any(|&s| s < 0) {
                continue;
            }
            self.left[first] -= 1;
            self.ways(first, &mut space, &mut inside, slack, &mut ways);
            self.left[first] += 1;
            // The fullest first.
            ways.sort_by(|a, b| a.0.cmp(&b.0));
            self.free[room] -= 1;
            for (space, inside) in ways {
                if self.stopped {
                    break;
                }
                let rest: Vec<i128> = slack
                    .iter()
                    .zip(&space)
                    .map(|(s, &w)| s - i128::from(w))
                    .collect();
                inside.iter().for_each(|&(c, n)| self.left[c] -= n);
                self.filled.push((room, inside));
                if self.fill_rest(&rest) {
                    return true;
                }
                let (_, inside) = self.filled.pop().expect("just pushed");
                inside.iter().for_each(|&(c, n)| self.left[c] += n);
            }
            self.free[room] += 1;
        }
        if !self.stopped && !self.partial && self.failed.len() < REMEMBERED {
            self.failed.insert(state);
        }
        false
    }

    /// Collects in `ways` all ways to complete a block with sizes from `class` on, each with the
    /// space that stays free. Omits ways whose free space exceeds `slack`. Collects at most `WAYS`,
    /// and sets `partial` if some may be missing therefore. Sets `stopped` and returns early if the
    /// limit is reached.
    fn ways(
        &mut self,
        class: usize,
        space: &mut Vec<i64>,
        inside: &mut Inside,
        slack: &[i128],
        ways: &mut Vec<(Vec<i64>, Inside)>,
    ) {
        self.nodes += 1;
        if self.nodes >= self.limit.nodes || self.nodes.is_multiple_of(512) && self.limit.is_over()
        {
            self.stopped = true;
        }
        self.partial |= ways.len() >= WAYS;
        if self.stopped || ways.len() >= WAYS {
            return;
        }
        let fits =
            |c: &usize| self.left[*c] > 0 && space.iter().zip(&self.size[*c]).all(|(w, s)| w >= s);
        let next = (class..self.size.len()).find(fits);
        let Some(class) = next else {
            if space.iter().zip(slack).all(|(&w, &s)| i128::from(w) <= s) {
                ways.push((space.clone(), inside.clone()));
            }
            return;
        };
        let mut most = self.left[class];
        for (&room, &size) in space.iter().zip(&self.size[class]) {
            if size > 0 {
                most = most.min(u32::try_from(room / size).unwrap_or(u32::MAX));
            }
        }
        for count in (0..=most).rev() {
            add(space, &self.size[class], -i64::from(count));
            self.left[class] -= count;
            if count > 0 {
                inside.push((class, count));
            }
            self.ways(class + 1, space, inside, slack, ways);
            if count > 0 {
                inside.pop();
            }
            self.left[class] += count;
            add(space, &self.size[class], i64::from(count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::machine::{Block, Machine, Tree};
    use crate::problem::Problem;
    use proptest::prelude::*;

    const LIMIT: Limit<'_> = Limit {
        nodes: 1_000_000,
        stop_at: None,
        watch: None,
    };

    fn instance(load: &[u64], memory: &[u64], blocks: &[Block], imbalance: f64) -> Instance {
        let graph = Graph::new(load.to_vec(), &[]).unwrap();
        let graph = graph.with_memory(memory.to_vec()).unwrap();
        let members = blocks.iter().map(|b| Tree::Block(*b)).collect();
        let tree = Tree::Group {
            distance: 1,
            members,
        };
        let machine = Machine::new(&tree, 0).unwrap();
        let problem = Problem {
            imbalance,
            ..Problem::new(&graph, &machine)
        };
        Instance::new(&problem).unwrap().0
    }

    fn is_feasible(inst: &Instance, block: &[u32]) -> bool {
        inst.sums(block)
            .iter()
            .zip(&inst.shared.upper)
            .all(|(s, u)| s <= u)
    }

    proptest! {
        #[test]
        fn fill_agrees_with_enumeration(
            sizes in prop::collection::vec((0_u64..9, 0_u64..6), 1..8),
            rooms in prop::collection::vec((1_u32..3, prop::option::of(4_u64..14), prop::option::of(1_u32..5)), 1..4),
            imbalance in prop::sample::select(&[0.0, 0.03, 0.2, 1.0][..]),
        ) {
            let load: Vec<u64> = sizes.iter().map(|s| s.0).collect();
            let memory: Vec<u64> = sizes.iter().map(|s| s.1).collect();
            let block = |&(speed, memory, slots): &(u32, Option<u64>, Option<u32>)| Block {
                speed,
                memory,
                slots,
            };
            let blocks: Vec<Block> = rooms.iter().map(block).collect();
            // `Instance::new` rejects some infeasible cases, which are skipped.
            let graph = Graph::new(load.clone(), &[]).unwrap();
            let graph = graph.with_memory(memory.clone()).unwrap();
            let tree = Tree::Group {
                distance: 1,
                members: blocks.iter().map(|b| Tree::Block(*b)).collect(),
            };
            let machine = Machine::new(&tree, 0).unwrap();
            let problem = Problem { imbalance, ..Problem::new(&graph, &machine) };
            let Ok((inst, _)) = Instance::new(&problem) else {
                return Ok(());
            };
            let (n, k) = (inst.len(), inst.k());
            let any = (0..k.pow(n as u32)).any(|mut code| {
                let digits = (0..n).map(|_| {
                    let digit = (code % k) as u32;
                    code /= k;
                    digit
                });
                let block: Vec<u32> = digits.collect();
                is_feasible(&inst, &block)
            });
            match fill(&inst, LIMIT) {
                Fit::Found(block) => prop_assert!(is_feasible(&inst, &block)),
                Fit::Never => prop_assert!(!any),
                Fit::Open => prop_assert!(false, "small"),
            }
        }
    }

    #[test]
    fn many_of_few_sizes_are_counted() {
        // The total is 6,700, or 335 for each block, which is not a sum of the two sizes.
        let load: Vec<u64> = (0..350).map(|i| if i < 200 { 17 } else { 22 }).collect();
        let blocks = [Block::default(); 20];
        let inst = instance(&load, &vec![0; 350], &blocks, 0.0);
        assert_eq!(fill(&inst, LIMIT), Fit::Never);
        let loose = instance(&load, &vec![0; 350], &blocks, 0.03);
        let Fit::Found(block) = fill(&loose, LIMIT) else {
            panic!("three percent are enough");
        };
        assert!(is_feasible(&loose, &block));
    }

    #[test]
    fn fill_succeeds_with_a_sample_of_ways() {
        let load: Vec<u64> = (0..320).map(|i| 10 + i % 16).collect();
        let inst = instance(&load, &vec![0; 320], &[Block::default(); 8], 0.2);
        let limit = Limit {
            nodes: 8_000_000,
            ..LIMIT
        };
        let Fit::Found(block) = fill(&inst, limit) else {
            panic!("a fifth is enough");
        };
        assert!(is_feasible(&inst, &block));
    }
}
