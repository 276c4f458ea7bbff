//! Proofs for networks with narrow fronts: prices are optimised first, then the dynamic programme
//! uses them.

use std::time::Instant;

use super::frontier::{Frontier, HEAVIEST, MOST_CELLS};
use super::limit::Outcome;
use crate::bound::Effort;
use crate::bound::levels::levels;
use crate::bound::master::{Limits, Master};
use crate::bound::relaxation::Relaxation;
use crate::bound::sweep::Sweep;
use crate::feasibility::is_feasible;
use crate::instance::Instance;
use crate::tuning::proofs::{ENTRIES, NEAR, ROUNDS, STRUCTURED, WIDER, WIDTH};

/// Largest number of partial mappings kept in all, 8 bytes each.
const KEPT: usize = 12_000_000;
/// Largest number of cells of all extensions of one length, 4 bytes each.
const CELLS: usize = 1 << 26;

/// Returns true if a proof is likely: vertices times blocks are at most [`NEAR`], and the network
/// has an order with narrow fronts.
pub(crate) fn is_near(inst: &Instance) -> bool {
    inst.len() * inst.k() <= NEAR && Sweep::new(inst, None).is_some()
}

/// Computes a lower bound on the cost, and searches for a better mapping than `known`, which must
/// be feasible. Appends what was done to `log`.
///
/// Returns `None` if the network is too large or has no narrow fronts, if there is a single block,
/// or if the effort does not suffice for `fewest` rounds. Also if [`Relaxation::new`] returns
/// `None`, or the tables have no value for the best prices. `fewest` must not be 0.
pub(crate) fn solve(
    inst: &Instance,
    known: &[u32],
    (effort, fewest): (Effort, u64),
    log: &mut Vec<String>,
) -> Option<Outcome> {
    if inst.len() > STRUCTURED || inst.k() < 2 {
        return None;
    }
    let sweep = Sweep::new(inst, effort.stop_at)?;
    let start = Instant::now();
    let mut work = effort.work.saturating_mul(16);
    let layers = levels(inst).len().max(1);
    // Flows give better bounds than a few rounds of prices. If both work and time are limited, the
    // smaller limit counts.
    let time = effort.stop_at.map(|t| t.saturating_duration_since(start));
    let entries = time.map_or(work, |t| work.min(t.as_nanos() as u64)) / fewest;
    let mut relaxation = Relaxation::new(inst, sweep, (ENTRIES / layers, entries))?;
    if entries < relaxation.entries() as u64 {
        return None;
    }
    let mut best = inst.cost(known);
    let round = relaxation.entries() as u64 + 50_000;
    let mut master = Master::new(&relaxation, known);
    let half = |t: Instant| start + t.saturating_duration_since(start) / 2;
    let limits = Limits {
        enough: best,
        rounds: (work / 2 / round).clamp(4, ROUNDS),
        stop_at: effort.stop_at.map(half),
    };
    master.improve(&mut relaxation, &limits);
    let mut outcome = Outcome {
        better: None,
        bound: relaxation.cost(master.best).min(best),
        complete: false,
    };
    log.push(format!(
        "{} rounds of prices: {} of {best}",
        master.rounds, outcome.bound
    ));
    work = work.saturating_sub(master.rounds * round);
    let (cells, heaviest) = (relaxation.layers[0].kind_of.len(), relaxation.sweep.total());
    if cells > MOST_CELLS || heaviest >= HEAVIEST || master.rounds == 0 {
        return Some(outcome);
    }
    relaxation.value(&master.prices)?;
    let frontier = Frontier::new(&relaxation, &master.prices);
    let mut width = WIDTH;
    let following = inst.k() * inst.k();
    while outcome.bound < best && width * inst.len() <= KEPT && width * following <= CELLS {
        let Some(pass) = frontier.pass(relaxation.least(best), width, effort.stop_at) else {
            break;
        };
        work = work.saturating_sub(pass.work * 64 * inst.k() as u64);
        let bound = pass.bound.map_or(best, |b| relaxation.cost(b));
        outcome.bound = outcome.bound.max(bound.min(best));
        // If a lowest group has several blocks, the result does not determine the block.
        let mapped = pass
            .found
            .filter(|b| cells == inst.k() && is_feasible(inst, b));
        if let Some(block) = mapped {
            let cost = inst.cost(&block);
            if cost < best {
                best = cost;
                outcome.better = Some((block, cost));
            }
        }
        log.push(format!(
            "{} beginnings, at most {width} of a length: {} of {best}",
            pass.work, outcome.bound
        ));
        if work == 0 {
            break;
        }
        width *= WIDER;
    }
    outcome.complete = outcome.bound >= best;
    for (done, what) in [
        (outcome.better.is_some(), "improved"),
        (outcome.complete, "proved"),
    ] {
        log.extend(done.then(|| format!("{what} by the frontier programme")));
    }
    Some(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::tests::{instance, mappings};
    use crate::random::Random;
    use crate::tuning::proofs::FEWEST;

    #[test]
    fn finds_and_proves_the_optimum_of_all_mappings() {
        let mut random = Random::new(9);
        let cases = std::env::var("PROPTEST_CASES");
        let cases: usize = cases.ok().and_then(|c| c.parse().ok()).unwrap_or(60);
        let (mut tested, mut improved) = (0, 0);
        for _ in 0..cases {
            let inst = instance(&mut random);
            let all = mappings(&inst);
            let Some(optimum) = all.iter().map(|m| inst.cost(m)).min() else {
                continue;
            };
            let known = &all[random.below(all.len())];
            let effort = Effort {
                work: [100, 5_000, 1 << 20][random.below(3)],
                stop_at: None,
            };
            let Some(outcome) = solve(&inst, known, (effort, FEWEST), &mut Vec::new()) else {
                continue;
            };
            tested += 1;
            assert!(outcome.bound <= optimum, "{} > {optimum}", outcome.bound);
            let mut cost = inst.cost(known);
            if let Some((block, paid)) = outcome.better {
                improved += 1;
                assert!(paid < cost && inst.cost(&block) == paid && all.contains(&block));
                cost = paid;
            }
            assert_eq!(outcome.complete, outcome.bound == cost);
            // With few vertices, all partial mappings are kept. So each search is complete, unless
            // numbers were rounded or two blocks are as close as one.
            let rounded = inst.cost(known) > 1 << 22 || inst.shared.machine.collocated() > 0;
            let rounded = rounded || effort.work < 1 << 20;
            assert!(outcome.complete || rounded, "{} of {cost}", outcome.bound);
            assert!(!outcome.complete || cost == optimum);
        }
        assert!(
            tested > cases / 6 && improved > 0,
            "{tested} tested, {improved} improved"
        );
    }
}
