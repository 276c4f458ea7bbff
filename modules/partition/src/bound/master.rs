//! Optimisation of the prices by a proximal bundle method.
//!
//! The value of a [`Relaxation`] is concave and piecewise linear in the prices. Each evaluation
//! yields the most expensive group of each kind, and the groups found so far give a model that is
//! an upper bound. The next point maximises the model minus a quadratic distance from the best
//! point so far (Kiwiel, Proximity control in bundle methods, 1990).
//!
//! In the dual problem, groups get multiplicities such that they cover every vertex once as nearly
//! and as cheaply as possible. This quadratic programme is solved by moving multiplicity between
//! two groups at a time. The groups of known mappings are included from the start, because they
//! keep the model below the cost of these mappings.

use std::time::Instant;

use super::relaxation::{Prices, Relaxation};
use super::table::LARGEST;
use crate::tuning::bounds::{IDLE, MOVES, PATIENCE, PROGRESS};

/// A group, with its multiplicity.
struct Column {
    layer: usize,
    kind: usize,
    members: Vec<u32>,
    /// The members as a bit set.
    inside: Vec<u64>,
    weight: f64,
    times: f64,
    /// Number of rounds in which the group was not used.
    idle: u32,
}

#[derive(Default)]
pub(crate) struct Master {
    columns: Vec<Column>,
    /// Best point, and the next point to evaluate.
    centre: Prices<f64>,
    point: Prices<f64>,
    /// Step size: the inverse of the weight of the quadratic term.
    reach: f64,
    /// Best value, and the integer prices that have it.
    pub(crate) best: i64,
    pub(crate) prices: Prices<i32>,
    pub(crate) rounds: u64,
}

/// Limits of the optimisation.
pub(crate) struct Limits {
    /// Cost at which the bound is sufficient.
    pub(crate) enough: i64,
    pub(crate) rounds: u64,
    pub(crate) stop_at: Option<Instant>,
}

impl Master {
    /// Creates the state from the groups of a feasible mapping `block_of`. The first prices divide
    /// the cost at each level among the vertices, in proportion to their loads. No prices are
    /// evaluated yet, so the best value is the smallest `i64`.
    pub(crate) fn new(relaxation: &Relaxation, block_of: &[u32]) -> Self {
        let n = block_of.len();
        let layers = relaxation.layers.len();
        let mut master = Self {
            best: i64::MIN,
            ..Self::default()
        };
        let total = relaxation.sweep.total().max(1) as f64;
        let mut paid = 0.0;
        for (l, layer) in relaxation.layers.iter().enumerate() {
            for (g, &kind) in layer.kind_of.iter().enumerate() {
                let inside = |&b: &u32| layer.group_of[b as usize] as usize == g;
                let inside: Vec<bool> = block_of.iter().map(inside).collect();
                master.add(relaxation, l, kind, &inside);
                if let Some(last) = master.columns.last_mut() {
                    last.times += 1.0;
                }
            }
            let own = master.columns.iter().filter(|c| c.layer == l);
            let cost: f64 = own.map(|c| c.weight * c.times).sum();
            paid += cost;
            let mut price = vec![0.0; n];
            for step in &relaxation.sweep.steps {
                price[step.vertex as usize] = cost * step.load as f64 / total;
            }
            master.centre.push(price);
        }
        master.reach = paid / (n * layers) as f64;
        master.point = master.centre.clone();
        master
    }

    /// Adds a group unless it is known, and makes its column the last one. `inside` contains for
    /// each vertex whether it is in the group.
    fn add(&mut self, relaxation: &Relaxation, layer: usize, kind: usize, inside: &[bool]) {
        let members: Vec<u32> = (0..inside.len() as u32)
            .filter(|&v| inside[v as usize])
            .collect();
        let same = |c: &Column| c.layer == layer && c.kind == kind && c.members == members;
        if let Some(at) = self.columns.iter().position(same) {
            let last = self.columns.len() - 1;
            self.columns.swap(at, last);
            return;
        }
        let edges = relaxation.sweep.edges.ends.iter();
        let edges = edges.zip(&relaxation.layers[layer].weight);
        let cut = edges.filter(|((a, b), _)| inside[*a as usize] != inside[*b as usize]);
        let weight = cut.map(|(_, &weight)| f64::from(weight)).sum();
        self.columns.push(Column {
            layer,
            kind,
            inside: bits(&members, inside.len()),
            members,
            weight,
            times: 0.0,
            idle: 0,
        });
    }

    /// Returns the value of a group at the current point: the prices of its members minus the
    /// weight that it cuts.
    fn worth(&self, c: &Column) -> f64 {
        let price = &self.point[c.layer];
        c.members.iter().map(|&v| price[v as usize]).sum::<f64>() - c.weight
    }

    /// Lowers the prices in `point` of all members of a group by `times`, in the layer of the
    /// group.
    fn shift(point: &mut Prices<f64>, c: &Column, times: f64) {
        let price = &mut point[c.layer];
        c.members.iter().for_each(|&v| price[v as usize] -= times);
    }

    /// Moves approximately to the point that maximises the model minus the quadratic term, and sets
    /// the multiplicities that belong to it. `below` is the value at the centre. Returns the value
    /// of the model at the new point.
    fn step(&mut self, relaxation: &Relaxation, below: f64) -> f64 {
        self.point = self.centre.clone();
        for price in self.point.iter_mut().flatten() {
            *price += self.reach;
        }
        for c in self.columns.iter().filter(|c| c.times > 0.0) {
            Self::shift(&mut self.point, c, self.reach * c.times);
        }
        let mut groups: Vec<(f64, Vec<usize>)> = Vec::new();
        for (l, layer) in relaxation.layers.iter().enumerate() {
            for (k, kind) in layer.kinds.iter().enumerate() {
                let own = (0..self.columns.len())
                    .filter(|&c| self.columns[c].layer == l && self.columns[c].kind == k);
                groups.push((kind.count as f64, own.collect()));
            }
        }
        let mut worth: Vec<f64> = self.columns.iter().map(|c| self.worth(c)).collect();
        let mut model = f64::INFINITY;
        for _ in 0..MOVES / groups.len() {
            let (mut slack, mut costliest) = (0.0, 0.0);
            for (count, own) in &groups {
                let used = |c: &&usize| self.columns[**c].times > 0.0;
                let by_worth = |a: &&usize, b: &&usize| worth[**a].total_cmp(&worth[**b]);
                let up = own.iter().max_by(by_worth);
                let down = own.iter().filter(used).min_by(by_worth);
                let (Some(&up), Some(&down)) = (up, down) else {
                    continue;
                };
                costliest += count * worth[up];
                slack += own
                    .iter()
                    .map(|&c| self.columns[c].times * (worth[up] - worth[c]))
                    .sum::<f64>();
                if up != down {
                    self.exchange(up, down, &mut worth);
                }
            }
            let prices: f64 = self.point.iter().flatten().sum();
            model = prices - costliest;
            if slack <= 0.05 * (model - below).max(0.0) {
                break;
            }
        }
        model
    }

    /// Moves the best amount of multiplicity from column `down` to column `up`, at most all of it.
    /// Both columns must be of one layer and kind. Updates the point, and the values of all columns
    /// in `worth`.
    fn exchange(&mut self, up: usize, down: usize, worth: &mut [f64]) {
        let (a, b) = (&self.columns[up], &self.columns[down]);
        let differ = a
            .inside
            .iter()
            .zip(&b.inside)
            .map(|(x, y)| (x ^ y).count_ones());
        let curve = self.reach * f64::from(differ.sum::<u32>()).max(1.0);
        let mut times = (worth[up] - worth[down]) / curve;
        let empties = times >= b.times - 1e-9;
        if empties {
            times = b.times;
        }
        let layer = a.layer;
        let amount = self.reach * times;
        Self::shift(&mut self.point, a, amount);
        Self::shift(&mut self.point, b, -amount);
        for (c, worth) in self.columns.iter().zip(worth.iter_mut()) {
            if c.layer == layer {
                let shared = |other: &Column| -> u32 {
                    let both = c.inside.iter().zip(&other.inside);
                    both.map(|(x, y)| (x & y).count_ones()).sum()
                };
                *worth -= amount * (f64::from(shared(a)) - f64::from(shared(b)));
            }
        }
        self.columns[up].times += times;
        self.columns[down].times = if empties {
            0.0
        } else {
            self.columns[down].times - times
        };
    }

    /// Improves the prices until a limit is reached, or until the best value rises too slowly to
    /// reach `limits.enough`. Adds the groups that it finds, and drops groups that were unused for
    /// a long time.
    pub(crate) fn improve(&mut self, relaxation: &mut Relaxation, limits: &Limits) {
        let mut below = f64::NEG_INFINITY;
        let mut nulls = 0;
        let mut earlier = (0, self.best);
        while self.rounds < limits.rounds && limits.stop_at.is_none_or(|t| Instant::now() < t) {
            self.rounds += 1;
            let model = if below == f64::NEG_INFINITY {
                f64::INFINITY
            } else {
                self.step(relaxation, below)
            };
            let hope = model - below;
            let whole = rounded(&self.point);
            let Some((value, met)) = relaxation.value(&whole) else {
                self.reach /= 4.0;
                continue;
            };
            for (l, k, inside) in met {
                self.add(relaxation, l, k, &inside);
            }
            if value > self.best {
                self.best = value;
                self.prices = whole;
            }
            let gain = value as f64 - below;
            if gain >= 0.1 * hope || below == f64::NEG_INFINITY {
                if gain >= 0.5 * hope && below > f64::NEG_INFINITY {
                    self.reach *= 2.0;
                }
                self.centre = self.point.clone();
                below = value as f64;
                nulls = 0;
            } else {
                nulls += 1;
                let ratio = gain / hope.max(1e-9);
                if nulls > 2 && ratio < 0.0 {
                    self.reach *= (0.5 / (1.0 - ratio)).max(0.3);
                    nulls = 0;
                }
            }
            if relaxation.cost(self.best) >= limits.enough {
                return;
            }
            if self.rounds >= earlier.0 + PATIENCE {
                let missing = relaxation.least(limits.enough) as f64 - earlier.1 as f64;
                if self.best as f64 - (earlier.1 as f64) < PROGRESS * missing {
                    return;
                }
                earlier = (self.rounds, self.best);
            }
            for c in &mut self.columns {
                c.idle = if c.times > 0.0 { 0 } else { c.idle + 1 };
            }
            self.columns.retain(|c| c.idle < IDLE);
        }
    }
}

fn bits(list: &[u32], length: usize) -> Vec<u64> {
    let mut bits = vec![0; length.div_ceil(64)];
    for &x in list {
        bits[x as usize / 64] |= 1 << (x % 64);
    }
    bits
}

fn rounded(prices: &Prices<f64>) -> Prices<i32> {
    let most = LARGEST as f64;
    let round = |x: &f64| x.round().clamp(-most, most) as i32;
    prices
        .iter()
        .map(|l| l.iter().map(round).collect())
        .collect()
}
