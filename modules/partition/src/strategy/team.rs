//! Several searches of one instance at a time, each on a thread of its own.
//!
//! Each has its own random numbers and its own first start, and now and then leaves its best with the
//! others and takes theirs, to be mixed with what it has. In the last part of the time all improve the
//! best of all.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::Context;
use super::small::{self, Round, Search};
use crate::random::Random;
use crate::refine::anneal::Best;
use crate::watch::Watch;

/// What the searches of an instance know of one another.
pub(super) struct Team {
    /// The best of each, as it was left last.
    left: Mutex<Vec<Option<Best>>>,
    least: AtomicI64,
    over: AtomicBool,
    /// Whether those who watch hear of what is found.
    heard: bool,
}

impl Team {
    pub(super) fn new(members: usize) -> Self {
        Self {
            left: Mutex::new(vec![None; members]),
            least: AtomicI64::new(i64::MAX),
            over: AtomicBool::new(false),
            heard: true,
        }
    }

    /// For a search in a part of the instance: its second member is all there is, so that nothing is
    /// proved, and its costs say nothing to others.
    pub(super) fn inside() -> Self {
        Self {
            heard: false,
            ..Self::new(2)
        }
    }

    /// Tells somebody who waits of the least cost that any of them found.
    pub(super) fn tell(&self, watch: &Watch, cost: i64) {
        if self.heard {
            let least = self.least.fetch_min(cost, Ordering::Relaxed);
            watch.found(least.min(cost));
        }
    }

    /// Leaves the best of a member, and takes that of each other.
    pub(super) fn trade(&self, member: usize, best: &Best) -> Vec<Best> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if left[member].as_ref().is_none_or(|old| best.beats(old)) {
            left[member] = Some(best.clone());
        }
        let others = left.iter().enumerate().filter(|o| o.0 != member);
        others.filter_map(|o| o.1.clone()).collect()
    }

    /// Whether one has found what cannot be better.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// Ends all searches when one of them panics: nobody wants what the others find.
struct Alarm<'a>(&'a Team);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.over.store(true, Ordering::Relaxed);
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
        team.over.store(true, Ordering::Relaxed);
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
