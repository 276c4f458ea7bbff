//! Rounds of growing length: each plans with eight times the steps of the one before, and goes on
//! from what that has found.
//!
//! A search that plans with all its steps does everything differently when there are a few more of
//! them, and may then find less. Here what a round does does not depend on how many steps there are
//! in all, which only says when the last one is cut off: more steps never give a worse mapping. With
//! a time the same rounds come first, as long as they are short; the rest of the time is one round.

use std::time::{Duration, Instant};

use super::small::{Round, Search};
use super::team::Team;
use super::{Context, Found, parallel};
use crate::bound::Effort;
use crate::budget::Budget;
use crate::exact::structure;
use crate::tuning::small::{DEFAULT, GROWTH, PROVED, STEPPED};
use crate::tuning::time::STEPS;

#[cfg(test)]
thread_local! {
    /// Ends a search with a time after its rounds in steps: what it has found then depends on no clock.
    pub(crate) static STEPS_ONLY: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Steps of a search at the end of each of its rounds.
fn end_of(round: u32) -> u64 {
    match round < DEFAULT {
        true => STEPS >> (GROWTH * (DEFAULT - round)),
        false => STEPS.saturating_mul(1 << (GROWTH * (round - DEFAULT)).min(40)),
    }
}

pub(super) fn search(context: &mut Context<'_>) -> Found {
    let budget = context.budget;
    // Of what is left: much may have gone by before, as where bounds were raised.
    let begun = Instant::now();
    let left = budget
        .stop_at()
        .map(|end| end.saturating_duration_since(begun).mul_f64(STEPPED));
    let mut search = Search::new(context, 0);
    let (mut number, mut last) = (0, Duration::ZERO);
    loop {
        let start = Instant::now();
        let over = stepped(&mut search, context, end_of(number));
        if over || search.is_proved() {
            return found(search, true);
        }
        last = last.max(start.elapsed());
        number += 1;
        if let (Some(time), Some(left)) = (budget.time, left) {
            let next = begun.elapsed() + last * (1 << GROWTH);
            // They take one thread, however many there are: no more of them than without a time.
            if number > DEFAULT || next > left {
                return timed(search, context, time);
            }
        }
    }
}

fn found(search: Search<'_>, examined: bool) -> Found {
    Found {
        bound: search.bound,
        examined: examined || search.is_proved(),
        block: search.best.block,
    }
}

/// A round until so many steps of the whole have been taken, and the proof that is worth as many;
/// says whether the search is over.
fn stepped(search: &mut Search<'_>, context: &mut Context<'_>, end: u64) -> bool {
    let budget = context.budget;
    // How many steps there are in all says when the search ends, and nothing else.
    let (most, patience) = match budget.time {
        Some(_) => (u64::MAX, u64::MAX),
        None if context.patience >= 1.0 => (budget.steps, u64::MAX),
        None => {
            let share = budget.steps as f64 * context.patience;
            (budget.steps, share as u64)
        }
    };
    let from = search.spent;
    let steps = end.saturating_sub(from);
    if steps > 0 {
        let round = Round {
            budget: Budget {
                time: None,
                steps,
                ..budget
            },
            end: most,
            patience,
            stop_at: budget.stop_at(),
        };
        search.round(context, &round, (&Team::new(1), 0));
        if search.spent - from >= steps && !search.is_proved() {
            examine(search, context, steps, budget.stop_at());
        }
    }
    let hopeless = !search.best.feasible() && search.spent >= patience;
    search.spent >= most || hopeless || budget.used() >= 1.0
}

/// The rest of a time, in one round; before it a proof, where that is near.
fn timed(mut search: Search<'_>, context: &mut Context<'_>, time: Duration) -> Found {
    #[cfg(test)]
    if STEPS_ONLY.get() {
        return found(search, true);
    }
    for block in std::mem::take(&mut context.later) {
        search.add(block);
    }
    let budget = context.budget;
    let near = structure::is_near(context.inst);
    if near {
        let stop_at = Some(budget.start + time.mul_f64(PROVED));
        examine(&mut search, context, u64::MAX, stop_at);
    }
    // Who finds nothing feasible leaves time for what is done about that.
    for share in [context.patience, 1.0] {
        if search.best.feasible() && share < 1.0 {
            continue;
        }
        let start = Instant::now();
        let end = budget.start + time.mul_f64(share);
        let rest = Budget {
            start,
            time: Some(end.saturating_duration_since(start)),
            ..budget
        };
        if !search.is_proved() && rest.used() < 1.0 {
            let round = Round::of(rest, search.spent);
            parallel::search(&mut search, context, &round);
        }
        if !search.best.feasible() {
            break;
        }
    }
    found(search, near)
}

/// Looks whether the structure of the network proves the best mapping, or gives a better one.
fn examine(
    search: &mut Search<'_>,
    context: &mut Context<'_>,
    looks: u64,
    stop_at: Option<Instant>,
) {
    if !search.best.feasible() {
        return;
    }
    let effort = Effort { looks, stop_at };
    let known = &search.best.block;
    let Some(outcome) = structure::solve(context.inst, known, effort, &mut context.log) else {
        return;
    };
    search.learn(outcome.better.map(|b| b.0), outcome.bound);
}
