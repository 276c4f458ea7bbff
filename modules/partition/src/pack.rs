//! Packing by size, and the least load bounds if the original ones are too tight.

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
    /// set is empty.
    fn put_emptiest(&mut self, v: u32) {
        let (inst, d) = (self.inst, self.inst.dims());
        let fill = |b: &u32| {
            let after = self.load[*b as usize * d] + inst.load(v);
            after as f64 / (inst.load_bound(*b as usize).max(1) as f64)
        };
        let b = (0..inst.k() as u32)
            .filter(|&b| self.allowed(v, b))
            .min_by(|a, b| fill(a).total_cmp(&fill(b)))
            .or_else(|| (0..inst.k() as u32).find(|&b| inst.is_allowed(v, b)))
            .unwrap_or(0);
        self.put(v, b);
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
    let freedom = |v: u32| {
        (0..inst.k() as u32)
            .filter(|&b| inst.is_allowed(v, b))
            .count()
    };
    order.sort_by_cached_key(|&v| {
        let few = if inst.set.is_empty() { 0 } else { freedom(v) };
        (few, std::cmp::Reverse(inst.load(v)), v)
    });
    let mut ledger = Ledger::new(&bare);
    order.iter().for_each(|&v| ledger.put_emptiest(v));
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
