//! The balance bound: whether anything keeps it, and to what it is raised when nothing does.

use super::options::Options;
use crate::bound::relaxation::gcd;
use crate::budget::Budget;
use crate::diagnose;
use crate::error::{Conflict, Error, Part};
use crate::evaluate::Evaluation;
use crate::exact::branch;
use crate::exact::fill::Fit;
use crate::exact::limit::Limit;
use crate::instance::Instance;
use crate::pack;
use crate::problem::Problem;
use crate::random::Random;
use crate::tuning::small::NETWORK;
use crate::tuning::time::{FEASIBLE, SETTLING, TOLD};

/// Steps spent on packing before the balance bound is raised.
pub(super) fn packing(inst: &Instance) -> u64 {
    (inst.len() as u64 * 1000).clamp(10_000, 2_000_000)
}

/// Steps of each packing that is tried to find out how far it must be raised.
pub(super) fn raising(inst: &Instance) -> u64 {
    (inst.len() as u64 * 200).clamp(4_000, 250_000)
}

/// The factor by which the bounds must be raised because all loads are multiples of some number, and
/// blocks cannot be filled but in such steps; `None` where that is no hindrance.
pub(super) fn indivisible(inst: &Instance) -> Option<f64> {
    let step = (0..inst.len() as u32).fold(0, |step, v| gcd(step, inst.load(v)));
    if step < 2 {
        return None;
    }
    let bounds: Vec<i64> = (0..inst.k()).map(|b| inst.load_bound(b)).collect();
    let total = inst.total_load();
    let fits = |factor: f64| {
        let filled = |&bound: &i64| (bound as f64 * factor).floor() as i64 / step * step;
        bounds.iter().map(filled).fold(0, i64::saturating_add) >= total
    };
    let whole = bounds.iter().map(|bound| bound / step * step);
    if whole.fold(0, i64::saturating_add) >= total {
        return None;
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
    Some(high)
}

/// Whether the loads are within the bounds of the instance (which may have been raised).
pub(super) fn within(inst: &Instance, judged: &Evaluation) -> bool {
    judged
        .loads
        .iter()
        .enumerate()
        .all(|(b, &load)| load as i64 <= inst.load_bound(b))
}

/// When neither search nor packing found a feasible mapping: looks for one by branch and bound.
/// `None` when there is none within the balance bound (or none was found in time), and whether the
/// search was complete; an error when there is proved to be none and raising the bound cannot help
/// or is not wanted.
pub(super) fn settle(
    inst: &Instance,
    problem: &Problem<'_>,
    options: &Options,
    budget: &Budget<'_>,
) -> Result<(Option<Vec<u32>>, bool), Error> {
    // The order of its vertices alone takes time in their square.
    if inst.len() > NETWORK {
        return Ok((None, false));
    }
    let limit = |share: f64| Limit {
        nodes: SETTLING,
        stop_at: budget.settled_by(share),
        watch: budget.watch,
    };
    let complete = match branch::feasible(inst, limit(FEASIBLE)) {
        Fit::Found(block) => return Ok((Some(block), true)),
        fit => fit == Fit::Never,
    };
    if !problem.constraints.is_empty() || inst.dims() > 1 {
        let free = inst.without_load_bounds();
        if branch::feasible(&free, limit(FEASIBLE)) == Fit::Never {
            return Err(Error::Infeasible(diagnose::smallest(problem, limit(TOLD))));
        }
    }
    if complete && options.strict_balance {
        let conflict = diagnose::smallest_balanced(problem, limit(TOLD));
        return Err(Error::Infeasible(conflict));
    }
    Ok((None, complete))
}

/// A vertex heavier than the bound of every block.
pub(super) fn too_heavy(inst: &Instance) -> Option<u32> {
    let most = (0..inst.k()).map(|b| inst.load_bound(b)).max().unwrap_or(0);
    (0..inst.len() as u32).find(|&v| inst.load(v) > most)
}

/// Raises the load bounds to the least found, no less than by a factor; returns by what factor, and
/// a mapping that keeps them.
pub(super) fn raise(
    problem: &Problem<'_>,
    inst: &mut Instance,
    options: &Options,
    least: f64,
    (random, effort): (&mut Random, pack::Effort),
    log: &mut Vec<String>,
) -> Result<(f64, Vec<u32>), Error> {
    if options.strict_balance {
        let heavy = too_heavy(inst);
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
    let Some((bounds, packed)) = pack::least_bounds(inst, least, random, effort) else {
        let reason = "no mapping keeps memory, slots and constraints, even without a balance bound";
        let parts = (0..problem.constraints.len()).map(Part::Constraint);
        return Err(Conflict::unproved(parts.collect(), reason));
    };
    let factor = (0..inst.k())
        .map(|b| bounds[b] as f64 / inst.load_bound(b).max(1) as f64)
        .fold(1.0, f64::max);
    log.push(format!(
        "balance bound raised by a factor of {factor:.3}: nothing fits within it"
    ));
    *inst = inst.with_load_bounds(&bounds);
    Ok((factor, packed))
}
