//! The balance bound: whether anything keeps it, and to what it is raised when nothing does.

use std::time::Instant;

use super::Stages;
use crate::bound::relaxation::gcd;
use crate::diagnose;
use crate::draft::Draft;
use crate::error::{Conflict, Error, Part};
use crate::exact::branch;
use crate::exact::fill::Fit;
use crate::exact::limit::Limit;
use crate::explain::explain;
use crate::instance::Instance;
use crate::pack;
use crate::pigeonhole;
use crate::problem::Objective;
use crate::tuning::small::NETWORK;
use crate::tuning::time::{BRIEF_PACKING, FEASIBLE, SETTLING, TOLD};

impl Stages<'_> {
    /// Lowers the load bounds where the largest load is to be small, and raises them where it can
    /// be seen without a search that nothing keeps them.
    pub(crate) fn bound_loads(&mut self) -> Result<(), Error> {
        let begun = Instant::now();
        let (problem, options) = (self.problem, self.options);
        let lowers = problem.objective == Objective::LargestLoad;
        if lowers {
            let inst = &self.inst;
            let bounds: f64 = (0..inst.k()).map(|b| inst.load_bound(b) as f64).sum();
            let low = problem.graph.total_load() as f64 / bounds.max(1.0);
            let mut effort = self.packing(BRIEF_PACKING);
            effort.steps /= 4;
            if let Some((bounds, _)) = pack::least_bounds(inst, low, &mut self.random, effort) {
                self.inst = self.inst.with_load_bounds(&bounds);
            }
        }
        let all: Vec<usize> = (0..problem.constraints.len()).collect();
        // Without constraints every vertex may lie anywhere.
        let confined = (!all.is_empty()).then(|| Draft::new(problem, &all));
        let overload = confined.and_then(|draft| pigeonhole::overload(&draft, problem));
        let heavy = too_heavy(&self.inst).is_some();
        self.unavoidable = heavy && overload.is_none();
        let mut least = 1.0_f64;
        if let Some((clash, factor)) = overload {
            if options.strict_balance {
                return Err(Error::Infeasible(explain(problem, clash)));
            }
            least = factor;
        }
        least = match lowers {
            true => 1.0,
            false => least
                .max(indivisible(&self.inst))
                .max(pigeonhole::counted(problem)),
        };
        self.unavoidable |= least > 1.0;
        if self.unavoidable {
            let plain = problem.constraints.is_empty() && self.inst.dims() == 1;
            // Whoever wants no other bound hears of the vertex that is too heavy, where one is.
            let settles = match options.strict_balance {
                true => !heavy,
                false => !plain,
            };
            if settles {
                self.settle()?;
            }
            self.packed = Some(self.raise(least)?);
        }
        self.bounding_took = begun.elapsed();
        Ok(())
    }

    /// Effort to pack with, for a share of the time at most.
    pub(super) fn packing(&self, share: f64) -> pack::Effort {
        pack::Effort {
            steps: (self.inst.len() as u64 * 1000).clamp(10_000, 2_000_000),
            stop_at: self.budget.time.map(|t| Instant::now() + t.mul_f64(share)),
        }
    }

    /// When neither search nor packing found a feasible mapping: looks for one by branch and bound, and
    /// notes where it is proved that there is none within the balance bound. An error when there is
    /// proved to be none and raising the bound cannot help or is not wanted.
    pub(super) fn settle(&mut self) -> Result<Option<Vec<u32>>, Error> {
        let (inst, problem, budget) = (&self.inst, self.problem, self.budget);
        // The order of its vertices alone takes time in their square.
        if inst.len() > NETWORK {
            return Ok(None);
        }
        let limit = |share: f64| Limit {
            nodes: SETTLING,
            stop_at: budget.settled_by(share),
            watch: budget.watch,
        };
        let complete = match branch::feasible(inst, limit(FEASIBLE)) {
            Fit::Found(block) => return Ok(Some(block)),
            fit => fit == Fit::Never,
        };
        if !problem.constraints.is_empty() || inst.dims() > 1 {
            let free = inst.without_load_bounds();
            if branch::feasible(&free, limit(FEASIBLE)) == Fit::Never {
                return Err(Error::Infeasible(diagnose::smallest(problem, limit(TOLD))));
            }
        }
        if self.options.strict_balance && complete {
            let conflict = diagnose::smallest_balanced(problem, limit(TOLD));
            return Err(Error::Infeasible(conflict));
        }
        self.unavoidable |= complete;
        Ok(None)
    }

    /// Raises the load bounds to the least found, no less than by a factor; returns a mapping that
    /// keeps them.
    pub(super) fn raise(&mut self, least: f64) -> Result<Vec<u32>, Error> {
        if self.options.strict_balance {
            let heavy = too_heavy(&self.inst);
            return Err(Error::Infeasible(Conflict {
                parts: heavy.map(Part::Vertex).into_iter().collect(),
                proved: heavy.is_some(),
                minimal: heavy.is_some(),
                reason: match heavy {
                    Some(_) => "a vertex alone is heavier than the balance bound of every block",
                    None => "no mapping within the balance bound was found",
                }
                .to_owned(),
            }));
        }
        let effort = pack::Effort {
            steps: (self.inst.len() as u64 * 200).clamp(4_000, 250_000),
            stop_at: self.budget.settled_by(BRIEF_PACKING),
        };
        let found = pack::least_bounds(&self.inst, least, &mut self.random, effort);
        let Some((bounds, packed)) = found else {
            let reason =
                "no mapping keeps memory, slots and constraints, even without a balance bound";
            let parts = (0..self.problem.constraints.len()).map(Part::Constraint);
            return Err(Conflict::unproved(parts.collect(), reason));
        };
        let factor = (0..self.inst.k())
            .map(|b| bounds[b] as f64 / self.inst.load_bound(b).max(1) as f64)
            .fold(1.0, f64::max);
        self.log.push(format!(
            "balance bound raised by a factor of {factor:.3}: nothing fits within it"
        ));
        self.inst = self.inst.with_load_bounds(&bounds);
        self.raised = Some(self.raised.unwrap_or(1.0) * factor);
        Ok(packed)
    }
}

/// The factor by which the bounds must be raised because all loads are multiples of some number, and
/// blocks cannot be filled but in such steps; 1 where that is no hindrance.
fn indivisible(inst: &Instance) -> f64 {
    let step = (0..inst.len() as u32).fold(0, |step, v| gcd(step, inst.load(v)));
    if step < 2 {
        return 1.0;
    }
    let bounds: Vec<i64> = (0..inst.k()).map(|b| inst.load_bound(b)).collect();
    let total = inst.total_load();
    let fits = |factor: f64| {
        let filled = |&bound: &i64| (bound as f64 * factor).floor() as i64 / step * step;
        bounds.iter().map(filled).fold(0, i64::saturating_add) >= total
    };
    let whole = bounds.iter().map(|bound| bound / step * step);
    if whole.fold(0, i64::saturating_add) >= total {
        return 1.0;
    }
    // A factor at which a further step fits into some block.
    let (mut low, mut high) = (1.0, 2.0);
    while !fits(high) && high < 1e18 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        (low, high) = if fits(middle) {
            (low, middle)
        } else {
            (middle, high)
        };
    }
    high
}

/// A vertex heavier than the bound of every block.
fn too_heavy(inst: &Instance) -> Option<u32> {
    let most = (0..inst.k()).map(|b| inst.load_bound(b)).max().unwrap_or(0);
    (0..inst.len() as u32).find(|&v| inst.load(v) > most)
}
