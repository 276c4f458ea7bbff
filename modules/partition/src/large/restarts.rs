//! Use of the remaining time: V-cycles as long as they gain, then restarts.
//!
//! If most vertices are at a boundary, V-cycles gain nothing. Mappings from other random numbers
//! then differ by more than V-cycles gain. The sequence of restarts does not depend on the time.
//! More time makes more mappings of the same sequence, and the best one is used.

use super::{Divided, Effort, FAST, Level, Stage, TimeUse, mapped, rank};
use crate::budget::Budget;
use crate::random::Random;
use crate::tuning::large::{LAST_BEGUN, NEGLIGIBLE, STALLED};

/// Sequence of restarts.
pub(super) struct Restarts<'a> {
    /// Efforts that are used alternately.
    efforts: [&'a Effort; 2],
    /// Longest time that a restart of each effort has taken, as a share of the time limit. A
    /// restart that would not end in time is not started.
    took: [f64; 2],
    seeds: Random,
    /// Number of restarts that were made or skipped.
    next_index: usize,
}

impl<'a> Restarts<'a> {
    /// Creates the sequence. `took` is the approximate time that a mapping with the effort `wanted`
    /// takes, as a share of the time limit.
    pub(super) fn new(wanted: &'a Effort, took: f64, seeds: Random) -> Self {
        Self {
            efforts: [&FAST, wanted],
            took: [0.0, took],
            seeds,
            next_index: 0,
        }
    }

    /// Returns the next mapping that can be made when the share `begun` of the time has passed.
    /// Skips restarts that would not end in time. Returns `None` if neither effort fits into the
    /// time, or if the time ends before the mapping is complete.
    fn next(&mut self, stage: &Stage<'_>, begun: f64) -> Option<Vec<u32>> {
        for _ in 0..2 {
            let kind = self.next_index % 2;
            self.next_index += 1;
            let mut random = Random::new(self.seeds.next());
            if begun + self.took[kind] > 1.0 {
                continue;
            }
            // Without a time limit of its own, because the mapping must not depend on it.
            let budget = Budget {
                time: None,
                deadline: stage.budget.stop_at(),
                ..*stage.budget
            };
            let way = (&budget, TimeUse::Once);
            let found = mapped(stage.tree.inst, self.efforts[kind], way, &mut random);
            self.took[kind] = self.took[kind].max(stage.budget.used() - begun);
            return found;
        }
        None
    }
}

impl Stage<'_> {
    /// Improves a mapping of the whole network while time is left. Without a time limit, it ends
    /// only after the deadline or if the search is cancelled. `restarts` is `None` if other
    /// mappings cannot be better.
    pub(super) fn use_up(
        &self,
        finest: &Level,
        divided: &mut Divided,
        mut restarts: Option<Restarts<'_>>,
        random: &mut Random,
    ) {
        let (mut idle, mut took) = (0, 0.0_f64);
        loop {
            let begun = self.budget.used();
            // The rest of the time is for checks and the lower bound, which come after the search.
            if begun >= LAST_BEGUN {
                return;
            }
            let mut next = None;
            let fits = begun + took <= 1.0;
            if (idle >= STALLED || !fits)
                && let Some(restarts) = &mut restarts
            {
                let found = restarts.next(self, begun);
                next = found.map(|block| Divided::among_blocks(&self.tree, block));
                // Only one V-cycle follows before the next restart.
                idle = STALLED - 1;
            } else if fits {
                next = Some(self.attempt(finest, divided.clone(), random));
                took = took.max(self.budget.used() - begun);
                idle += 1;
            }
            let Some(mut next) = next else { return };
            let (new, old) = (rank(finest, &mut next), rank(finest, divided));
            // A negligible gain counts as idle, so that restarts are tried too.
            let little = (old.1 as f64 * NEGLIGIBLE) as i64;
            if new.0 < old.0 || new.1 + little < old.1 {
                idle = 0;
            }
            if new <= old {
                *divided = next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::coarsen::Order;
    use super::super::{GOOD, Levels};
    use super::*;
    use crate::instance::Instance;
    use crate::{Channel, Graph, Machine, Problem};

    /// Returns the first restarts with the given time. Also checks that using up a short time does
    /// not worsen a mapping.
    fn row(inst: &Instance, seconds: u64) -> Vec<Option<Vec<u32>>> {
        let budget = Budget::until(Some(Instant::now() + Duration::from_secs(seconds)));
        let finest = Level::of(inst);
        let mut stage = Stage::new(inst, GOOD, Order::Random, &budget);
        let mut random = Random::new(3);
        let mut restarts = Restarts::new(&GOOD, 0.0, random.clone());
        let row = (0..4).map(|_| restarts.next(&stage, 0.0)).collect();
        // A short time must not make the mapping worse.
        let whole = Divided::whole(&stage.tree, inst.len());
        let mut first = stage.divide_all(Levels::from(&finest), whole, &mut random);
        let before = rank(&finest, &mut first);
        let brief = Budget::until(Some(Instant::now() + Duration::from_millis(50)));
        let brief = Stage {
            budget: &brief,
            ..stage
        };
        let restarts = Some(Restarts::new(&FAST, 0.0, random.clone()));
        brief.use_up(&finest, &mut first, restarts, &mut random);
        assert!(rank(&finest, &mut first) <= before);
        row
    }

    #[test]
    fn restarts_do_not_depend_on_the_time() {
        let channels = (1..600_u32).map(|v| Channel {
            from: (v - 1) / 2,
            to: v,
            traffic: 1 + u64::from(v * 7 % 13),
        });
        let graph = Graph::new(vec![1; 600], &channels.collect::<Vec<_>>()).unwrap();
        let machine = Machine::regular(&[(4, 1), (4, 10)]).unwrap();
        let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        let short = row(&inst, 10_000);
        assert_eq!(short, row(&inst, 1_000_000));
        assert!(short.iter().all(Option::is_some) && short[0] != short[2]);
    }
}
