//! Local search for instances whose dense vertex by block cost table fits in memory: initial
//! solutions, then operators chosen by their recent gain.
//!
//! The search first creates whole mappings ([`super::start`]). It improves the best of them by
//! operators ([`super::operators`]) until they gain nothing for some time, and then the next best.
//! In the last part of its steps it improves the best mapping, and combines it with the others. Its
//! limits are counted in steps, not in time, so that a run without a time limit is reproducible.

use std::time::Instant;

use super::Context;
use super::inside;
use super::operators::{Operator, Operators};
use super::start::{given, in_order, start};
use super::team::Team;
use crate::budget::{Budget, is_past, partway};
use crate::clusters::distinct;
use crate::exact::symmetry::twins;
use crate::exact::{branch, limit};
use crate::instance::Instance;
use crate::random::Random;
use crate::refine::anneal::Best;
use crate::refine::combine::combine;
use crate::refine::exchange;
use crate::refine::pair::redivide;
use crate::refine::region::Region;
use crate::tuning::proofs::{FEW, LONGER};
use crate::tuning::small::{
    CYCLE, FEWEST_INITIAL, HORIZON, IDLE, INITIAL_COST, INNER, KEPT, LAST, MOST_INITIAL, OPENING,
    OUTER, PAIRS, PROVABLE, REPAIR, REPAIRS, SHORT, STALLED, STALLING,
};

/// A search that runs in rounds.
#[derive(Clone)]
pub(super) struct Search<'a> {
    inst: &'a Instance,
    stop_at: Option<Instant>,
    /// Best mapping of all.
    pub(super) best: Best,
    /// Mapping that is being improved.
    now: Best,
    /// Initial solutions that were not yet improved, best first.
    pool: Vec<Best>,
    /// Improved mappings, to be combined with others.
    elite: Vec<Best>,
    initial_solutions: usize,
    /// Whether mappings from vertex orders are about as good as those from the engine for large
    /// networks.
    lines: bool,
    /// Whether an initial solution was not within its bounds.
    tight: bool,
    /// Steps that were counted only because initial solutions cost more steps with a time limit.
    pub(super) overcounted: u64,
    /// Steps that brought initial solutions within their bounds.
    repaired: u64,
    /// Lower bound on the cost of every feasible mapping.
    pub(super) bound: Option<i64>,
    /// Steps until now.
    pub(super) spent: u64,
    /// Nodes of the last proof that was tried. 0 before the first.
    proving: u64,
}

/// Inserts a mapping into a list of at most `KEPT` mappings, sorted with the best first, unless the
/// list contains it. Drops the worst if the list gets too long.
fn keep(list: &mut Vec<Best>, found: Best) {
    if list.iter().all(|o| o.block != found.block) {
        let at = list.partition_point(|o| !found.beats(o));
        list.insert(at, found);
        list.truncate(KEPT);
    }
}

impl Search<'_> {
    fn note(&mut self, found: &Best) {
        if found.beats(&self.best) {
            self.best = found.clone();
        }
    }

    /// Creates one more initial solution and adds it to the pool. Returns the number of steps. Adds
    /// none and returns 1 if the time is over.
    fn start(&mut self, round: &Round<'_>, random: &mut Random) -> u64 {
        let short = round.planned() / SHORT < self.inst.len() as u64;
        let mode = (self.lines, short);
        let started = start(
            self.inst,
            self.initial_solutions,
            mode,
            self.stop_at,
            random,
        );
        let Some((mut found, annealed, work)) = started else {
            return 1;
        };
        let each = if round.timed { INITIAL_COST } else { 1 };
        let mut spent = annealed + work * each;
        self.overcounted += work * (each - 1);
        self.tight |= !found.feasible();
        // Repairs are made even if a feasible mapping is known, because a mapping that was packed
        // by size may cost far more than the best.
        let [least, most] = REPAIRS;
        let all = (round.budget.steps / REPAIR).clamp(least, most);
        if !found.feasible() && self.repaired < all {
            // Two repairs with half the steps each give a better mapping than one with all steps.
            // With limited memory hardly any mapping is feasible, so one repair gets all steps.
            let steps = match self.inst.dims() {
                1 => (all / 2).max(least),
                _ => all,
            };
            let repair = exchange::improve(self.inst, &found, steps, self.stop_at, random);
            (found, spent) = (repair.0, spent + repair.1);
            if found.feasible() {
                self.repaired += steps;
            }
        }
        // No vertex order is good for a mesh, so such a network gets only one initial solution from
        // an order.
        self.lines &= self.initial_solutions != 1
            || !found.feasible()
            || (self.best.cost as f64) < 1.5 * found.cost as f64;
        self.initial_solutions += 1;
        self.note(&found);
        keep(&mut self.pool, found);
        spent
    }

    /// Replaces the present mapping by the best one in the pool, which leaves the pool. Returns the
    /// replaced mapping. Returns `None`, without a change, if the pool is empty.
    fn next_from_pool(&mut self) -> Option<Best> {
        if self.pool.is_empty() {
            return None;
        }
        let next = self.pool.remove(0);
        Some(std::mem::replace(&mut self.now, next))
    }

    /// Applies an operator to the present mapping, and replaces the mapping if the result is not
    /// worse. Returns the number of steps, or 1 if the operator cannot be applied.
    fn apply(&mut self, operator: Operator, random: &mut Random) -> u64 {
        let (inst, stop_at) = (self.inst, self.stop_at);
        let improved = match operator {
            Operator::Region(depth) => Region::at(inst, depth, random)
                .map(|region| region.improve(inst, &self.now, 40, stop_at, random)),
            Operator::Pairs(depth) => self.pairs(depth, random),
            Operator::Exchange(steps) => {
                Some(exchange::improve(inst, &self.now, steps, stop_at, random))
            }
            Operator::Combine => {
                let others = self.elite.len() + self.pool.len();
                (others > 0 && self.now.feasible()).then(|| {
                    // The pool is included, because early in a round the elite contains only the
                    // mapping of the round before.
                    let mut all = self.elite.iter().chain(&self.pool);
                    let other = all.nth(random.below(others)).expect("fewer than there are");
                    combine(inst, &self.now, &other.block, stop_at, random)
                })
            }
            Operator::Cycle => {
                Some(Region::whole(inst).improve(inst, &self.now, CYCLE, stop_at, random))
            }
        };
        let Some((found, spent)) = improved else {
            return 1;
        };
        if !self.now.beats(&found) {
            self.note(&found);
            self.now = found;
        }
        spent
    }

    /// Divides some pairs of blocks of the present mapping again. Returns the new mapping, and the
    /// number of steps. The blocks of a pair are in different members of a group of this depth.
    /// Returns `None` if there is no such group, or if the present mapping is not feasible.
    fn pairs(&self, depth: u32, random: &mut Random) -> Option<(Best, u64)> {
        let nodes = self.inst.shared.machine.nodes();
        let groups = self.inst.shared.machine.groups_at(depth);
        if groups.is_empty() || !self.now.feasible() {
            return None;
        }
        let mut found = self.now.clone();
        let mut spent = 0;
        for _ in 0..PAIRS {
            let children = &groups[random.below(groups.len())].children;
            let first = random.below(children.len());
            let second = (first + 1 + random.below(children.len() - 1)) % children.len();
            let sides = [first, second].map(|c| {
                let blocks = &nodes[children[c] as usize].blocks;
                blocks[random.below(blocks.len())]
            });
            let (gain, took) = redivide(self.inst, &mut found.block, sides, random);
            found.cost -= gain;
            spent += took;
        }
        Some((found, spent))
    }
}

/// Numbers of steps of a whole search after which it is cut off, independent of its plan.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub(super) most: u64,
    /// The same for a search that has found no feasible mapping.
    pub(super) patience: u64,
}

/// Limits of a round: a plan, and the points at which the search ends.
///
/// The work of a round depends only on its plan. The other limits only cut it off. So a longer
/// search with the same plans never gives a worse mapping.
#[derive(Clone, Copy)]
pub(super) struct Round<'a> {
    /// Budget whose steps are the plan.
    pub(super) budget: Budget<'a>,
    /// Whether only a search with a time limit runs this round.
    pub(super) timed: bool,
    pub(super) limit: Limit,
    /// Time at which a search without a feasible mapping also ends.
    pub(super) patience_ends_at: Option<Instant>,
}

impl Round<'_> {
    /// Returns the number of steps by which the search decides which operators are worth trying.
    /// With a time limit it is larger, because further rounds follow.
    fn planned(&self) -> u64 {
        let horizon = if self.timed { HORIZON } else { 1 };
        self.budget.steps.saturating_mul(horizon)
    }

    /// Returns the share of the plan that this number of steps uses.
    fn used(&self, steps: u64) -> f64 {
        steps as f64 / self.budget.steps.max(1) as f64
    }

    /// Returns true if the search ends after this number of steps of the plan: if these are all
    /// steps of the plan, if the limit of the search is reached, if it is out of patience, or if
    /// its time is over.
    fn is_over(&self, search: &Search<'_>, steps: u64) -> bool {
        let all = search.spent >= self.limit.most || self.used(steps) >= 1.0;
        all || self.is_out_of_patience(search) || is_past(search.stop_at)
    }

    /// Returns true if a search has found no feasible mapping up to the point at which the caller
    /// must raise the bounds.
    pub(super) fn is_out_of_patience(&self, search: &Search<'_>) -> bool {
        let late = || search.spent >= self.limit.patience || is_past(self.patience_ends_at);
        !search.best.feasible() && late()
    }
}

/// Attempt to improve one mapping. Times are shares of the plan.
#[derive(Clone, Copy)]
struct Attempt {
    began: f64,
    /// Time of the last improvement.
    gained: f64,
    /// Number of operators without a gain since then. An operator counts several times if the
    /// mapping is not feasible.
    idle: u32,
}

impl Attempt {
    fn new(at: f64) -> Self {
        Self {
            began: at,
            gained: at,
            idle: 0,
        }
    }

    /// Returns true if enough operators were tried since the last gain, and this gain is long ago,
    /// compared with the time over which the gains occurred.
    fn is_stalled(&self, at: f64) -> bool {
        let patience = STALLED.max(STALLING * (self.gained - self.began));
        self.idle >= IDLE && at - self.gained > patience
    }
}

/// Progress of a round.
struct Course<'a> {
    round: &'a Round<'a>,
    /// Steps of the search at the beginning of the round.
    from: u64,
    operators: Operators,
    /// `None` before the first mapping is improved.
    attempt: Option<Attempt>,
}

impl Course<'_> {
    /// Returns the share of the plan that is used.
    fn at(&self, search: &Search<'_>) -> f64 {
        self.round.used(search.spent - self.from)
    }
}

impl<'a> Search<'a> {
    /// Creates a search from the known mappings, which it takes out of the context, or from an
    /// initial solution if there are none. `member` is the number of the search in its team.
    pub(super) fn new(context: &mut Context<'a>, member: usize) -> Self {
        let inst = context.inst;
        let stop_at = context.budget.stop_at();
        let mut known = std::mem::take(&mut context.initial_solutions).into_iter();
        let (first, initial_solutions, spent) = match known.next() {
            Some(block) => (given(inst, block), member, 0),
            None => {
                let started = start(inst, member, (true, true), stop_at, &mut context.random);
                let in_order = || (given(inst, in_order(inst)), 1, 0);
                let (first, steps, work) = started.unwrap_or_else(in_order);
                (first, member + 1, steps + work)
            }
        };
        let mut search = Self {
            inst,
            stop_at,
            best: first.clone(),
            now: first.clone(),
            pool: vec![first],
            elite: Vec::new(),
            initial_solutions,
            lines: true,
            tight: false,
            overcounted: 0,
            repaired: 0,
            bound: None,
            spent,
            proving: 0,
        };
        known.for_each(|block| search.add(block));
        search.now = search.best.clone();
        search
    }

    /// Returns true if the best mapping is proved to be optimal.
    pub(super) fn is_proved(&self) -> bool {
        self.best.feasible() && self.bound.is_some_and(|b| b >= self.best.cost)
    }

    /// Adds the best mapping of another search, for combinations. It becomes the best mapping of
    /// this search if it is better.
    pub(super) fn add_elite(&mut self, other: Best) {
        self.note(&other);
        keep(&mut self.elite, other);
    }

    /// Adds an initial solution to the pool. It becomes the best mapping if it is better.
    pub(super) fn add(&mut self, block: Vec<u32>) {
        let given = given(self.inst, block);
        self.note(&given);
        keep(&mut self.pool, given);
    }

    /// Runs one round of a search of a team. Only the first member tries proofs.
    pub(super) fn round(
        &mut self,
        context: &mut Context<'_>,
        round: &Round<'_>,
        (team, member): (&Team<'_>, usize),
    ) {
        let (inst, budget) = (self.inst, round.budget);
        // The result of the rounds before is combined with the mappings of this round.
        if self.best.feasible() && self.spent > 0 {
            keep(&mut self.elite, self.best.clone());
        }
        let mut course = Course {
            round,
            from: self.spent,
            operators: Operators::new(inst, round.planned()),
            attempt: None,
        };
        let mut provable = member == 0 && inst.len() <= PROVABLE && !self.is_proved();
        let (mut rounds, mut inner) = (1, false);
        // The first proof of a search is tried even if the round is over.
        while !budget.ended()
            && !team.is_over()
            && (!round.is_over(self, self.spent - course.from) || (provable && self.proving == 0))
        {
            if self.best.feasible() {
                team.report_cost(self.best.cost);
            }
            rounds += 1;
            let (at, initial_solutions) = (course.at(self), self.initial_solutions - member);
            if provable && rounds > 8 {
                provable = false;
                if self.prove(&budget) {
                    context.log.push("proved by branch and bound".to_owned());
                    break;
                }
            } else if initial_solutions < FEWEST_INITIAL
                || (initial_solutions < MOST_INITIAL && at < OPENING)
            {
                self.spent += self.start(round, &mut context.random);
            } else if at > OUTER && !std::mem::replace(&mut inner, true) {
                let random = &mut context.random;
                self.spent +=
                    inside::improve(inst, &mut self.best, (&budget, INNER), random, search_part);
                self.now = self.best.clone();
            } else {
                let attempt = self.choose(&mut course, context);
                course.attempt = Some(self.improve(&mut course, attempt, &mut context.random));
            }
        }
        if self.now.feasible() {
            keep(&mut self.elite, self.now.clone());
        }
        let steps = self.spent - course.from;
        context.log.push(format!("{rounds} rounds, {steps} steps"));
    }

    /// Chooses the mapping to improve, and returns the attempt to improve it. This is the present
    /// mapping until its gains stall. Then more initial solutions are made, and the best one in the
    /// pool follows. In the last part of the plan, only the best mapping is improved.
    fn choose(&mut self, course: &mut Course<'_>, context: &mut Context<'_>) -> Attempt {
        let at = course.at(self);
        let Some(attempt) = course.attempt else {
            self.next_from_pool();
            return Attempt::new(at);
        };
        if at > LAST {
            // In the last part of the plan only the best mapping is improved.
            if self.best.beats(&self.now) {
                let old = std::mem::replace(&mut self.now, self.best.clone());
                keep(&mut self.elite, old);
            }
            return attempt;
        }
        if !attempt.is_stalled(at) {
            return attempt;
        }
        for _ in 0..3 {
            self.spent += self.start(course.round, &mut context.random);
        }
        let (now, best) = (self.now.cost, self.best.cost);
        let turn = format!("turn at {at:.3}: {now} of {best}");
        context.log.push(turn);
        if let Some(old) = self.next_from_pool() {
            keep(&mut self.elite, old);
        }
        course.operators.refresh();
        Attempt::new(course.at(self))
    }

    /// Improves the present mapping by one operator, and returns the updated attempt.
    fn improve(
        &mut self,
        course: &mut Course<'_>,
        mut attempt: Attempt,
        random: &mut Random,
    ) -> Attempt {
        let (planned, operators) = (course.round.planned(), &mut course.operators);
        if self.tight {
            operators.fit_tightly(planned);
        }
        let before = self.now.clone();
        let arm = match before.feasible() {
            true => operators.choose(random),
            false => operators.repair(planned),
        };
        let steps = self.apply(operators.operator(arm), random);
        self.spent += steps;
        let gain = match before.feasible() {
            true => (before.cost - self.now.cost).max(0) as f64,
            false => 0.0,
        };
        operators.credit(arm, gain, before.cost as f64 * 0.01, steps);
        if self.now.beats(&before) {
            (attempt.gained, attempt.idle) = (course.at(self), 0);
        } else {
            attempt.idle += if before.feasible() { 1 } else { IDLE / 4 };
        }
        attempt
    }

    /// Tries to prove the optimum by branch and bound. Returns true if the proof is complete.
    /// Updates the bound, and takes over a better mapping. Returns false without a try unless it
    /// may use twice as many nodes as the last one.
    fn prove(&mut self, budget: &Budget<'_>) -> bool {
        // Identical workers count once, so a farm of a hundred workers is a small problem.
        let hopeful = distinct(&twins(self.inst)).len() <= 40;
        let (share, steps) = if hopeful { (0.5, 20) } else { (0.04, 400) };
        // Nodes with few vertices and blocks take little time.
        let few = self.inst.len() * self.inst.k() <= FEW;
        let times = if few { LONGER } else { 1 };
        let nodes = times * (budget.steps / steps).max(50_000);
        // A proof that failed is tried again only with at least twice as many nodes.
        if nodes < 2 * self.proving {
            return false;
        }
        self.proving = nodes;
        let limit = limit::Limit {
            nodes,
            stop_at: partway(self.stop_at, share),
            watch: budget.watch,
        };
        let best = Some(&self.best).filter(|b| b.feasible());
        let known = best.map(|b| b.block.as_slice());
        let outcome = branch::solve(self.inst, known, limit);
        self.spent += budget.steps / 20;
        self.bound = self.bound.max(Some(outcome.bound));
        if let Some((block, _)) = outcome.better {
            let found = given(self.inst, block);
            self.note(&found);
            self.now = found;
        }
        outcome.complete
    }
}

/// Searches a part of an instance, in one round that uses the whole budget. Returns the best
/// mapping found.
fn search_part(context: &mut Context<'_>) -> Best {
    let mut search = Search::new(context, 1);
    let round = Round {
        budget: context.budget,
        timed: false,
        limit: Limit {
            most: context.budget.steps,
            patience: u64::MAX,
        },
        patience_ends_at: None,
    };
    // The cost of a part has no meaning for the watch of the whole search.
    search.round(context, &round, (&Team::new(None), 1));
    search.best
}
