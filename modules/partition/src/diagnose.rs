//! Which constraints and capacities are in conflict when the search has ruled out every mapping.

use crate::constraints::Contradiction;
use crate::error::{Conflict, Part};
use crate::exact::branch::{self, Limit};
use crate::instance::Instance;
use crate::problem::{Constraint, Problem};

/// A set of constraints that no mapping keeps, made small by leaving out one after the other as
/// long as the rest is still proved impossible.
pub(crate) fn smallest(problem: &Problem<'_>, limit: Limit) -> Conflict {
    let limit = Limit {
        nodes: limit.nodes / 10,
        ..limit
    };
    let mut kept: Vec<usize> = (0..problem.constraints.len())
        .filter(|&i| !matches!(problem.constraints[i], Constraint::Prefer { .. }))
        .collect();
    let mut at = 0;
    while at < kept.len() {
        let mut fewer = kept.clone();
        fewer.remove(at);
        if impossible(problem, &fewer, limit) {
            kept = fewer;
        } else {
            at += 1;
        }
    }
    let mut parts: Vec<Part> = kept.iter().map(|&i| Part::Constraint(i)).collect();
    let blocks = problem.machine.blocks();
    if problem.graph.has_memory() {
        let limited = (0..blocks.len()).filter(|&b| blocks[b].memory.is_some());
        parts.extend(limited.map(|b| Part::Memory(b as u32)));
    }
    let limited = (0..blocks.len()).filter(|&b| blocks[b].slots.is_some());
    parts.extend(limited.map(|b| Part::Slots(b as u32)));
    let reason = if parts.len() == kept.len() {
        "these constraints cannot hold together".to_owned()
    } else {
        "memory, slots and these constraints cannot all be kept".to_owned()
    };
    Conflict {
        parts,
        proved: true,
        reason,
    }
}

fn impossible(problem: &Problem<'_>, kept: &[usize], limit: Limit) -> bool {
    let constraints: Vec<Constraint> = kept
        .iter()
        .map(|&i| problem.constraints[i].clone())
        .collect();
    let smaller = Problem {
        constraints: &constraints,
        ..*problem
    };
    let inst: Result<_, Contradiction> = Instance::new(&smaller);
    let Ok((inst, _)) = inst else { return true };
    let total: i64 = (0..inst.len() as u32).map(|v| inst.load(v)).sum();
    let free = inst.with_load_bounds(&vec![total.max(1); inst.k()]);
    let outcome = branch::feasible(&free, limit);
    outcome.complete && outcome.better.is_none()
}
