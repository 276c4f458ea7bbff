//! Search for instances whose loads hardly fit: divides the vertices of two to four blocks among
//! them again, all at once.
//!
//! Within tight bounds, moves of one vertex and swaps of two reach only a few mappings. Divisions
//! of a dozen vertices reach many more. Branch and bound finds the cheapest one, by the cost and a
//! price for excess. Each choice gets a small random cost, which falls during the search. So the
//! cheapest division is a sample that favours low costs (as in "perturb and map", Papandreou and
//! Yuille 2011), and the search proceeds like annealing.

use std::time::Instant;

use super::anneal::{Best, Schedule, typical};
use super::state::State;
use crate::clusters::number;
use crate::instance::Instance;
use crate::random::Random;
use crate::tuning::divisions::{EPOCH, MOST, PACE, TOGETHER, TRIES};

/// State of one division. Its lists are indexed by item (a vertex), choice (a block), and sum (of a
/// limited quantity).
struct Division {
    blocks: Vec<u32>,
    items: Vec<u32>,
    /// `item * choices + choice`: cost of the item's edges to all vertices that are not items.
    /// Infinite if the item may not be in that block.
    outside: Vec<f64>,
    /// Lower bound on this cost for all items from each item on.
    rest: Vec<f64>,
    /// By item: earlier items that are its neighbours, with the weight of the edge.
    ties: Vec<Vec<(usize, f64)>>,
    /// By item: earlier items that must be apart from it, with the layer.
    apart: Vec<Vec<(usize, u32)>>,
    /// `choice * choices + choice`.
    distance: Vec<f64>,
    /// `choice * dims + dim`: sum to which each choice adds.
    sum_of: Vec<usize>,
    /// Limits of each sum, cost of a unit of excess, and present value.
    upper: Vec<i64>,
    lower: Vec<i64>,
    unit: Vec<f64>,
    load: Vec<i64>,
    choice: Vec<usize>,
    best: Vec<usize>,
    least: f64,
    tries: u32,
}

impl Division {
    /// Returns the cost that the item `at` adds in the block with index `c`, given the choices of
    /// the items before it. Excess over upper limits and broken separation have a price.
    fn added(&self, state: &State<'_>, at: usize, c: usize, price: f64) -> f64 {
        let (k, d) = (self.blocks.len(), state.inst.dims());
        let mut more = self.outside[at * k + c];
        for &(other, weight) in &self.ties[at] {
            more += weight * self.distance[c * k + self.choice[other]];
        }
        for &(other, layer) in &self.apart[at] {
            let (here, there) = (self.blocks[c], self.blocks[self.choice[other]]);
            if state.inst.shared.same(layer, here, there) {
                more += price * TOGETHER;
            }
        }
        let size = state.inst.size_of(self.items[at]);
        for (&sum, &size) in self.sum_of[c * d..(c + 1) * d].iter().zip(size) {
            let over = self.load[sum] + size - self.upper[sum];
            if over > 0 {
                more += over.min(size) as f64 * self.unit[sum];
            }
        }
        more
    }

    fn put(&mut self, state: &State<'_>, at: usize, c: usize, sign: i64) {
        let d = state.inst.dims();
        let size = state.inst.size_of(self.items[at]);
        for (&sum, &size) in self.sum_of[c * d..(c + 1) * d].iter().zip(size) {
            self.load[sum] += sign * size;
        }
        self.choice[at] = c;
    }

    /// Returns the cost of unmet lower limits, after all items are placed.
    fn under(&self) -> f64 {
        let under = |s: usize| (self.lower[s] - self.load[s]).max(0) as f64 * self.unit[s];
        (0..self.load.len()).map(under).sum()
    }

    /// Computes the cost of the present division as the upper bound of the search. The items must
    /// be outside their blocks, and are afterwards.
    fn begin(&mut self, state: &State<'_>, price: f64) {
        let mut paid = 0.0;
        for at in 0..self.items.len() {
            let c = self.choice[at];
            paid += self.added(state, at, c, price);
            self.put(state, at, c, 1);
        }
        self.least = paid + self.under();
        self.take_out(state);
    }

    /// Removes all items from their blocks.
    fn take_out(&mut self, state: &State<'_>) {
        for at in 0..self.items.len() {
            self.put(state, at, self.choice[at], -1);
        }
    }

    /// Places the items from index `at` on, by branch and bound. `paid` is the cost so far. Updates
    /// `best` and `least` if it finds a cheaper division. Ends early after `TRIES` tries.
    fn place(&mut self, state: &State<'_>, at: usize, paid: f64, price: f64) {
        self.tries += 1;
        if at == self.items.len() {
            let total = paid + self.under();
            if total < self.least {
                self.least = total;
                self.best.clone_from(&self.choice);
            }
            return;
        }
        let k = self.blocks.len();
        let mut open = [(f64::INFINITY, 0_usize); 4];
        for (c, slot) in open.iter_mut().enumerate().take(k) {
            *slot = (self.added(state, at, c, price), c);
        }
        open[..k].sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for &(more, c) in &open[..k] {
            if paid + more + self.rest[at + 1] >= self.least || self.tries > TRIES {
                return;
            }
            self.put(state, at, c, 1);
            self.place(state, at + 1, paid + more, price);
            self.put(state, at, c, -1);
        }
    }
}

/// Chooses the blocks and vertices of a division. It starts from a random vertex, or from one in an
/// overfull block, and adds blocks of its neighbours and random ones. The result has one to four
/// different blocks, and vertices in them. Panics if the instance has no vertices.
fn choose(state: &State<'_>, random: &mut Random) -> (Vec<u32>, Vec<u32>) {
    let (inst, k) = (state.inst, state.inst.k() as u32);
    let mut v = random.below(inst.len()) as u32;
    if state.faults > 0 && random.below(2) == 0 {
        // Starts from a vertex in an overfull block.
        let over = |b: u32| {
            let mut sums = (0..inst.dims()).map(|i| inst.shared.at(b as usize, i));
            sums.any(|at| state.load[at] > inst.shared.upper[at])
        };
        let from = random.below(k as usize) as u32;
        let full = (0..k).map(|i| (from + i) % k).find(|&b| over(b));
        if let Some(u) = full.and_then(|b| state.some_member(b, random.next() as usize >> 16)) {
            v = u;
        }
    }
    let wanted = match random.below(8) {
        0..5 => 2,
        5..7 => 3,
        _ => 4,
    };
    let mut blocks = vec![state.block[v as usize]];
    let mut items = vec![v];
    let mut tries = 0;
    while blocks.len() < wanted.min(k as usize) && tries < 20 {
        tries += 1;
        let near = items[random.below(items.len())];
        let degree = inst.degree(near);
        let next = if degree > 0 && random.below(3) > 0 {
            let e = inst.offsets[near as usize] as usize + random.below(degree);
            state.block[inst.targets[e] as usize]
        } else {
            random.below(k as usize) as u32
        };
        if !blocks.contains(&next) {
            blocks.push(next);
            items.extend(state.some_member(next, random.next() as usize >> 16));
        }
    }
    let most = MOST[(blocks.len().max(2) - 2).min(2)];
    items.clear();
    for &b in &blocks {
        items.extend(state.members(b));
    }
    if items.len() > most {
        random.shuffle(&mut items);
        // Half of the items are vertices with neighbours in the other blocks, because these have
        // the most to gain.
        let crosses = |v: u32| {
            let here = state.block[v as usize];
            let mut others = inst.row(v).map(|e| state.block[e.0 as usize]);
            !others.any(|b| b != here && blocks.contains(&b))
        };
        items.sort_by_cached_key(|&v| crosses(v));
        random.shuffle(&mut items[most / 2..]);
        items.truncate(most);
    }
    (blocks, items)
}

/// Divides some vertices again, and changes the state to the best division found. `heat` scales the
/// random costs, and `price` the cost of excess. Returns the number of tries.
fn divide(state: &mut State<'_>, heat: f64, price: f64, random: &mut Random) -> u64 {
    let inst = state.inst;
    let (blocks, mut items) = choose(state, random);
    let (k, d, m) = (blocks.len(), inst.dims(), items.len());
    if k < 2 || m == 0 {
        return 1;
    }
    items.sort_by_key(|&v| (std::cmp::Reverse(inst.load(v)), v));
    let at = |v: u32| items.iter().position(|&u| u == v);
    let now = |v: u32| {
        let here = state.block[v as usize];
        blocks.iter().position(|&b| b == here).unwrap_or(0)
    };
    let mut sums: Vec<usize> = Vec::new();
    let each = blocks
        .iter()
        .flat_map(|&b| (0..d).map(move |i| inst.shared.at(b as usize, i)));
    let sum_of: Vec<usize> = each.map(|sum| number(&mut sums, sum)).collect();
    let shared = &inst.shared;
    let distance: Vec<f64> = (0..k * k)
        .map(|i| inst.distance(blocks[i / k], blocks[i % k]) as f64)
        .collect();
    let mut outside = vec![0.0; m * k];
    let mut ties = vec![Vec::new(); m];
    let mut apart = vec![Vec::new(); m];
    for (i, &v) in items.iter().enumerate() {
        let row = &mut outside[i * k..(i + 1) * k];
        for (c, &b) in blocks.iter().enumerate() {
            row[c] = state.costs(v)[b as usize] as f64;
        }
        for (u, w) in inst.row(v) {
            if let Some(j) = at(u) {
                for (c, slot) in row.iter_mut().enumerate() {
                    *slot -= w as f64 * distance[c * k + now(u)];
                }
                if j < i {
                    ties[i].push((j, w as f64));
                }
            }
        }
        if let Some(list) = inst.apart.get(v as usize) {
            for &(u, layer) in list {
                match at(u) {
                    Some(j) if j < i => apart[i].push((j, layer)),
                    Some(_) => {}
                    None => {
                        let there = state.block[u as usize];
                        for (c, slot) in row.iter_mut().enumerate() {
                            let same = shared.same(layer, blocks[c], there);
                            *slot += if same { price * TOGETHER } else { 0.0 };
                        }
                    }
                }
            }
        }
        for (c, slot) in row.iter_mut().enumerate() {
            if c != now(v) && !inst.is_allowed(v, blocks[c]) {
                *slot = f64::INFINITY;
            } else if heat > 0.0 {
                *slot -= heat * random.unit().max(1e-12).ln();
            }
        }
    }
    let mut rest = vec![0.0; m + 1];
    for i in (0..m).rev() {
        let row = outside[i * k..(i + 1) * k].iter();
        rest[i] = rest[i + 1] + row.copied().fold(f64::INFINITY, f64::min);
    }
    let choice: Vec<usize> = items.iter().map(|&v| now(v)).collect();
    let lower = |&s: &usize| shared.lower.get(s).copied().unwrap_or(i64::MIN / 2);
    let unit = |s: &usize| shared.excess[s % d] * price;
    let mut division = Division {
        lower: sums.iter().map(lower).collect(),
        upper: sums.iter().map(|&s| shared.upper[s]).collect(),
        unit: sums.iter().map(unit).collect(),
        load: sums.iter().map(|&s| state.load[s]).collect(),
        best: choice.clone(),
        choice,
        blocks,
        items,
        outside,
        rest,
        ties,
        apart,
        distance,
        sum_of,
        least: f64::INFINITY,
        tries: 0,
    };
    division.take_out(state);
    division.begin(state, price);
    division.place(state, 0, 0.0, price);
    for (i, &v) in division.items.iter().enumerate() {
        state.shift(v, division.blocks[division.best[i]]);
    }
    u64::from(division.tries)
}

/// Runs the schedule from the given state, and counts steps like annealing does. Returns the best
/// mapping that occurred, and the number of steps. Ends early at the time limit of the schedule.
/// Panics if the instance has no vertices.
pub(crate) fn exchange(
    state: &mut State<'_>,
    random: &mut Random,
    schedule: &Schedule,
) -> (Best, u64) {
    let inst = state.inst;
    let mut best = Best::of(state);
    let mean =
        (inst.shared.excess[0] * inst.total_load() as f64 / inst.len().max(1) as f64).max(1e-9);
    let mut price = 4.0 * schedule.hot / mean;
    let floor = schedule.cold / mean;
    let mut spent = 0;
    let (mut rounds, mut feasible) = (0, 0);
    while spent < schedule.steps {
        let part = spent as f64 / schedule.steps as f64;
        let heat = schedule.hot * (schedule.cold / schedule.hot).powf(part);
        spent += PACE * divide(state, heat, price, random) + 20;
        rounds += 1;
        feasible += u64::from(state.faults == 0);
        best.keep(state);
        if rounds % EPOCH == 0 {
            price = match feasible * 5 < EPOCH {
                true => price * 1.1,
                false => (price * 0.95).max(floor),
            };
            feasible = 0;
            if schedule.stop_at.is_some_and(|t| Instant::now() >= t) {
                break;
            }
        }
    }
    (best.or(state), spent)
}

/// Improves a mapping by divisions for about `steps` steps, or until the time is over. Returns a
/// mapping that is not worse, and the number of steps made. Panics if the instance has no vertices.
pub(crate) fn improve(
    inst: &Instance,
    best: &Best,
    steps: u64,
    stop_at: Option<Instant>,
    random: &mut Random,
) -> (Best, u64) {
    let mut state = State::new(inst, best.block.clone());
    let warmth = match best.feasible() {
        true => 0.3 * random.unit() * random.unit(),
        false => 0.2 + 0.3 * random.unit(),
    };
    let hot = typical(&state, 0..inst.len() as u32) * warmth.max(0.001);
    let schedule = Schedule::new(steps, hot, 0.02, stop_at);
    let (found, spent) = exchange(&mut state, random, &schedule);
    if best.beats(&found) {
        return (best.clone(), spent);
    }
    (found, spent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feasibility::is_feasible;
    use crate::{Block, Channel, Constraint, Graph, Machine, Problem, Tree};

    /// Returns two hosts of three blocks with memory, loads and memory of many sizes, pins, and
    /// vertices that must be apart.
    fn case(random: &mut Random) -> (Graph, Machine, Vec<Constraint>) {
        let n = 24;
        let memory = (0..n).map(|_| random.below(9) as u64).collect();
        let load = (0..n).map(|_| 1 + random.below(30) as u64).collect();
        let channels: Vec<Channel> = (0..2 * n)
            .map(|_| Channel {
                from: random.below(n as usize) as u32,
                to: random.below(n as usize) as u32,
                traffic: random.below(20) as u64,
            })
            .filter(|c| c.from != c.to)
            .collect();
        let graph = Graph::new(load, &channels).unwrap();
        let graph = graph.with_memory(memory).unwrap();
        let block = Block {
            memory: Some(26),
            ..Block::default()
        };
        let host = Tree::Group {
            distance: 1,
            members: vec![Tree::Block(block); 3],
        };
        let machine = Tree::Group {
            distance: 9,
            members: vec![host; 2],
        };
        let constraints = vec![
            Constraint::Pin {
                vertex: 0,
                blocks: vec![1].into(),
            },
            Constraint::Apart {
                vertices: vec![1, 2, 3],
                places: Vec::new(),
            },
            Constraint::Apart {
                vertices: vec![4, 5],
                places: vec![vec![0, 1, 2], vec![3, 4, 5]],
            },
        ];
        (graph, Machine::new(&machine, 0).unwrap(), constraints)
    }

    #[test]
    fn feasible_mappings_are_found_and_never_lost() {
        let mut random = Random::new(1);
        let mut found = 0;
        for _ in 0..40 {
            let (graph, machine, constraints) = case(&mut random);
            let problem = Problem {
                constraints: &constraints,
                imbalance: 0.2,
                ..Problem::new(&graph, &machine)
            };
            let (inst, _) = Instance::new(&problem).unwrap();
            let start: Vec<u32> = (0..inst.len() as u32)
                .map(|v| {
                    let b = random.below(inst.k()) as u32;
                    if inst.is_allowed(v, b) { b } else { 1 }
                })
                .collect();
            let mut best = Best::of(&State::new(&inst, start));
            for _ in 0..4 {
                let (next, spent) = improve(&inst, &best, 20_000, None, &mut random);
                assert!(spent > 0 && !best.beats(&next));
                assert_eq!(next.cost, inst.cost(&next.block));
                assert_eq!(next.feasible(), is_feasible(&inst, &next.block));
                assert!((0..inst.len() as u32).all(|v| inst.is_allowed(v, next.block[v as usize])));
                best = next;
            }
            found += usize::from(best.feasible());
        }
        assert!(found > 15, "{found} of 40");
    }
}
