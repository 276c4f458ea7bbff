//! Packing by size, and the least load bounds if the original ones are too tight.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Instant;

use crate::instance::Instance;
use crate::random::Random;
use crate::refine::anneal::{Best, Schedule, anneal};
use crate::refine::exchange::exchange;
use crate::refine::state::State;
use crate::shares::Shares;
use crate::tuning::divisions::{CLOSE, PACE};

/// Factor that compensates for rounding.
const EXACT: f64 = 1.0 + 1e-9;

/// Largest factor that is tried.
const FARTHEST: f64 = 1e4;

/// Most blocks of each load bound that are passed over for a vertex before all blocks are scanned.
const PASSED: usize = 16;

/// Limits on packing: steps and a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) steps: u64,
    pub(crate) stop_at: Option<Instant>,
}

impl Effort {
    /// Returns an effort of `steps` steps without a time limit.
    pub(crate) fn of(steps: u64) -> Self {
        Self {
            steps,
            stop_at: None,
        }
    }
}

/// Blocks and sums while vertices are placed one by one.
pub(crate) struct Ledger<'a> {
    inst: &'a Instance,
    load: Vec<i64>,
    block: Vec<u32>,
}

impl<'a> Ledger<'a> {
    pub(crate) fn new(inst: &'a Instance) -> Self {
        Self {
            inst,
            load: vec![0; inst.k() * inst.dims()],
            block: vec![u32::MAX; inst.len()],
        }
    }

    /// Returns true if the hard rules allow a vertex in a block: pins, separation from the vertices
    /// placed so far, and all upper limits other than the load.
    fn allowed(&self, v: u32, b: u32) -> bool {
        let (inst, d) = (self.inst, self.inst.dims());
        let room = (1..d).all(|i| {
            let at = inst.shared.at(b as usize, i);
            self.load[at] + inst.size_of(v)[i] <= inst.shared.upper[at]
        });
        room && inst.clashes(v, b, &self.block) == 0 && inst.is_allowed(v, b)
    }

    fn put(&mut self, v: u32, b: u32) -> u32 {
        self.inst.count(&mut self.load, v, b, 1);
        self.block[v as usize] = b;
        b
    }

    /// Puts a vertex into the first block, from `wanted` on, that the hard rules allow, and returns
    /// this block. After the last block, the order continues with block 0. If the rules allow none,
    /// chooses among all blocks in this order as [`Ledger::put_first`] does.
    pub(crate) fn put_near(&mut self, v: u32, wanted: u32) -> u32 {
        let k = self.inst.k() as u32;
        self.put_in_turn(v, || (0..k).map(move |i| (wanted + i) % k))
    }

    /// Puts a vertex into the first of some blocks that the hard rules allow, and returns this
    /// block. If the rules allow none, uses the first of these blocks in the vertex's set. If the
    /// set contains none of them, uses the first one. If the list is empty, uses block 0.
    pub(crate) fn put_first(&mut self, v: u32, blocks: &[u32]) -> u32 {
        self.put_in_turn(v, || blocks.iter().copied())
    }

    fn put_in_turn<I: Iterator<Item = u32>>(&mut self, v: u32, blocks: impl Fn() -> I) -> u32 {
        let b = blocks()
            .find(|&b| self.allowed(v, b))
            .or_else(|| blocks().find(|&b| self.inst.is_allowed(v, b)))
            .or_else(|| blocks().next())
            .unwrap_or(0);
        self.put(v, b)
    }

    /// Puts a vertex into the block that the hard rules allow with the least load relative to its
    /// bound. If the rules allow none, uses the first block of the vertex's set, or block 0 if the
    /// set is empty. `queue` must contain the loads of all blocks.
    fn put_emptiest(&mut self, v: u32, queue: &mut Queue) {
        let inst = self.inst;
        let b = match queue.emptiest(inst.load(v), |b| self.allowed(v, b)) {
            Some(b) => b,
            None => (0..inst.k() as u32)
                .filter(|&b| self.allowed(v, b))
                .min_by(|&a, &b| self.fill(v, a).total_cmp(&self.fill(v, b)))
                .or_else(|| (0..inst.k() as u32).find(|&b| inst.is_allowed(v, b)))
                .unwrap_or(0),
        };
        self.put(v, b);
        queue.put(b, self.load[b as usize * inst.dims()]);
    }

    /// Returns the load of a block with this vertex, relative to its bound.
    fn fill(&self, v: u32, b: u32) -> f64 {
        let after = self.load[b as usize * self.inst.dims()] + self.inst.load(v);
        relative(after, self.inst.load_bound(b as usize))
    }
}

fn relative(load: i64, bound: i64) -> f64 {
    load as f64 / (bound.max(1) as f64)
}

/// Loads and blocks, the least load first.
type Heap = BinaryHeap<Reverse<(i64, u32)>>;

/// Blocks with their loads, the least loaded first, in one heap for each load bound. Finds the
/// emptiest block without a scan of all blocks.
struct Queue {
    /// Load bound and blocks. An entry with an old load of its block is ignored.
    heaps: Vec<(i64, Heap)>,
    /// Index of the heap of each block.
    heap_of: Vec<usize>,
    load: Vec<i64>,
}

impl Queue {
    /// Returns the blocks of an instance, all of them empty.
    fn new(inst: &Instance) -> Self {
        let mut numbers = BTreeMap::new();
        let (mut heaps, mut heap_of) = (Vec::new(), Vec::new());
        for b in 0..inst.k() {
            let bound = inst.load_bound(b);
            let heap = *numbers.entry(bound).or_insert(heaps.len());
            if heap == heaps.len() {
                heaps.push((bound, Heap::new()));
            }
            heaps[heap].1.push(Reverse((0, b as u32)));
            heap_of.push(heap);
        }
        let load = vec![0; inst.k()];
        Self {
            heaps,
            heap_of,
            load,
        }
    }

    /// Returns the allowed block that is the emptiest one with an additional load, or the first of
    /// several. Returns `None` if none is allowed, or if too many blocks must be passed over.
    fn emptiest(&mut self, load: i64, allowed: impl Fn(u32) -> bool) -> Option<u32> {
        let mut best: Option<(f64, u32)> = None;
        for (bound, heap) in &mut self.heaps {
            let mut passed = Vec::new();
            while let Some(&Reverse((old, b))) = heap.peek() {
                if old != self.load[b as usize] {
                    heap.pop();
                } else if allowed(b) {
                    let fill = (relative(old + load, *bound), b);
                    let better =
                        |best: (f64, u32)| fill.0.total_cmp(&best.0).then(b.cmp(&best.1)).is_lt();
                    if best.is_none_or(better) {
                        best = Some(fill);
                    }
                    break;
                } else if passed.len() == PASSED {
                    heap.extend(passed);
                    return None;
                } else {
                    passed.extend(heap.pop());
                }
            }
            heap.extend(passed);
        }
        best.map(|(_, b)| b)
    }

    /// Sets the load of a block.
    fn put(&mut self, b: u32, load: i64) {
        if self.load[b as usize] != load {
            self.load[b as usize] = load;
            self.heaps[self.heap_of[b as usize]]
                .1
                .push(Reverse((load, b)));
        }
    }
}

/// Searches for a feasible mapping regardless of its cost.
///
/// Places the vertices with the fewest allowed blocks first, then the largest ones, each into the
/// emptiest block. If some limit is exceeded, anneals the excess alone. The result is feasible if
/// its excess is 0. Its cost is 0, because edges are ignored.
pub(crate) fn pack(inst: &Instance, random: &mut Random, effort: Effort) -> Best {
    let bare = inst.edgeless();
    let mut order: Vec<u32> = (0..inst.len() as u32).collect();
    let sets = inst.shared.sets.iter();
    let freedom: Vec<usize> = sets
        .map(|s| s.iter().filter(|&&open| open).count())
        .collect();
    order.sort_by_cached_key(|&v| {
        let few = inst.set.get(v as usize).map(|&set| freedom[set as usize]);
        (few, Reverse(inst.load(v)), v)
    });
    let (mut ledger, mut queue) = (Ledger::new(&bare), Queue::new(&bare));
    order
        .iter()
        .for_each(|&v| ledger.put_emptiest(v, &mut queue));
    let mut state = State::new(&bare, ledger.block);
    let schedule = Schedule::new(effort.steps, 1.0, 0.01, effort.stop_at);
    if state.faults == 0 {
        Best::of(&state)
    } else {
        anneal(&mut state, random, &schedule)
    }
}

/// Packs as [`pack`] does. If that fails, it divides the vertices of a few blocks at a time again,
/// in about `effort.steps` tries. If that fails too, returns the result of [`pack`]. The cost of
/// the result is set only if the divisions found a feasible mapping, and is 0 otherwise.
pub(crate) fn pack_tightly(inst: &Instance, random: &mut Random, effort: Effort) -> Best {
    let packed = pack(inst, random, effort);
    if packed.feasible() {
        return packed;
    }
    let bare = inst.edgeless();
    let mut state = State::new(&bare, packed.block.clone());
    let schedule = Schedule::new(PACE * effort.steps, 1.0, 0.01, effort.stop_at);
    let (found, _) = exchange(&mut state, random, &schedule);
    match found.feasible() {
        true => Best {
            cost: inst.cost(&found.block),
            ..found
        },
        false => packed,
    }
}

/// Returns the least factor of the load bounds, from `low` on, with which a packing was found, and
/// that packing. Bisection approximates the factor, and ends early at the time limit of `effort`.
///
/// Returns `None` if no packing is found without load bounds, or with `FARTHEST` times `low`. Then
/// another limit is too tight, or heavy vertices do not fit into the blocks set aside for them.
pub(crate) fn least_factor(
    inst: &Instance,
    shares: &Shares,
    mut low: f64,
    random: &mut Random,
    effort: Effort,
) -> Option<(f64, Vec<u32>)> {
    let needed = |best: &Best| shares.needed(inst, &best.block);
    let open = inst.without_load_bounds();
    // Feasibility, without load bounds and with the least ones, must not depend on the time.
    let timeless = Effort::of(effort.steps);
    let mut packed = pack_tightly(&open, random, timeless);
    if !packed.feasible() {
        return None;
    }
    let mut high = needed(&packed).max(low);
    // A block above its bound here may still be within all limits except load.
    if high > low * CLOSE {
        let wanted = match shares.is_shaped() {
            true => shares.at(inst, low * EXACT),
            false => inst.clone(),
        };
        let wanted = needed(&pack(&wanted, random, timeless)).max(low);
        if wanted < high {
            let loosened = shares.at(inst, wanted * EXACT + (EXACT - 1.0));
            let tried = pack(&loosened, random, timeless);
            if tried.feasible() {
                (high, packed) = (needed(&tried).max(low), tried);
            }
        }
    }
    // A heavy vertex was in a block that is not set aside for it.
    let mut factor = low;
    while high.is_infinite() {
        factor *= 2.0;
        if factor > FARTHEST * low {
            return None;
        }
        let tried = pack_tightly(&shares.at(inst, factor), random, effort);
        if tried.feasible() {
            (high, packed) = (needed(&tried).clamp(low, factor), tried);
        }
    }
    for _ in 0..10 {
        let late = effort.stop_at.is_some_and(|t| Instant::now() >= t);
        if late || high <= low * CLOSE {
            break;
        }
        let middle = (low + high) / 2.0;
        let tried = pack_tightly(&shares.at(inst, middle), random, effort);
        if tried.feasible() {
            (high, packed) = (needed(&tried).clamp(low, middle), tried);
        } else {
            low = middle;
        }
    }
    Some((high * (1.0 + 1e-12) + 1e-12, packed.block))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::machine::{Block, Machine, Tree};
    use crate::problem::{Constraint, Problem};

    /// Checks that packing needs neither a table of all vertices and blocks, which would be
    /// half a terabyte here, nor a scan of all blocks for each vertex.
    #[test]
    fn many_vertices_are_packed_into_many_blocks() {
        let (n, k) = (1 << 17, 1 << 19);
        let graph = Graph::new(vec![1; n], &[]).unwrap();
        let machine = Machine::regular(&[(k, 1)]).unwrap();
        let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        let packed = pack(&inst, &mut Random::new(1), Effort::of(1000));
        let expected: Vec<u32> = (0..n as u32).collect();
        assert_eq!(packed.block, expected);
    }

    /// Compares with a scan of all blocks: blocks of several speeds, memory and confined vertices.
    #[test]
    fn each_vertex_is_put_into_the_emptiest_block_allowed() {
        let mut random = Random::new(5);
        for _ in 0..50 {
            let block = |_| {
                Tree::Block(Block {
                    speed: 1 + random.below(3) as u32,
                    memory: Some(random.below(60) as u64),
                    ..Block::default()
                })
            };
            let tree = Tree::Group {
                distance: 1,
                members: (0..40).map(block).collect(),
            };
            let machine = Machine::new(&tree, 0).unwrap();
            let loads = (0..200).map(|_| random.below(9) as u64).collect();
            let memory = (0..200).map(|_| random.below(9) as u64).collect();
            let graph = Graph::new(loads, &[]).unwrap().with_memory(memory).unwrap();
            let pins = (0..20).map(|vertex| Constraint::Pin {
                vertex,
                blocks: (0..5).map(|_| random.below(40) as u32).collect(),
            });
            let pins: Vec<Constraint> = pins.collect();
            let mut problem = Problem::new(&graph, &machine);
            problem.constraints = &pins;
            let (inst, _) = Instance::new(&problem).unwrap();
            let (mut ledger, mut queue) = (Ledger::new(&inst), Queue::new(&inst));
            for v in 0..inst.len() as u32 {
                let allowed = (0..inst.k() as u32).filter(|&b| ledger.allowed(v, b));
                let fill = |b: &u32| ledger.fill(v, *b);
                let expected = allowed.min_by(|a, b| fill(a).total_cmp(&fill(b)));
                ledger.put_emptiest(v, &mut queue);
                if let Some(expected) = expected {
                    assert_eq!(ledger.block[v as usize], expected);
                }
            }
        }
    }
}
