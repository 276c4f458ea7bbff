//! Proofs: the optimum of small instances.

pub(crate) mod branch;
pub(crate) mod fill;
mod frontier;
pub(crate) mod halves;
pub(crate) mod limit;
pub(crate) mod structure;
pub(crate) mod symmetry;

use limit::{Limit, Outcome};

use crate::instance::Instance;
use crate::tuning::proofs::BRANCHES;

/// Searches for the optimum; `known` is the cost and blocks of a feasible mapping, if there is one.
pub(crate) fn solve(inst: &Instance, known: Option<(&[u32], i64)>, limit: Limit<'_>) -> Outcome {
    let nodes = limit.nodes.min(BRANCHES);
    let brief = branch::solve(inst, known, Limit { nodes, ..limit });
    if brief.complete {
        return brief;
    }
    let cheapest = brief.better.as_ref().map(|b| b.1);
    let cost = cheapest.or(known.map(|k| k.1));
    let Some(other) = halves::solve(inst, cost, limit) else {
        return branch::solve(inst, known, limit);
    };
    Outcome {
        better: other.better.or(brief.better),
        bound: other.bound.max(brief.bound),
        complete: other.complete,
    }
}
