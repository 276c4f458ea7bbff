//! A bound from groups that are priced independently.
//!
//! The cost is a sum over levels of step times the traffic cut by the groups of that level. Let
//! every vertex have a price at every level. A grouping contains each vertex once, so
//!
//! `2 cost = sum of prices - sum over groups of (prices inside - weight cut around the group)`,
//!
//! If each group is replaced by the most expensive set of its capacity, the right side can only
//! fall. So it is a lower bound for all prices (Lagrangian relaxation of the set partitioning
//! formulation of Johnson, Mehrotra and Nemhauser, Min-cut clustering, 1993). The load of a group
//! also has a lower limit, because the other groups cannot hold the rest. [`Table`] finds the most
//! expensive set. All sums are integers, so the bound is exact for any prices (see
//! [`super::master`]).

use super::levels::{Level, levels};
use super::sweep::Sweep;
use super::table::{LARGEST, NEVER, Table, Terms};
use crate::clusters::number;
use crate::instance::Instance;
use crate::scale::gcd;
use crate::tuning::bounds::MET;

/// Weights are scaled so that their sum is at most this.
const FINE: i128 = 1 << 24;

/// Groups of a level with the same capacity.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) count: i64,
    pub(crate) table: Table,
}

/// One level of the machine, with its tables.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) kinds: Vec<Kind>,
    /// Kind of each group, and group of each block.
    pub(crate) kind_of: Vec<usize>,
    pub(crate) group_of: Vec<u32>,
    /// Scaled product of step and weight, by edge.
    pub(crate) weight: Vec<i32>,
}

/// Price of each vertex at each layer.
pub(crate) type Prices<T> = Vec<Vec<T>>;

/// A group: its layer, its kind, and for each vertex whether it is inside.
pub(crate) type Met = (usize, usize, Vec<bool>);

/// The relaxed problem.
#[derive(Debug)]
pub(crate) struct Relaxation {
    pub(crate) sweep: Sweep,
    pub(crate) layers: Vec<Layer>,
    /// Binary exponent of the factor by which costs are scaled.
    shift: i32,
    /// A common divisor of all costs.
    grain: i64,
}

impl Relaxation {
    /// Creates the relaxation and allocates its tables. Loads are rounded down to units so that a
    /// table has at most `entries` entries.
    ///
    /// Returns `None` if the cost of every mapping is 0, because there is no traffic, or no
    /// distance exceeds the collocated one. Also if some level cannot hold the load, if all tables
    /// together would have more than `most` entries, or if even the coarsest units make a table too
    /// large. No table is allocated then.
    pub(crate) fn new(
        inst: &Instance,
        mut sweep: Sweep,
        (entries, most): (usize, u64),
    ) -> Option<Self> {
        let levels = levels(inst);
        let all: i128 = sweep.edges.weight.iter().map(|&w| i128::from(w)).sum();
        let all = all * levels.iter().map(|l| i128::from(l.step)).sum::<i128>();
        let total = inst.total_load();
        if all == 0 || levels.iter().any(|l| l.holds() < total) {
            return None;
        }
        let mut shift = 0;
        while shift < 20 && shifted(all, shift + 1) <= FINE {
            shift += 1;
        }
        while shifted(all, shift) > FINE {
            shift -= 1;
        }
        let grain = levels.iter().fold(0, |g, l| gcd(g, l.step));
        let grain = grain * sweep.edges.weight.iter().fold(0, |g, &w| gcd(g, w));
        let common = (0..inst.len() as u32).fold(0, |g, v| gcd(g, inst.load(v)));
        // All layers use the same unit, because the capacity of a group is the sum over its blocks.
        let mut unit = common.max(1);
        loop {
            sweep.count_in(unit, inst);
            let size = |l: &Level| Table::size(&sweep, (l.most().min(total) / unit) as usize);
            if total / unit < 1 << 24 && levels.iter().all(|l| size(l) <= entries) {
                if levels.iter().map(size).sum::<usize>() as u64 > most {
                    return None;
                }
                break;
            }
            if total / unit < 4 {
                return None;
            }
            unit += (unit + 3) / 4;
        }
        let sum = sweep.total() as i64;
        let layer = |level: Level| {
            let room: Vec<i64> = level.room.iter().map(|r| (r / unit).min(sum)).collect();
            let held: i128 = room.iter().map(|&r| i128::from(r)).sum();
            // Smallest and largest load of the groups of each kind, in units.
            let mut capacities: Vec<(usize, usize)> = Vec::new();
            let kind = |&most: &i64| {
                let others = held - i128::from(most);
                let least = (i128::from(sum) - others).max(0) as usize;
                number(&mut capacities, (least, most as usize))
            };
            let kind_of: Vec<usize> = room.iter().map(kind).collect();
            let kinds = (0..).zip(capacities).map(|(kind, (least, most))| Kind {
                count: kind_of.iter().filter(|k| **k == kind).count() as i64,
                table: Table::new(&sweep, least, most),
            });
            let cost = |w: &i64| i128::from(*w) * i128::from(level.step);
            let weight = sweep.edges.weight.iter().map(cost);
            Layer {
                kinds: kinds.collect(),
                kind_of,
                group_of: level.group_of,
                weight: weight.map(|cost| shifted(cost, shift) as i32).collect(),
            }
        };
        Some(Self {
            layers: levels.into_iter().map(layer).collect(),
            sweep,
            shift,
            grain,
        })
    }

    /// Returns the number of entries of all tables.
    pub(crate) fn entries(&self) -> usize {
        let kinds = self.layers.iter().flat_map(|l| &l.kinds);
        kinds.map(|k| k.table.entries()).sum()
    }

    /// Returns the cost that a value proves. A value is twice the scaled cost. The result is
    /// rounded up to a multiple of the common divisor of all costs. A negative value proves the
    /// cost 0.
    pub(crate) fn cost(&self, value: i64) -> i64 {
        let shift = self.shift + 1;
        // Rounded up.
        let rest = (1 << shift.max(0)) - 1;
        let cost = shifted(i128::from(value.max(0)) + rest, -shift);
        let grain = i128::from(self.grain);
        ((cost + grain - 1) / grain * grain).min(i128::from(i64::MAX)) as i64
    }

    /// Returns the smallest positive value that proves at least this cost, but at most a quarter of
    /// the largest `i64`.
    pub(crate) fn least(&self, cost: i64) -> i64 {
        let below = i128::from((cost - 1).max(0) / self.grain * self.grain);
        let most = shifted(below, self.shift + 1);
        (most + 1).min(i128::from(i64::MAX / 4)) as i64
    }

    /// Fills the tables and returns the value of the prices: twice the scaled cost of every mapping
    /// is at least this. Also returns expensive groups of each layer and kind. Those of one kind
    /// follow one another, the most expensive first.
    ///
    /// Returns `None` if the prices are too large for the arithmetic, or if no group of some kind
    /// can have a permitted load.
    pub(crate) fn value(&mut self, prices: &Prices<i32>) -> Option<(i64, Vec<Met>)> {
        let mut met = Vec::new();
        let mut sum = 0;
        for (l, (layer, price)) in self.layers.iter_mut().zip(prices).enumerate() {
            let weight = &layer.weight;
            let terms = Terms {
                sweep: &self.sweep,
                price,
                weight,
            };
            let size = |list: &[i32]| list.iter().map(|&x| i64::from(x).abs()).sum::<i64>();
            if size(price) + size(weight) > LARGEST {
                return None;
            }
            sum += price.iter().map(|&p| i64::from(p)).sum::<i64>();
            for (k, kind) in layer.kinds.iter_mut().enumerate() {
                let worth = kind.table.fill(terms);
                if worth < NEVER / 2 {
                    return None;
                }
                sum -= kind.count * i64::from(worth);
                let count = (kind.count as usize).min(MET);
                let groups = kind.table.costliest(terms, count).into_iter();
                met.extend(groups.map(|group| (l, k, group)));
            }
        }
        Some((sum, met))
    }
}

/// Returns `number` times two to the power `power`, rounded down.
fn shifted(number: i128, power: i32) -> i128 {
    if power >= 0 {
        number << power
    } else {
        number >> -power
    }
}

#[cfg(test)]
mod tests {
    use super::super::master::{Limits, Master};
    use super::super::tests::{instance, mappings};
    use super::*;
    use crate::random::Random;

    #[test]
    fn bound_holds_for_all_prices() {
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
            // The bound holds for any prices.
            let mut prices = master.prices.clone();
            for list in &mut prices {
                let far = [1, 1_000, 1_000_000][random.below(3)];
                for x in list {
                    *x = (*x + random.below(far) as i32 - far as i32 / 3).max(0);
                }
            }
            if let Some((value, _)) = relaxation.value(&prices) {
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
