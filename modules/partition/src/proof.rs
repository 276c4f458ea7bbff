//! Proofs for objectives that are not sums: no mapping has a smaller maximum.

use std::time::Instant;

use crate::bound::{self, Effort};
use crate::exact::branch;
use crate::exact::fill::Fit;
use crate::exact::limit::Limit;
use crate::instance::Instance;
use crate::machine::Machine;
use crate::problem::{Constraint, Problem};
use crate::tuning::proofs::LOADS;
use crate::tuning::small::NETWORK;
use crate::watch::Watch;

/// Returns true if it is proved that no mapping has a smaller largest load relative to the speeds
/// than a mapping with these `loads` of the blocks.
///
/// Also returns false if `bounded` is given and its load bounds exclude mappings with the same
/// largest load. A bound on the cost within `bounded` would then not hold for these. Returns false
/// if the limits on vertices, nodes or time are reached, or the proof is cancelled.
pub(crate) fn least_load(
    (inst, bounded): (&Instance, Option<&Instance>),
    machine: &Machine,
    loads: &[u64],
    (stop_at, watch): (Option<Instant>, Option<&Watch>),
) -> bool {
    let speed = |b: usize| i128::from(machine.blocks()[b].speed);
    let blocks = 0..inst.k();
    let (load, fast) = blocks
        .clone()
        .map(|b| (i128::from(loads[b]), speed(b)))
        .max_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1)))
        .unwrap_or((0, 1));
    // Most load of a block with the same maximum, and with a smaller one.
    let same = |b: usize| load * speed(b) / fast;
    let less = |b: usize| (load * speed(b) + fast - 1) / fast - 1;
    let excludes =
        |inst: &Instance| (blocks.clone()).any(|b| i128::from(inst.load_bound(b)) < same(b));
    if bounded.is_some_and(excludes) {
        return false;
    }
    if load == 0 {
        return true;
    }
    let bounds: Vec<i64> = blocks.map(|b| less(b).max(0) as i64).collect();
    let total = inst.total_load();
    let heaviest = (0..inst.len() as u32).map(|v| inst.load(v)).max();
    if total > bounds.iter().sum() || heaviest > bounds.iter().max().copied() {
        return true;
    }
    // Ordering the vertices alone takes quadratic time.
    if inst.len() > NETWORK {
        return false;
    }
    let limit = Limit {
        nodes: LOADS,
        stop_at,
        watch,
    };
    branch::feasible(&inst.with_load_bounds(&bounds), limit) == Fit::Never
}

/// Returns a lower bound on the cost of all mappings in which each block has at most its original
/// load bound or its load in `loads`, whichever is larger. `enough` and `effort` limit the search
/// as in [`bound::lower_bound`]. The bounds of the instance were lowered to make the largest load
/// small. Mappings that they exclude may cost less.
pub(crate) fn least_cost(
    inst: &Instance,
    problem: &Problem<'_>,
    loads: &[u64],
    enough: i64,
    effort: Effort,
) -> i64 {
    let wanted = problem.load_bounds();
    let bounds = wanted.iter().zip(loads).map(|(a, b)| *a.max(b) as i64);
    let bounds: Vec<i64> = bounds.collect();
    bound::lower_bound(&inst.with_load_bounds(&bounds), enough, effort)
}

/// Returns true if it is proved that no mapping has less traffic than `bottleneck` at its busiest
/// host. That is always so for 0. For any other value, returns false if this is not proved, and
/// always with preferences or a previous mapping. All traffic between hosts, counted at both ends,
/// is divided among the hosts.
pub(crate) fn least_bottleneck(inst: &Instance, problem: &Problem<'_>, bottleneck: u64) -> bool {
    if bottleneck == 0 {
        return true;
    }
    // In the instance, preferences and a previous mapping have the same effect as channels.
    let prefer = |c: &Constraint| matches!(c, Constraint::Prefer { .. });
    if problem.migration.is_some() || problem.constraints.iter().any(prefer) {
        return false;
    }
    let hosts = problem.machine.hosts().count() as i64;
    let least = 2 * bound::between_hosts(inst);
    bottleneck <= ((least + hosts - 1) / hosts) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;

    #[test]
    fn cancelled_proof_proves_nothing() {
        // The total is 3 q + 1 tens, so one of three blocks must hold q + 1 tens. The proof needs a
        // search, because three bounds of just below q + 1 tens exceed the total.
        let mut loads: Vec<u64> = (0..16).map(|v| 10 * (37 + v * v * 7 % 41)).collect();
        loads[0] += 10 * ((4 - loads.iter().sum::<u64>() / 10 % 3) % 3);
        let total: u64 = loads.iter().sum();
        let largest = total / 30 * 10 + 10;
        let found = [largest, largest, total - 2 * largest];
        let graph = Graph::new(loads, &[]).unwrap();
        let machine = Machine::regular(&[(3, 1)]).unwrap();
        let problem = Problem {
            imbalance: 1.0,
            ..Problem::new(&graph, &machine)
        };
        let inst = Instance::new(&problem).unwrap().0;
        assert!(least_load(
            (&inst, Some(&inst)),
            &machine,
            &found,
            (None, None)
        ));
        let watch = Watch::new(std::sync::Arc::new(true.into()));
        assert!(!least_load(
            (&inst, Some(&inst)),
            &machine,
            &found,
            (None, Some(&watch))
        ));
    }
}
