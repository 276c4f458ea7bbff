//! Simulated annealing by single moves and swaps. It minimises the cost plus a price for excess.
//!
//! The price of excess is adjusted during the search. It rises while the mapping is infeasible and
//! falls while it is feasible. So the search stays at the border of the feasible region, because
//! good mappings onto tightly filled blocks are there. Only feasible mappings are kept as the best.

use std::time::Instant;

use super::state::State;
use crate::budget::Clock;
use crate::clusters::marks;
use crate::instance::Instance;
use crate::random::Random;

/// Duration and temperatures of an annealing run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub(crate) steps: u64,
    /// First temperature, in units of cost.
    pub(crate) hot: f64,
    /// Last temperature, in the same units.
    pub(crate) cold: f64,
    pub(crate) stop_at: Option<Instant>,
}

impl Schedule {
    /// Creates a schedule that cools from `hot` to `hot * part`.
    pub(crate) fn new(steps: u64, hot: f64, part: f64, stop_at: Option<Instant>) -> Self {
        Self {
            steps,
            hot,
            cold: hot * part,
            stop_at,
        }
    }
}

/// The best mapping found: smallest excess, then least cost.
#[derive(Clone, Debug)]
pub(crate) struct Best {
    pub(crate) block: Vec<u32>,
    pub(crate) cost: i64,
    pub(crate) excess: f64,
}

impl Best {
    pub(crate) fn of(state: &State<'_>) -> Self {
        Self {
            block: state.block.clone(),
            cost: state.cost,
            excess: state.excess(),
        }
    }

    pub(crate) fn feasible(&self) -> bool {
        self.excess == 0.0
    }

    /// Keeps the mapping of the state if it is feasible, and cheaper than a feasible kept one.
    #[inline]
    pub(crate) fn keep(&mut self, state: &State<'_>) {
        if state.faults == 0 && (state.cost < self.cost || !self.feasible()) {
            (self.cost, self.excess) = (state.cost, 0.0);
            self.block.copy_from_slice(&state.block);
        }
    }

    /// Returns the mapping of the state if `self` is infeasible and has more excess, or equal
    /// excess and a higher cost. Returns `self` otherwise.
    pub(crate) fn or(self, state: &State<'_>) -> Self {
        let now = (!self.feasible()).then(|| Self::of(state));
        now.filter(|now| now.beats(&self)).unwrap_or(self)
    }

    pub(crate) fn beats(&self, other: &Self) -> bool {
        (self.excess, self.cost) < (other.excess, other.cost)
    }
}

/// Returns a temperature at which typical moves of some vertices are accepted now and then. It is
/// the mean absolute change of cost of sample moves to the blocks of neighbours, or to other blocks
/// if the neighbour is in the same block. It is 1 if no sample move changes the cost.
pub(crate) fn typical(state: &State<'_>, vertices: impl Iterator<Item = u32>) -> f64 {
    let k = state.inst.k() as u32;
    let mut sum = 0.0;
    let mut count = 0.0;
    for v in vertices {
        for (u, _) in state.inst.row(v).take(2) {
            let there = state.block[u as usize];
            let to = match there == state.block[v as usize] {
                true => (there + 1) % k,
                false => there,
            };
            let change = state.move_cost(v, to);
            if change != 0 {
                sum += change.abs() as f64;
                count += 1.0;
            }
        }
    }
    if count == 0.0 { 1.0 } else { sum / count }
}

/// Anneals a mapping as [`anneal`] does, for `steps` steps, rounded up to a multiple of 1,024 and
/// at least one multiple. Returns the best mapping found. The first temperature is `warmth` times
/// the one that [`typical`] returns, and the last is the share `part` of it.
pub(crate) fn annealed(
    inst: &Instance,
    block: Vec<u32>,
    (steps, warmth, part): (u64, f64, f64),
    stop_at: Option<Instant>,
    random: &mut Random,
) -> Best {
    let mut state = State::new(inst, block);
    let hot = typical(&state, 0..inst.len() as u32) * warmth;
    let schedule = Schedule::new(steps, hot, part, stop_at);
    anneal(&mut state, random, &schedule)
}

/// Anneals from the given state, and returns the best mapping found: the cheapest feasible one if
/// there is any, and otherwise the better of the first and the last. Leaves the last mapping in
/// `state`. Ends early at the time limit of the schedule.
pub(crate) fn anneal(state: &mut State<'_>, random: &mut Random, schedule: &Schedule) -> Best {
    let inst = state.inst;
    let all: Vec<u32> = (0..inst.k() as u32).collect();
    anneal_within(state, random, schedule, 0..inst.len() as u32, &all)
}

/// Anneals some vertices in and between some blocks as [`anneal`] does, and returns the best
/// mapping found. `vertices` must be all vertices in `blocks`. Returns the given mapping if no
/// vertex is allowed in two of the blocks.
pub(crate) fn anneal_within(
    state: &mut State<'_>,
    random: &mut Random,
    schedule: &Schedule,
    vertices: impl Iterator<Item = u32>,
    blocks: &[u32],
) -> Best {
    let inst = state.inst;
    let k = blocks.len();
    let mut best = Best::of(state);
    let open = marks(blocks, inst.k());
    let movable: Vec<u32> = vertices
        .filter(|&v| {
            let mut choices = blocks.iter().filter(|&&b| inst.is_allowed(v, b));
            choices.nth(1).is_some()
        })
        .collect();
    if movable.is_empty() {
        return best;
    }
    // Thresholds are drawn from a table. Accepting at `change <= -T ln u` is the Metropolis rule.
    let draws: Vec<f64> = (0..1024)
        .map(|i| -((f64::from(i) + 0.5) / 1024.0).ln())
        .collect();
    const EPOCH: u64 = 1024;
    let epochs = schedule.steps.div_ceil(EPOCH).max(1);
    let cooling = (schedule.cold / schedule.hot).powf(1.0 / epochs as f64);
    let mut heat = schedule.hot;
    // Fixed vertices may be as large as blocks, so they are excluded from the mean.
    let sizes: i64 = movable.iter().map(|&v| inst.load(v)).sum();
    let mean_size = match sizes {
        0 => 1.0,
        _ => inst.shared.excess[0] * sizes as f64 / movable.len() as f64,
    };
    let mut price = 4.0 * schedule.hot / mean_size;
    let floor = schedule.cold / mean_size;
    // Moves between many blocks, or of vertices with many neighbours, take far longer than others.
    let mut clock = Clock::new(schedule.stop_at);
    'annealing: for epoch in 0..epochs {
        if epoch % 4 == 0 && schedule.stop_at.is_some_and(|t| Instant::now() >= t) {
            break;
        }
        let mut feasible = 0_u32;
        for _ in 0..EPOCH {
            let dice = random.next();
            let v = movable[(((dice >> 32) * movable.len() as u64) >> 32) as usize];
            let from = state.block[v as usize];
            let degree = inst.degree(v);
            let part = |range: usize| (((dice >> 14) & 0xFFFF) as usize * range) >> 16;
            let to = if dice & 3 != 0 && degree > 0 {
                let e = inst.offsets[v as usize] as usize + part(degree);
                state.block[inst.targets[e] as usize]
            } else {
                blocks[part(k)]
            };
            feasible += u32::from(state.faults == 0);
            if to == from || !open[to as usize] || !inst.is_allowed(v, to) {
                continue;
            }
            let threshold = heat * draws[(dice >> 4) as usize & 1023];
            let change = state.move_cost(v, to) as f64;
            let excess = state.excess_change(v, to, None);
            if change + price * excess <= threshold && (excess <= 0.0 || dice & 4 == 0) {
                state.shift(v, to);
            } else if excess > 0.0 || dice & 8 == 0 {
                let Some(u) = state.some_member(to, random.next() as usize >> 16) else {
                    continue;
                };
                let loose = || change + state.move_cost(u, from) as f64;
                let excess = || price * state.excess_change(v, to, Some(u));
                if !inst.is_allowed(u, from)
                    || loose() > threshold + price
                    || state.swap_cost(v, u) as f64 + excess() > threshold
                {
                    continue;
                }
                state.shift(v, to);
                state.shift(u, from);
            } else {
                continue;
            }
            best.keep(state);
            if clock.is_late(std::mem::take(&mut state.work)) {
                break 'annealing;
            }
        }
        heat *= cooling;
        let share = f64::from(feasible) / EPOCH as f64;
        price = if share < 0.2 {
            price * 1.05
        } else {
            (price * 0.97).max(floor)
        };
    }
    // The last of equal mappings is kept, because the search moves over plateaus.
    if best.feasible() && state.faults == 0 && state.cost == best.cost {
        best.block.copy_from_slice(&state.block);
    }
    best.or(state)
}
