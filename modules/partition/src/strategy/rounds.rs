//! Rounds of growing length. Each round plans with a multiple of the steps of the round before, and
//! continues from its result.
//!
//! A search that plans with all its steps behaves differently if it gets a few more steps, and may
//! then find a worse mapping. Here the work of a round does not depend on the total number of
//! steps, which only determines where the last round is cut off. So more steps never give a worse
//! mapping.
//!
//! The same is true of a time limit. A search with a time limit begins exactly like a search with a
//! shorter one, and like one without. Then its rounds grow more slowly, because the time may end
//! anywhere. Once it has taken as many steps as a search without a time limit, it also runs the
//! remaining rounds of such a search. Their result is one more mapping for combinations.

use std::time::Instant;

use super::parallel::Members;
use super::small::{Limit, Round, Search};
use super::team::Team;
use super::{Context, Found};
use crate::bound::Effort;
use crate::budget::{Budget, partway};
use crate::exact::limit::Outcome;
use crate::exact::structure;
use crate::random::Random;
use crate::tuning::proofs::FEWEST;
use crate::tuning::small::{DEFAULT, GROWTH, LAST_COMMON, PROVED, TIMED_GROWTH};
use crate::tuning::time::STEPS;

#[cfg(test)]
thread_local! {
    /// Number of steps after which a search with a time limit ends in tests, so that its result
    /// does not depend on a clock.
    pub(crate) static VIRTUAL: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// Returns the maximum number of steps of a search with a time limit. It is unlimited except in
/// tests.
fn most_of_a_time() -> u64 {
    #[cfg(test)]
    if let Some(steps) = VIRTUAL.get() {
        return steps;
    }
    u64::MAX
}

/// Returns the number of steps that a search has taken at the end of the round with this number.
/// Later rounds have larger values.
fn end_of(round: u32) -> u64 {
    match round < DEFAULT {
        true => STEPS >> (GROWTH * (DEFAULT - round)),
        false => STEPS.saturating_mul(1 << (GROWTH * (round - DEFAULT)).min(40)),
    }
}

pub(super) fn search<'a>(context: &mut Context<'a>) -> Found {
    let budget = context.budget;
    let mut search = Search::new(context, 0);
    let limit = match budget.time {
        Some(_) => Limit {
            most: most_of_a_time(),
            patience: u64::MAX,
        },
        None => Limit {
            most: budget.steps,
            patience: (budget.steps as f64 * context.patience) as u64,
        },
    };
    for number in 0.. {
        let over = stepped(&mut search, context, end_of(number), limit);
        if over || search.is_proved() {
            // A proof with more work follows the search.
            return found(search, false);
        }
        if number == LAST_COMMON && budget.time.is_some() {
            return timed(search, context, limit);
        }
    }
    unreachable!("a search ends")
}

fn found(search: Search<'_>, examined: bool) -> Found {
    Found {
        bound: search.bound,
        examined: examined || search.is_proved(),
        block: search.best.block,
    }
}

/// Creates a round of `steps` steps. It ends earlier at `limit`, at the deadline, if the search is
/// cancelled, or after a complete proof.
fn round<'a>(context: &Context<'a>, steps: u64, limit: Limit) -> Round<'a> {
    let budget = context.budget;
    Round {
        budget: Budget {
            time: None,
            steps,
            // Searches inside the round do not plan with its end.
            deadline: budget.stop_at(),
            ..budget
        },
        timed: false,
        limit,
        patience_ends_at: None,
    }
}

/// Runs a round until the search has taken `end` steps, and then proofs with as much work. Returns
/// true if the search is over: its limit or its time is used up, it was cancelled, or it is out of
/// patience. Runs no round if the search has taken these steps already.
fn stepped(search: &mut Search<'_>, context: &mut Context<'_>, end: u64, limit: Limit) -> bool {
    let budget = context.budget;
    let from = search.spent;
    let steps = end.saturating_sub(from);
    if steps > 0 {
        let round = round(context, steps, limit);
        search.round(context, &round, (&Team::new(budget.watch), 0));
        // A proof may go further if it starts from the mapping that it found.
        let mut goes_on = search.spent - from >= steps;
        while goes_on
            && !search.is_proved()
            && let Some(outcome) = proof(search, context, end, budget.stop_at())
        {
            goes_on = outcome.better.is_some();
            if let Some((block, _)) = outcome.better {
                search.add(block);
            }
        }
        if round.is_out_of_patience(search) {
            return true;
        }
    }
    search.spent >= limit.most || budget.used() >= 1.0
}

/// Runs the search for the time that is left after the rounds that all searches begin with, and
/// returns its result.
fn timed<'a>(mut search: Search<'a>, context: &mut Context<'a>, mut limit: Limit) -> Found {
    let budget = context.budget;
    // State from which a search without a time limit would continue.
    let mut without = Some((search.clone(), context.random.clone()));
    for block in std::mem::take(&mut context.later) {
        search.add(block);
    }
    let mut members = Members::new(context, &search);
    let mut near = structure::is_near(context.inst);
    let (mut examined, mut aside) = (false, None);
    let mut end = search.spent;
    // A search without a feasible mapping ends early, so that time is left to raise the bounds.
    // Much of the time may have passed before.
    let patience_ends_at = partway(budget.stop_at(), context.patience);
    // Tests end by steps, so the work of a proof is limited to the steps of the search.
    let counted = limit.most < u64::MAX;
    loop {
        let others = without.take_if(|_| end.saturating_sub(search.overcounted) >= STEPS);
        if others.is_none() {
            // An initial solution may have taken far more steps than planned.
            end = (end.max(search.spent) as f64 * TIMED_GROWTH) as u64;
        }
        let steps = end.saturating_sub(search.spent).max(1);
        let round = Round {
            timed: true,
            patience_ends_at,
            ..round(context, steps, limit)
        };
        members.round(
            &mut search,
            context,
            &round,
            |search, context, team| match others {
                None => search.round(context, &round, (team, 0)),
                Some(others) => {
                    let steps = run_untimed_rounds(search, context, others, limit);
                    limit.most = limit.most.saturating_sub(steps);
                }
            },
        );
        let over = search.spent >= limit.most || budget.is_over();
        if over || search.is_proved() || round.is_out_of_patience(&search) {
            break;
        }
        // A proof that is near gets its share of the time, once there is a mapping to start from.
        if near && budget.used() > PROVED {
            (near, examined) = (false, true);
            let share = budget.time.map(|t| Instant::now() + t.mul_f64(PROVED));
            let stop_at = share.into_iter().chain(budget.stop_at()).min();
            let work = if counted { search.spent } else { u64::MAX };
            if let Some(outcome) = proof(&mut search, context, work, stop_at) {
                // The result of the proof depends on the time, so the search must not continue from
                // it.
                aside = outcome.better;
                if outcome.complete {
                    break;
                }
            }
        }
    }
    let cost = search.best.cost;
    let found = found(search, examined);
    match aside {
        Some((block, less)) if less < cost => Found { block, ..found },
        _ => found,
    }
}

/// Runs the remaining rounds of a search without a time limit, from its saved state, and adds its
/// best mapping and its bound to `search`. Returns the number of steps.
fn run_untimed_rounds(
    search: &mut Search<'_>,
    context: &Context<'_>,
    (mut other, random): (Search<'_>, Random),
    limit: Limit,
) -> u64 {
    let from = other.spent;
    let left = limit.most.saturating_sub(search.spent);
    let limit = Limit {
        most: from.saturating_add(left),
        ..limit
    };
    let mut own = Context::new(context.inst, context.budget, random, Vec::new());
    for number in LAST_COMMON + 1..=DEFAULT {
        if stepped(&mut other, &mut own, end_of(number), limit) || other.is_proved() {
            break;
        }
    }
    let steps = other.spent - from;
    search.bound = search.bound.max(other.bound);
    search.add_elite(other.best);
    steps
}

/// Tries to prove the best mapping, or to find a better one, by the structure of the network.
/// Updates the lower bound of the search. Returns `None` if the search has no feasible mapping, or
/// if [`structure::solve`] returns `None`.
fn proof(
    search: &mut Search<'_>,
    context: &mut Context<'_>,
    work: u64,
    stop_at: Option<Instant>,
) -> Option<Outcome> {
    let effort = Effort { work, stop_at };
    let known = search.best.feasible().then_some(&search.best.block)?;
    let outcome = structure::solve(context.inst, known, (effort, FEWEST), &mut context.log)?;
    search.bound = search.bound.max(Some(outcome.bound));
    Some(outcome)
}
