//! Finds the constraints and capacities in conflict after all mappings have been ruled out.

use crate::delta_debugging::reduce;
use crate::draft::Clash;
use crate::error::{Conflict, Part};
use crate::exact::branch;
use crate::exact::fill::Fit;
use crate::exact::limit::Limit;
use crate::explain::explain;
use crate::instance::Instance;
use crate::problem::{Constraint, Problem};

/// Most searches for one explanation.
const SEARCHES: usize = 200;

/// Most vertices for which a contradiction that was found without a search is reduced by searches.
const SEARCHABLE: usize = 2000;

/// Limit of each of these searches.
const BRIEF: Limit<'_> = Limit {
    nodes: 10_000,
    stop_at: None,
    watch: None,
};

/// Returns the conflict behind a contradiction that was found before any search. For at most
/// `SEARCHABLE` vertices, brief searches may reduce the conflict.
pub(crate) fn contradiction(problem: &Problem<'_>, met: Clash) -> Conflict {
    let conflict = explain(problem, met);
    // A vertex is not a condition that can be removed: its part follows from the other parts.
    let rest = |p: &&Part| !matches!(p, Part::Vertex(_));
    let parts: Vec<Part> = conflict.parts.iter().filter(rest).copied().collect();
    if problem.graph.vertices() > SEARCHABLE {
        return conflict;
    }
    let smaller = shrink(problem, parts.clone(), BRIEF, false);
    match smaller.parts == parts {
        true => Conflict {
            minimal: smaller.minimal || conflict.minimal,
            ..conflict
        },
        false => smaller,
    }
}

/// Returns constraints, memory and slots that no mapping satisfies. The caller must have proved
/// that no mapping satisfies all of them. Reduces them, by at most `SEARCHES` searches, while the
/// rest is still proved impossible. Each search has a thirtieth of the nodes of the limit, but at
/// least as many as [`BRIEF`].
pub(crate) fn smallest(problem: &Problem<'_>, limit: Limit<'_>) -> Conflict {
    shrink(problem, suspects(problem), brief(limit), false)
}

/// Returns a conflict as [`smallest`] does, but with the balance limit of every block as parts.
/// Without the balance limit there may be a mapping. The caller must have proved that there is none
/// with it.
pub(crate) fn smallest_balanced(problem: &Problem<'_>, limit: Limit<'_>) -> Conflict {
    let mut conflict = shrink(problem, suspects(problem), brief(limit), true);
    conflict.reason = match conflict.parts.is_empty() {
        true => "the loads cannot be divided evenly enough",
        false => "these constraints and the balance limit cannot all be satisfied",
    }
    .to_owned();
    let all = 0..problem.machine.len() as u32;
    conflict.parts.extend(all.map(Part::Balance));
    conflict
}

fn brief(limit: Limit<'_>) -> Limit<'_> {
    Limit {
        nodes: (limit.nodes / 30).max(BRIEF.nodes),
        ..limit
    }
}

/// Returns all possible participants of a conflict except the balance limit: limited memory of
/// blocks if vertices have memory sizes, limited slots, and all constraints except preferences.
fn suspects(problem: &Problem<'_>) -> Vec<Part> {
    let blocks = problem.machine.blocks();
    let memory = (0..blocks.len())
        .filter(|&b| problem.graph.has_memory() && blocks[b].memory.is_some())
        .map(|b| Part::Memory(b as u32));
    let slots = (0..blocks.len())
        .filter(|&b| blocks[b].slots.is_some())
        .map(|b| Part::Slots(b as u32));
    let constraints = (0..problem.constraints.len())
        .filter(|&i| !matches!(problem.constraints[i], Constraint::Prefer { .. }))
        .map(Part::Constraint);
    memory.chain(slots).chain(constraints).collect()
}

fn shrink(
    problem: &Problem<'_>,
    mut parts: Vec<Part>,
    limit: Limit<'_>,
    balanced: bool,
) -> Conflict {
    let (mut searches, mut minimal) = (0, true);
    reduce(&mut parts, |fewer| {
        if searches >= SEARCHES {
            minimal = false;
            return false;
        }
        searches += 1;
        let outcome = impossible(problem, fewer, limit, balanced);
        minimal &= outcome.is_some();
        outcome.unwrap_or(false)
    });
    let capacity = |p: &Part| !matches!(p, Part::Constraint(_));
    let reason = match (parts.iter().any(capacity), parts.iter().all(capacity)) {
        (_, true) => "the vertices do not fit into the memory and the slots",
        (true, _) => "the memory, the slots and these constraints cannot all be satisfied",
        (false, _) => "these constraints cannot all be satisfied",
    };
    Conflict {
        parts,
        proved: true,
        minimal,
        reason: reason.to_owned(),
    }
}

/// Returns true if it is proved that no mapping satisfies these parts, and the balance limit if
/// `balanced` is true. Returns false if a mapping was found, and `None` if the search did not
/// decide it.
fn impossible(
    problem: &Problem<'_>,
    kept: &[Part],
    limit: Limit<'_>,
    balanced: bool,
) -> Option<bool> {
    let constraints = kept.iter().filter_map(|part| match part {
        Part::Constraint(i) => Some(problem.constraints[*i].clone()),
        _ => None,
    });
    let constraints: Vec<Constraint> = constraints.collect();
    let mut limited = vec![(false, false); problem.machine.len()];
    for part in kept {
        match *part {
            Part::Memory(b) => limited[b as usize].0 = true,
            Part::Slots(b) => limited[b as usize].1 = true,
            _ => {}
        }
    }
    let machine = problem.machine.limited(&limited);
    let smaller = Problem {
        machine: &machine,
        constraints: &constraints,
        ..*problem
    };
    let Ok((inst, _)) = Instance::new(&smaller) else {
        return Some(true);
    };
    let inst = match balanced {
        true => inst,
        false => inst.without_load_bounds(),
    };
    match branch::feasible(&inst, limit) {
        Fit::Found(_) => Some(false),
        Fit::Never => Some(true),
        Fit::Open => None,
    }
}
