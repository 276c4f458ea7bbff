//! Several searches of one instance at a time, each on a thread of its own.
//!
//! Each has its own random numbers and its own first start. In the last part of the time all improve the
//! best of all.

use std::panic::resume_unwind;
use std::thread;

use super::Context;
use super::small::{self, Round, Search};
use super::team::Team;
use crate::random::Random;

/// Ends all searches when one of them panics: nobody wants what the others find.
struct Alarm<'a>(&'a Team);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
    }
}

/// Searches for a round on as many threads as its budget allows; the others begin with what the
/// first has found so far.
pub(super) fn search(search: &mut Search<'_>, context: &mut Context<'_>, round: &Round<'_>) {
    let threads = round.budget.threads.get();
    let team = Team::new(threads);
    // The first searches as it would alone.
    let mut random = context.random.clone();
    let seeds: Vec<u64> = (1..threads).map(|_| random.next()).collect();
    let (inst, known) = (context.inst, search.best.block.clone());
    thread::scope(|scope| {
        let mut others = Vec::new();
        for (i, &seed) in seeds.iter().enumerate() {
            let random = Random::new(seed);
            let mut own = Context::new(inst, round.budget, random, vec![known.clone()]);
            let team = &team;
            let work = move || {
                let _alarm = Alarm(team);
                small::search(&mut own, team, i + 1)
            };
            // Where there is no room for another thread, those that run have to do.
            let Ok(thread) = thread::Builder::new().spawn_scoped(scope, work) else {
                break;
            };
            others.push(thread);
        }
        let _alarm = Alarm(&team);
        search.round(context, round, (&team, 0));
        team.end();
        for thread in others {
            let found = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            if found.beats(&search.best) {
                search.best = found;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_the_searches_of_all() {
        let team = Team::new(2);
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
