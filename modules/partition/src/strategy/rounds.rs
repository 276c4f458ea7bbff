//! Rounds of growing length: each plans with a multiple of the steps of the one before, and goes on
//! from what that has found.
//!
//! A search that plans with all its steps does everything differently when there are a few more of
//! them, and may then find less. Here what a round does does not depend on how many steps there are
//! in all, which only says when the last one is cut off: more steps never give a worse mapping. A time
//! does no more than that either: what a search with a time does first is what one with less does. It
//! begins as one without a time, goes on in rounds that grow more slowly, since a time may end anywhere,
//! and makes the others of a search without a time once it has taken as many steps as those have: what they find is
//! one more mapping to be mixed with.

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
    /// Ends searches with a time after so many steps instead: what they find then depends on no clock.
    pub(crate) static VIRTUAL: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// Steps after which a search with a time ends, whose clock counts steps: in tests.
fn most_of_a_time() -> u64 {
    #[cfg(test)]
    if let Some(steps) = VIRTUAL.get() {
        return steps;
    }
    u64::MAX
}

/// Steps of a search at the end of each of its rounds.
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
            // A proof with more work comes after the search.
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

/// A round of so many steps, which only ends earlier by a limit or a clock.
fn round<'a>(context: &Context<'a>, steps: u64, limit: Limit) -> Round<'a> {
    let budget = context.budget;
    Round {
        budget: Budget {
            time: None,
            steps,
            // What is searched below a round knows nothing of its end.
            deadline: budget.stop_at(),
            ..budget
        },
        timed: false,
        limit,
        hopeless_at: None,
    }
}

/// A round until so many steps of the whole have been taken, and a proof that is worth as many;
/// says whether the search is over.
fn stepped(search: &mut Search<'_>, context: &mut Context<'_>, end: u64, limit: Limit) -> bool {
    let budget = context.budget;
    let from = search.spent;
    let steps = end.saturating_sub(from);
    if steps > 0 {
        let round = round(context, steps, limit);
        search.round(context, &round, (&Team::new(budget.watch), 0));
        // From a mapping that it has found itself a proof sees more.
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
        if round.is_hopeless(search) {
            return true;
        }
    }
    search.spent >= limit.most || budget.used() >= 1.0
}

/// What is left of a time, after the rounds that all searches begin with.
fn timed<'a>(mut search: Search<'a>, context: &mut Context<'a>, mut limit: Limit) -> Found {
    let budget = context.budget;
    // How a search without a time goes on from here.
    let mut without = Some((search.clone(), context.random.clone()));
    for block in std::mem::take(&mut context.later) {
        search.add(block);
    }
    let mut members = Members::new(context, &search);
    let mut near = structure::is_near(context.inst);
    let (mut examined, mut aside) = (false, None);
    let mut end = search.spent;
    // Who finds nothing feasible leaves time for what is done about that. Much may have gone by before.
    let hopeless_at = partway(budget.stop_at(), context.patience);
    // A proof takes about as much as was searched where no clock ends it.
    let counted = limit.most < u64::MAX;
    loop {
        let others = without.take_if(|_| end.saturating_sub(search.overcounted) >= STEPS);
        if others.is_none() {
            // A start may have taken far more than was planned.
            end = (end.max(search.spent) as f64 * TIMED_GROWTH) as u64;
        }
        let steps = end.saturating_sub(search.spent).max(1);
        let round = Round {
            timed: true,
            hopeless_at,
            ..round(context, steps, limit)
        };
        members.round(
            &mut search,
            context,
            &round,
            |search, context, team| match others {
                None => search.round(context, &round, (team, 0)),
                Some(others) => {
                    let steps = as_without(search, context, others, limit);
                    limit.most = limit.most.saturating_sub(steps);
                }
            },
        );
        let over = search.spent >= limit.most || budget.is_over();
        if over || search.is_proved() || round.is_hopeless(&search) {
            break;
        }
        // Where a proof is near it gets its share of the time, once it has something to begin with.
        if near && budget.used() > PROVED {
            (near, examined) = (false, true);
            let share = budget.time.map(|t| Instant::now() + t.mul_f64(PROVED));
            let stop_at = share.into_iter().chain(budget.stop_at()).min();
            let work = if counted { search.spent } else { u64::MAX };
            if let Some(outcome) = proof(&mut search, context, work, stop_at) {
                // How far it comes depends on the time; what is searched after it must not.
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

/// The rounds of a search without a time, from what it had before; returns the steps they took.
fn as_without(
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
    search.meet(other.best);
    steps
}

/// Looks whether the structure of the network proves the best mapping, or gives a better one; the search
/// learns of the bound.
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
