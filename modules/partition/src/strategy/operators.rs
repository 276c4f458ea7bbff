//! The operators that improve a mapping, and which to apply next: a bandit with decay takes that which gained
//! most for its steps of late.

use crate::instance::Instance;
use crate::random::Random;
use crate::refine::region::Region;
use crate::tuning::small::{CYCLE, DECAY, DIVISIONS, LONG_DIVISIONS, LONG_TRIES, TRIES};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Operator {
    /// Part of a group of this depth is improved.
    Region(u32),
    /// Pairs of blocks that a group of this depth holds are divided anew, exactly.
    Pairs(u32),
    /// The mapping is mixed with another.
    Combine,
    /// Clusters are moved all over the machine.
    Cycle,
    /// A few blocks at a time are divided anew, for so many steps.
    Exchange(u64),
}

struct Arm {
    operator: Operator,
    /// Gain and steps of late.
    gained: f64,
    spent: f64,
    /// All its steps.
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
    /// Loads are all that is limited.
    plain: bool,
}

impl Operators {
    /// Those for an instance that are worth trying within so many steps.
    pub(crate) fn new(inst: &Instance, all: u64) -> Self {
        let mut kinds = vec![Operator::Combine];
        // Each takes about so many steps.
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

    /// Loads hardly fit: from now on a few blocks at a time are divided anew too, a way that takes
    /// more time than it gains where they fit easily. There are so many steps in all.
    pub(crate) fn fit_tightly(&mut self, all: u64) {
        if !self.arms.iter().any(Arm::divides) {
            let [short, last] = DIVISIONS;
            let long = (LONG_TRIES * LONG_DIVISIONS <= all).then_some(LONG_DIVISIONS);
            let more = [Some(short), long, Some(last)].into_iter().flatten();
            self.arms.extend(more.map(Operator::Exchange).map(Arm::new));
        }
    }

    /// The way to bring a mapping within its bounds, the last of all.
    pub(crate) fn repair(&mut self, all: u64) -> usize {
        self.fit_tightly(all);
        self.arms.len() - 1
    }

    /// Another mapping is improved: what failed with the last may gain again.
    pub(crate) fn refresh(&mut self) {
        for way in &mut self.arms {
            way.spent *= 0.2;
        }
    }

    /// Books a try. The first one counts as if it had gained a little: all are worth some tries.
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

    /// Whether divisions anew have had fewer steps than all others. Where loads alone leave little room they gain most, but in
    /// rows so long that what is short would be tried first all the time.
    fn lacks_divisions(&self) -> bool {
        let steps = |divide| {
            let those = self.arms.iter().filter(|w| w.divides() == divide);
            those.map(|w| w.total).sum::<u64>()
        };
        self.plain && self.arms.iter().any(Arm::divides) && steps(true) < steps(false)
    }

    /// The way to go next: one not yet tried, mostly the one that paid best of late, at times the one
    /// that had least.
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
