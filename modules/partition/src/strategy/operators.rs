//! Operators that improve a mapping, and the choice of the next one. The choice is a bandit with
//! decay: it prefers the operator with the largest recent gain per step.

use crate::instance::Instance;
use crate::random::Random;
use crate::refine::region::Region;
use crate::tuning::small::{CYCLE, DECAY, DIVISIONS, LONG_DIVISIONS, LONG_TRIES, TRIES};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Operator {
    /// Improves part of a group of this depth.
    Region(u32),
    /// Redivides pairs of blocks inside a group of this depth, exactly.
    Pairs(u32),
    /// Combines the mapping with another one.
    Combine,
    /// Moves clusters on the whole machine.
    Cycle,
    /// Redivides a few blocks at a time, for this number of steps.
    Exchange(u64),
}

struct Arm {
    operator: Operator,
    /// Recent gain and recent steps, with decay.
    gained: f64,
    spent: f64,
    /// All steps of this operator.
    total: u64,
}

impl Arm {
    fn new(operator: Operator) -> Self {
        Self {
            operator,
            gained: 0.0,
            spent: 0.0,
            total: 0,
        }
    }

    fn divides(&self) -> bool {
        matches!(self.operator, Operator::Exchange(_))
    }
}

pub(crate) struct Operators {
    arms: Vec<Arm>,
    /// Whether load is the only dimension that is limited.
    plain: bool,
}

impl Operators {
    /// Selects the operators that are worth trying on an instance within `all` steps.
    pub(crate) fn new(inst: &Instance, all: u64) -> Self {
        let mut kinds = vec![Operator::Combine];
        // Steps of one try, approximately.
        if 2 * CYCLE * inst.len() as u64 * TRIES <= all {
            kinds.push(Operator::Cycle);
        }
        for depth in 0..Region::depths(inst) {
            kinds.push(Operator::Region(depth));
            if inst.limits_loads_alone() {
                kinds.push(Operator::Pairs(depth));
            }
        }
        Self {
            arms: kinds.into_iter().map(Arm::new).collect(),
            plain: inst.dims() == 1,
        }
    }

    pub(crate) fn operator(&self, way: usize) -> Operator {
        self.arms[way].operator
    }

    /// Adds the operators that divide a few blocks at a time, because the loads hardly fit. They
    /// take more time than they gain if the loads fit easily. `all` is the number of steps in
    /// total. Does nothing if they were added before.
    pub(crate) fn fit_tightly(&mut self, all: u64) {
        if !self.arms.iter().any(Arm::divides) {
            let [short, last] = DIVISIONS;
            let long = (LONG_TRIES * LONG_DIVISIONS <= all).then_some(LONG_DIVISIONS);
            let more = [Some(short), long, Some(last)].into_iter().flatten();
            self.arms.extend(more.map(Operator::Exchange).map(Arm::new));
        }
    }

    /// Returns the index of the operator that brings a mapping within its bounds, which is the last
    /// one. Adds it first if necessary, as [`fit_tightly`](Self::fit_tightly) does.
    pub(crate) fn repair(&mut self, all: u64) -> usize {
        self.fit_tightly(all);
        self.arms.len() - 1
    }

    /// Prepares for another mapping, for which operators that failed on the last one may gain
    /// again.
    pub(crate) fn refresh(&mut self) {
        for way in &mut self.arms {
            way.spent *= 0.2;
        }
    }

    /// Records the gain and the steps of a try of the operator with index `way`. The first try
    /// counts as an additional gain of `hope`, so that each operator gets several tries.
    pub(crate) fn credit(&mut self, way: usize, gain: f64, hope: f64, steps: u64) {
        let way = &mut self.arms[way];
        if way.total == 0 {
            way.gained = hope;
            way.spent = 3.0 * steps as f64;
        }
        way.gained = way.gained * DECAY + gain;
        way.spent = way.spent * DECAY + steps as f64;
        way.total += steps;
    }

    /// Returns true if there are divisions, load is the only dimension, and divisions have had
    /// fewer steps than all other operators together. If load is the only limit and leaves little
    /// room, divisions gain most. But each division takes many steps, so the short operators would
    /// always be chosen first.
    fn lacks_divisions(&self) -> bool {
        let steps = |divide| {
            let those = self.arms.iter().filter(|w| w.divides() == divide);
            those.map(|w| w.total).sum::<u64>()
        };
        self.plain && self.arms.iter().any(Arm::divides) && steps(true) < steps(false)
    }

    /// Returns the index of the next operator. If divisions lack steps, chooses only among them.
    /// Takes the first one that was never tried, otherwise mostly the one with the best recent gain
    /// per step, and sometimes the one with the fewest steps.
    pub(crate) fn choose(&self, random: &mut Random) -> usize {
        let lack = self.lacks_divisions();
        let all = || {
            self.arms
                .iter()
                .enumerate()
                .filter(|w| !lack || w.1.divides())
        };
        if let Some((new, _)) = all().find(|w| w.1.total == 0) {
            return new;
        }
        let best = if random.below(4) == 0 {
            all().min_by_key(|w| w.1.total)
        } else {
            let rate = |w: &Arm| w.gained / w.spent;
            all().max_by(|a, b| rate(a.1).total_cmp(&rate(b.1)))
        };
        best.map_or(0, |w| w.0)
    }
}
