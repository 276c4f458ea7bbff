//! Several concurrent searches of one instance, each on its own thread.
//!
//! Each search has its own random numbers and initial solutions. The searches exchange their
//! mappings after each round, when all of them have ended it. So their results do not depend on
//! timing, except for the point at which the last round is cut off.

use std::panic::resume_unwind;
use std::thread;

use super::Context;
use super::small::{Round, Search};
use super::team::Team;
use crate::random::Random;

/// Ends all searches if one of them panics, because their results are not needed then.
struct Alarm<'a>(&'a Team<'a>);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
    }
}

/// The searches besides the first one, each with its own context.
pub(super) struct Members<'a>(Vec<(Search<'a>, Context<'a>)>);

impl<'a> Members<'a> {
    /// Creates one search for each thread but the first. They start from the best mapping of the
    /// first search.
    pub(super) fn new(context: &Context<'a>, first: &Search<'a>) -> Self {
        // The first search must behave as it would alone, so its random numbers are not used.
        let mut random = context.random.clone();
        let member = |number: usize| {
            let random = Random::new(random.next());
            let known = vec![first.best.block.clone()];
            let mut own = Context::new(context.inst, context.budget, random, known);
            (Search::new(&mut own, number), own)
        };
        Self((1..context.budget.threads.get()).map(member).collect())
    }

    /// Runs one round of all searches, where `own` runs the round of the first one. Then each
    /// search gets the mappings of the others. Blocks until all threads have ended.
    ///
    /// # Panics
    ///
    /// Panics if a search panics.
    pub(super) fn round(
        &mut self,
        first: &mut Search<'a>,
        context: &mut Context<'a>,
        round: &Round<'_>,
        own: impl FnOnce(&mut Search<'a>, &mut Context<'a>, &Team<'_>),
    ) {
        let team = Team::new(context.budget.watch);
        thread::scope(|scope| {
            let mut running = Vec::new();
            for (i, (search, context)) in self.0.iter_mut().enumerate() {
                let team = &team;
                let work = move || {
                    let _alarm = Alarm(team);
                    search.round(context, round, (team, i + 1));
                };
                // If the system cannot create another thread, the round continues with the existing
                // ones.
                let Ok(thread) = thread::Builder::new().spawn_scoped(scope, work) else {
                    break;
                };
                running.push(thread);
            }
            let _alarm = Alarm(&team);
            own(first, context, &team);
            if first.is_proved() {
                team.end();
            }
            for thread in running {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
        });
        let others = self.0.iter().map(|(search, _)| search.best.clone());
        let found: Vec<_> = std::iter::once(first.best.clone()).chain(others).collect();
        let members = self.0.iter_mut().map(|(search, _)| search);
        for (i, search) in std::iter::once(first).chain(members).enumerate() {
            let others = found.iter().enumerate().filter(|&(from, _)| from != i);
            others.for_each(|(_, best)| search.add_elite(best.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_the_searches_of_all() {
        let team = Team::new(None);
        let quiet = thread::scope(|scope| {
            let end = scope.spawn(|| drop(Alarm(&team))).join();
            end.is_ok() && !team.is_over()
        });
        assert!(quiet);
        let panicked = thread::scope(|scope| {
            let work = || {
                let _alarm = Alarm(&team);
                panic!("on purpose")
            };
            scope.spawn(work).join().is_err()
        });
        assert!(panicked && team.is_over());
    }
}
