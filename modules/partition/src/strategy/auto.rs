//! The portfolio. Small instances: many starts from multilevel multisection and annealing, then
//! rounds of annealing on clusters of the best mapping (V-cycles). Large ones: one multilevel
//! pass, then V-cycles while the budget lasts.

use std::time::Instant;

use super::{Context, Found, stack};
use crate::error::Error;
use crate::exact::branch::{Limit, Outcome};
use crate::exact::{self, symmetry};
use crate::instance::Instance;
use crate::multilevel::initial::{THOROUGH, multisection};
use crate::multilevel::{line, vcycle};
use crate::refine::anneal::{Best, Schedule, anneal, typical};
use crate::refine::rebalance::repair_rules;
use crate::refine::state::State;

/// Up to so many table entries (vertices times blocks) the table of costs is used throughout.
const TABLE: usize = 1 << 22;

pub(crate) fn run_fast(context: &mut Context<'_>) -> Result<Found, Error> {
    if small(context.inst) {
        return run(context);
    }
    Ok(vcycle::multilevel(context.inst, 1, &mut context.random).into())
}

/// A short search without proofs: the start of other strategies.
pub(crate) fn brief(context: &mut Context<'_>) -> Vec<u32> {
    let inst = context.inst;
    if inst.k() == 1 {
        return vec![0; inst.len()];
    }
    if !small(inst) {
        return vcycle::multilevel(inst, 4, &mut context.random);
    }
    let mut best: Option<Best> = None;
    for _ in 0..4 {
        let first = multisection(inst, THOROUGH, 0.0, &mut context.random);
        let mut state = State::new(inst, first);
        let hot = typical(&state) * 0.3;
        let schedule = Schedule {
            steps: 20_000,
            hot,
            cold: hot * 0.01,
            stop_at: None,
        };
        let found = anneal(&mut state, &mut context.random, &schedule);
        if best.as_ref().is_none_or(|b| found.beats(b)) {
            best = Some(found);
        }
    }
    best.map(|b| b.block).unwrap_or_default()
}

fn small(inst: &Instance) -> bool {
    inst.has_table() && inst.len().saturating_mul(inst.k()) <= TABLE && inst.len() <= 20_000
}

pub(crate) fn run(context: &mut Context<'_>) -> Result<Found, Error> {
    if context.inst.k() == 1 {
        return Ok(vec![0; context.inst.len()].into());
    }
    if small(context.inst) {
        return Ok(search(context));
    }
    let inst = context.inst;
    let mut block = vcycle::multilevel(inst, 4, &mut context.random);
    // The order of the drawing is often that of the flow: on long chains coarsening cannot beat it.
    let stacked = stack::run(context)?.block;
    if super::keeps(inst, &stacked) && inst.cost(&stacked) < inst.cost(&block) {
        block = stacked;
    }
    let mut rounds = 0;
    while context
        .budget
        .time
        .map_or(rounds < 1, |_| context.budget.used() < 0.6)
    {
        block = vcycle::again(inst, block, &mut context.random);
        rounds += 1;
    }
    Ok(block.into())
}

/// Up to so many vertices a proof is tried.
const PROVABLE: usize = 256;

/// Tries to prove the optimum, starting from what is known.
fn prove(context: &Context<'_>, best: Option<&Best>) -> Outcome {
    let known = best
        .filter(|b| b.feasible())
        .map(|b| (b.block.as_slice(), b.cost));
    // Identical workers count once: a farm of a hundred is a small problem.
    let hopeful = symmetry::classes(context.inst) <= 40;
    let (share, steps) = if hopeful { (0.5, 20) } else { (0.04, 400) };
    let stop_at = context.budget.stop_at().map(|end| {
        let now = Instant::now();
        now + end.saturating_duration_since(now).mul_f64(share)
    });
    let nodes = if stop_at.is_some() {
        u64::MAX
    } else {
        (context.budget.steps / steps).max(50_000)
    };
    exact::solve(context.inst, known, Limit { nodes, stop_at })
}

/// Rounds of the small search.
fn search(context: &mut Context<'_>) -> Found {
    let inst = context.inst;
    let budget = context.budget;
    let stop_at = budget.stop_at();
    let mut spent = 0_u64;
    let used = |spent: u64| {
        if budget.time.is_some() {
            budget.used()
        } else {
            spent as f64 / budget.steps as f64
        }
    };
    let round = (inst.len() as u64 * 100).clamp(10_000, 100_000);
    let mut best: Option<Best> = None;
    if let Some(block) = context.start.take() {
        best = Some(Best::of(&State::new(inst, block)));
    }
    let mut rounds = 0;
    let mut bound = None;
    let provable = inst.len() <= PROVABLE;
    while best.is_none() || used(spent) < 1.0 || (provable && bound.is_none()) {
        if provable && bound.is_none() && rounds >= 3 {
            let outcome = prove(context, best.as_ref());
            bound = Some(outcome.bound);
            spent += budget.steps / 20;
            if let Some((block, _)) = outcome.better {
                best = Some(Best::of(&State::new(inst, block)));
            }
            if outcome.complete {
                context.log.push("proved by branch and bound".to_owned());
                break;
            }
            continue;
        }
        let random = &mut context.random;
        let found = match &best {
            Some(best) if used(spent) > 0.5 => {
                vcycle::anneal_cycle(inst, best.block.clone(), round * 6, stop_at, random)
            }
            _ => {
                let greed = if rounds % 2 == 0 { 0.0 } else { random.unit() };
                let runs = (rounds < 3).then(|| {
                    let order = line::order(inst, rounds, random);
                    line::cut(inst, &order)
                });
                let first = match runs.flatten() {
                    Some(mut block) => {
                        repair_rules(inst, &mut block);
                        block
                    }
                    None => multisection(inst, THOROUGH, greed, random),
                };
                let mut state = State::new(inst, first);
                // From a touch-up of the start to forgetting it, which only small ones can afford.
                let warmth = if inst.len() <= 100 {
                    0.05 + 0.75 * random.unit()
                } else if rounds % 3 == 2 {
                    0.05 + 0.5 * random.unit()
                } else {
                    0.05
                };
                let hot = typical(&state) * warmth;
                let schedule = Schedule {
                    steps: round,
                    hot,
                    cold: hot * 0.02,
                    stop_at,
                };
                anneal(&mut state, random, &schedule)
            }
        };
        spent += round;
        rounds += 1;
        if best.as_ref().is_none_or(|b| found.beats(b)) {
            context.log.push(format!(
                "round {rounds} at {:.2}: {} {}",
                used(spent),
                found.cost,
                found.excess
            ));
            best = Some(found);
        }
    }
    context
        .log
        .push(format!("{rounds} rounds of at most {round} steps"));
    Found {
        block: best.expect("at least one round").block,
        bound,
    }
}
