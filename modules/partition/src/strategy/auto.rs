//! The portfolio. Small instances: many starts from multilevel multisection and annealing, then
//! rounds of annealing on clusters of the best mapping (V-cycles). Large ones: one multilevel
//! pass, then V-cycles while the budget lasts.

use super::{Context, Found};
use crate::error::Error;
use crate::instance::Instance;
use crate::multilevel::initial::multisection;
use crate::multilevel::vcycle;
use crate::refine::anneal::{Best, Schedule, anneal, typical};
use crate::refine::state::State;

/// Up to so many table entries (vertices times blocks) the table of costs is used throughout.
const TABLE: usize = 1 << 22;

pub(crate) fn run_fast(context: &mut Context<'_>) -> Result<Found, Error> {
    if small(context.inst) {
        return run(context);
    }
    Ok(vcycle::multilevel(context.inst, &mut context.random).into())
}

fn small(inst: &Instance) -> bool {
    inst.has_table() && inst.len().saturating_mul(inst.k()) <= TABLE && inst.len() <= 20_000
}

pub(crate) fn run(context: &mut Context<'_>) -> Result<Found, Error> {
    if context.inst.k() == 1 {
        return Ok(vec![0; context.inst.len()].into());
    }
    if small(context.inst) {
        return Ok(search(context).block.into());
    }
    let inst = context.inst;
    let mut block = vcycle::multilevel(inst, &mut context.random);
    let mut rounds = 0;
    while context
        .budget
        .time
        .map_or(rounds < 2, |_| context.budget.used() < 0.6)
    {
        block = vcycle::again(inst, block, &mut context.random);
        rounds += 1;
    }
    Ok(block.into())
}

/// Rounds of the small search.
fn search(context: &mut Context<'_>) -> Best {
    let inst = context.inst;
    let stop_at = context.budget.stop_at();
    let total = context.budget.steps;
    let mut spent = 0_u64;
    let out_of_time = |spent: u64, context: &Context<'_>| {
        if context.budget.time.is_some() {
            context.budget.used() >= 1.0
        } else {
            spent >= total
        }
    };
    let round = (inst.len() as u64 * 400).clamp(20_000, 400_000);
    let mut best: Option<Best> = None;
    let start = context.start.take();
    if let Some(block) = start {
        best = Some(Best::of(&State::new(inst, block)));
    }
    let mut rounds = 0;
    while rounds < 3 || !out_of_time(spent, context) {
        if rounds > 0 && out_of_time(spent, context) {
            break;
        }
        let random = &mut context.random;
        let found = if rounds < 3 {
            let first = multisection(inst, 4, random);
            let mut state = State::new(inst, first);
            let hot = typical(&state) * 0.3;
            let schedule = Schedule {
                steps: round,
                hot,
                cold: hot * 0.02,
                stop_at,
            };
            anneal(&mut state, random, &schedule)
        } else {
            let from = best.as_ref().expect("rounds before").block.clone();
            vcycle::anneal_cycle(inst, from, round, stop_at, random)
        };
        spent += round;
        rounds += 1;
        if best.as_ref().is_none_or(|b| found.beats(b)) {
            best = Some(found);
        }
    }
    context
        .log
        .push(format!("{rounds} rounds of at most {round} steps"));
    best.expect("at least one round")
}
