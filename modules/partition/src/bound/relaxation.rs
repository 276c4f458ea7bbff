//! A bound from groups priced one by one.
//!
//! The cost is a sum over levels of step times the traffic cut by the groups of that level. Let
//! every vertex have a price at every level. A grouping holds each vertex once, so
//!
//! `2 cost = sum of prices - sum over groups of (prices inside - weight cut around the group)`,
//!
//! and with the groups chosen one by one, each as dear as any set of its capacity, the right side
//! can only fall: for all prices it is a lower bound (Lagrangian relaxation of the set partitioning
//! formulation of Johnson, Mehrotra and Nemhauser, Min-cut clustering, 1993). A capacity bounds
//! from both sides, since what other groups cannot hold must lie here. The dearest set is found by
//! [`Table`]. All sums are whole numbers, so the bound holds to the last digit however prices were
//! found (see [`super::master`]).

use super::levels::{Level, levels};
use super::sweep::Sweep;
use super::table::{LARGEST, Loads, NEVER, Table};
use crate::instance::Instance;
use crate::tuning::bounds::MET;

/// Weights are scaled so that they sum to about this.
const FINE: i64 = 1 << 24;

/// Groups of a level with one capacity.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) count: i64,
    /// Least and most load, in units.
    capacity: (usize, usize),
    pub(crate) table: Table,
}

/// One level of the machine, with its tables.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) loads: Loads,
    pub(crate) kinds: Vec<Kind>,
    /// Kind of each group, and group of each block.
    pub(crate) kind_of: Vec<usize>,
    pub(crate) group_of: Vec<u32>,
    /// Scaled step times weight of each edge.
    pub(crate) weight: Vec<i32>,
}

/// Prices of the vertices at each layer.
pub(crate) type Prices<T> = Vec<Vec<T>>;

/// The relaxed problem.
#[derive(Debug)]
pub(crate) struct Relaxation {
    pub(crate) sweep: Sweep,
    pub(crate) layers: Vec<Layer>,
    /// Costs are scaled by two to this power.
    shift: i32,
    /// Every cost is a multiple of this.
    grain: i64,
}

impl Relaxation {
    /// `None` for networks without an order of narrow fronts, and for a machine of one block.
    /// Tables have about `entries` at most; loads are rounded down to get there. `None`, too, where
    /// all of them together would have more than `most`: nothing is allocated then.
    pub(crate) fn new(
        inst: &Instance,
        sweep: Sweep,
        (entries, most): (usize, u64),
    ) -> Option<Self> {
        let levels = levels(inst);
        let all: i128 = sweep.edges.weight.iter().map(|&w| i128::from(w)).sum();
        let all = all * levels.iter().map(|l| i128::from(l.step)).sum::<i128>();
        if levels.is_empty() || all == 0 {
            return None;
        }
        let mut shift = 0;
        while all << (shift + 1).max(0) <= i128::from(FINE) && shift < 20 {
            shift += 1;
        }
        while shift <= 0 && all >> -shift > i128::from(FINE) {
            shift -= 1;
        }
        let grain = levels.iter().fold(0, |g, l| gcd(g, l.step));
        let grain = grain * sweep.edges.weight.iter().fold(0, |g, &w| gcd(g, w));
        let total = inst.total_load();
        let common = (0..inst.len() as u32).fold(0, |g, v| gcd(g, inst.load(v)));
        if levels.iter().any(|l| l.holds() < total) {
            return None;
        }
        // One unit for all layers: what a group holds is the sum over its blocks.
        let mut unit = common.max(1);
        let fits = |unit: i64| {
            let of: Vec<u32> = (0..inst.len() as u32)
                .map(|v| u32::try_from(inst.load(v) / unit).unwrap_or(u32::MAX))
                .collect();
            if total / unit >= 1 << 24 {
                return None;
            }
            let loads = Loads::new(&sweep, of);
            let most = |l: &Level| (l.most().min(total) / unit) as usize;
            let small = levels
                .iter()
                .all(|l| loads.entries(&sweep, most(l)) <= entries);
            small.then_some(loads)
        };
        let loads = loop {
            if let Some(loads) = fits(unit) {
                break loads;
            }
            if total / unit < 4 {
                return None;
            }
            unit += (unit + 3) / 4;
        };
        let table = |l: &Level| loads.entries(&sweep, (l.most().min(total) / unit) as usize);
        if levels.iter().map(table).sum::<usize>() as u64 > most {
            return None;
        }
        let mut layers = Vec::new();
        for level in &levels {
            let sum = loads.before[sweep.steps.len()] as i64;
            let room: Vec<i64> = level.room.iter().map(|r| (r / unit).min(sum)).collect();
            let held: i128 = room.iter().map(|&r| i128::from(r)).sum();
            let mut kinds: Vec<Kind> = Vec::new();
            let mut kind_of = Vec::new();
            for &most in &room {
                let others = held - i128::from(most);
                let least = (i128::from(sum) - others).max(0) as usize;
                let capacity = (least, most as usize);
                let known = kinds.iter().position(|k| k.capacity == capacity);
                let kind = known.unwrap_or_else(|| {
                    kinds.push(Kind {
                        count: 0,
                        capacity,
                        table: Table::new(&sweep, &loads, least, most as usize),
                    });
                    kinds.len() - 1
                });
                kinds[kind].count += 1;
                kind_of.push(kind);
            }
            let scaled = |&w: &i64| {
                let cost = i128::from(w) * i128::from(level.step);
                (if shift >= 0 {
                    cost << shift
                } else {
                    cost >> -shift
                }) as i32
            };
            layers.push(Layer {
                loads: loads.clone(),
                kinds,
                kind_of,
                group_of: level.group_of.clone(),
                weight: sweep.edges.weight.iter().map(scaled).collect(),
            });
        }
        Some(Self {
            sweep,
            layers,
            shift,
            grain: grain.max(1),
        })
    }

    /// Entries of all tables.
    pub(crate) fn entries(&self) -> usize {
        let kinds = self.layers.iter().flat_map(|l| &l.kinds);
        kinds.map(|k| k.table.entries()).sum()
    }

    /// Cost that twice the scaled value proves.
    pub(crate) fn cost(&self, value: i64) -> i64 {
        let shift = self.shift + 1;
        let value = i128::from(value.max(0));
        let cost = if shift > 0 {
            (value + (1 << shift) - 1) >> shift
        } else {
            value << -shift
        };
        let grain = i128::from(self.grain);
        ((cost + grain - 1) / grain * grain).min(i128::from(i64::MAX)) as i64
    }

    /// The least value that proves a cost.
    pub(crate) fn least(&self, cost: i64) -> i64 {
        let (shift, below) = (
            self.shift + 1,
            i128::from((cost - 1).max(0) / self.grain * self.grain),
        );
        let most = if shift > 0 {
            below << shift
        } else {
            below >> -shift
        };
        (most + 1).min(i128::from(i64::MAX / 4)) as i64
    }

    /// The value of these prices: twice the scaled cost of every mapping is at least this. `None` for
    /// prices too large to count with, and where there is no group for some capacity. Fills the tables;
    /// `met` gets dear sets of each kind and layer, the most expensive first.
    pub(crate) fn value(
        &mut self,
        prices: &Prices<i32>,
        met: &mut dyn FnMut(usize, usize, Vec<bool>),
    ) -> Option<i64> {
        let mut sum = 0;
        for (l, (layer, price)) in self.layers.iter_mut().zip(prices).enumerate() {
            let weight = &layer.weight;
            let size = |list: &[i32]| list.iter().map(|&x| i64::from(x).abs()).sum::<i64>();
            if size(price) + size(weight) > LARGEST {
                return None;
            }
            sum += price.iter().map(|&p| i64::from(p)).sum::<i64>();
            for (k, kind) in layer.kinds.iter_mut().enumerate() {
                let worth = kind.table.fill(&self.sweep, &layer.loads, price, weight);
                if worth < NEVER / 2 {
                    return None;
                }
                sum -= kind.count * i64::from(worth);
                let count = (kind.count as usize).min(MET);
                let groups = kind
                    .table
                    .dearest(&self.sweep, &layer.loads, price, weight, count);
                groups.into_iter().for_each(|group| met(l, k, group));
            }
        }
        Some(sum)
    }
}

/// The greatest common divisor.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::super::master::{Limits, Master};
    use super::super::tests::{instance, mappings};
    use super::*;
    use crate::random::Random;

    #[test]
    fn no_mapping_costs_less_whatever_the_prices() {
        let mut random = Random::new(3);
        let cases = std::env::var("PROPTEST_CASES");
        let cases: usize = cases.ok().and_then(|c| c.parse().ok()).unwrap_or(60);
        let (mut close, mut tested) = (0, 0);
        for _ in 0..cases {
            let inst = instance(&mut random);
            let all = mappings(&inst);
            let Some(best) = all.iter().min_by_key(|m| inst.cost(m)) else {
                continue;
            };
            let entries = [100, 2_000, 1 << 16][random.below(3)];
            let sweep = Sweep::new(&inst, None).unwrap();
            let Some(mut relaxation) = Relaxation::new(&inst, sweep, (entries, u64::MAX)) else {
                continue;
            };
            let optimum = inst.cost(best);
            let some = &all[random.below(all.len())];
            let mut master = Master::new(&relaxation, some);
            let limits = Limits {
                enough: i64::MAX,
                rounds: 40,
                stop_at: None,
            };
            master.improve(&mut relaxation, &limits);
            let bound = relaxation.cost(master.best);
            assert!(bound <= optimum, "{bound} > {optimum}");
            tested += 1;
            close += usize::from(bound * 10 >= optimum * 9);
            // Any prices will do.
            let mut prices = master.prices.clone();
            for list in &mut prices {
                let far = [1, 1_000, 1_000_000][random.below(3)];
                for x in list {
                    *x = (*x + random.below(far) as i32 - far as i32 / 3).max(0);
                }
            }
            if let Some(value) = relaxation.value(&prices, &mut |_, _, _| ()) {
                let bound = relaxation.cost(value);
                assert!(bound <= optimum, "{bound} > {optimum}");
            }
        }
        assert!(
            close * 2 > tested,
            "only {close} of {tested} bounds are close"
        );
    }
}
