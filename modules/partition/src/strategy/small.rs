//! The search for networks whose table of costs fits: starts, then whatever pays.
//!
//! Whole mappings are made first, see [`super::start`]. The best of them is
//! improved, until nothing gains any more; then the next best, and in the last part of the time the
//! best of all, mixed with what the others came to. How it is improved: see [`super::operators`]. Steps
//! are counted, not timed, so that a run without a time limit can be repeated.

use std::time::Instant;

use super::Context;
use super::inside;
use super::operators::{Operator, Operators};
use super::start::{given, in_order, start};
use super::team::Team;
use crate::budget::Budget;
use crate::clusters::distinct;
use crate::exact::branch;
use crate::exact::limit::Limit;
use crate::exact::symmetry::twins;
use crate::instance::Instance;
use crate::random::Random;
use crate::refine::anneal::Best;
use crate::refine::combine::combine;
use crate::refine::exchange;
use crate::refine::pair::redivide;
use crate::refine::region::Region;
use crate::refine::state::State;
use crate::tuning::proofs::{FEW, LONGER};
use crate::tuning::small::{
    CYCLE, FEWEST, HORIZON, IDLE, INNER, KEPT, LAST, OPENING, OUTER, PAIRS, PROVABLE, REPAIR,
    REPAIRS, SHORT, STALLED, STALLING, START_COST, STARTS,
};

/// How long a proof is tried in a round: so many nodes, and until when.
fn patience(
    inst: &Instance,
    budget: &Budget<'_>,
    stop_at: Option<Instant>,
) -> (u64, Option<Instant>) {
    // Identical workers count once: a farm of a hundred is a small problem.
    let hopeful = distinct(&twins(inst)).len() <= 40;
    let (share, steps) = if hopeful { (0.5, 20) } else { (0.04, 400) };
    let stop_at = stop_at.map(|end| {
        let now = Instant::now();
        now + end.saturating_duration_since(now).mul_f64(share)
    });
    // Nodes of few vertices between few blocks are short.
    let times = if inst.len() * inst.k() <= FEW {
        LONGER
    } else {
        1
    };
    (times * (budget.steps / steps).max(50_000), stop_at)
}

/// A search, which goes on in rounds.
#[derive(Clone)]
pub(super) struct Search<'a> {
    inst: &'a Instance,
    stop_at: Option<Instant>,
    /// The best of all.
    pub(super) best: Best,
    /// What is being improved.
    now: Best,
    /// Starts not yet improved, the best first.
    pool: Vec<Best>,
    /// What others came to, to be mixed with.
    elite: Vec<Best>,
    starts: usize,
    /// Whether orders cut into runs are near what the engine for large networks finds.
    lines: bool,
    /// Whether the budget is short for so many vertices.
    short: bool,
    /// Whether some start was not within its bounds.
    tight: bool,
    /// How many times as many steps as in a search without a time it counts to make one, and the steps that were counted only
    /// for that.
    start_cost: u64,
    pub(super) overcounted: u64,
    /// Steps to bring some within them, and those that did.
    repair: u64,
    repaired: u64,
    /// No feasible mapping is cheaper.
    pub(super) bound: Option<i64>,
    /// Steps until now.
    pub(super) spent: u64,
    /// Nodes of the last proof that was tried; 0 before the first.
    proving: u64,
}

/// Keeps a mapping in a list of the best, unless it is there.
fn keep(list: &mut Vec<Best>, found: Best, most: usize) {
    if list.iter().all(|o| o.block != found.block) {
        let at = list.partition_point(|o| !found.beats(o));
        list.insert(at, found);
        list.truncate(most);
    }
}

impl Search<'_> {
    fn note(&mut self, found: &Best) {
        if found.beats(&self.best) {
            self.best = found.clone();
        }
    }

    /// Makes one more start for the pool; returns the steps it took.
    fn start(&mut self, random: &mut Random) -> u64 {
        let manner = (self.lines, self.short);
        let started = start(self.inst, self.starts, manner, self.stop_at, random);
        let Some((mut found, annealed, work)) = started else {
            return 1;
        };
        let mut spent = annealed + work * self.start_cost;
        self.overcounted += work * (self.start_cost - 1);
        self.tight |= !found.feasible();
        // What is given is within its bounds and may be far from cheap, as where it was packed by size.
        if !found.feasible() && self.repaired < self.repair {
            // The better of two is better than one of twice the steps, but where memory leaves hardly any.
            let steps = match self.inst.dims() {
                1 => (self.repair / 2).max(REPAIRS[0]),
                _ => self.repair,
            };
            let repair = exchange::improve(self.inst, &found, steps, self.stop_at, random);
            (found, spent) = (repair.0, spent + repair.1);
            if found.feasible() {
                self.repaired += steps;
            }
        }
        // On meshes no order is any good: more than one try is wasted there.
        self.lines &= self.starts != 1
            || !found.feasible()
            || (self.best.cost as f64) < 1.5 * found.cost as f64;
        self.starts += 1;
        self.note(&found);
        keep(&mut self.pool, found, KEPT);
        spent
    }

    /// The best start that waits is next; what was improved until now is returned.
    fn turn(&mut self) -> Option<Best> {
        if self.pool.is_empty() {
            return None;
        }
        let next = self.pool.remove(0);
        Some(std::mem::replace(&mut self.now, next))
    }

    /// Tries one way; returns the steps it took.
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
                    // Starts too: early in a round what was improved is one mapping, that of the round before.
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

    /// Divides some pairs of blocks anew that meet in a group of this depth.
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

/// What steps are taken to be worth in a round.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// What is worth trying is decided as if there were so many times as many steps.
    horizon: u64,
    /// To make a start counts so many times as many as in a search without a time.
    start_cost: u64,
}

impl Pace {
    /// Of a search without a time.
    pub(super) const OF_STEPS: Self = Self {
        horizon: 1,
        start_cost: 1,
    };
    /// Of the rounds that only a search with a time makes.
    pub(super) const OF_A_TIME: Self = Self {
        horizon: HORIZON,
        start_cost: START_COST,
    };
}

/// How far a round goes: a plan, and where in it the search ends.
///
/// All that a round does follows from its plan; where it ends only cuts it off. So the best mapping
/// of a longer search of the same plans is never worse.
#[derive(Clone, Copy)]
pub(super) struct Round<'a> {
    /// What it plans with are its steps.
    pub(super) budget: Budget<'a>,
    pub(super) pace: Pace,
    /// Steps of the whole search after which it ends.
    pub(super) end: u64,
    /// The same for a search that has found nothing feasible.
    pub(super) patience: u64,
    /// It ends then, too.
    pub(super) stop_at: Option<Instant>,
    /// And one that has found nothing feasible then.
    pub(super) hopeless_at: Option<Instant>,
}

impl<'a> Round<'a> {
    /// One that ends with its plan.
    fn of(budget: Budget<'a>) -> Self {
        Self {
            budget,
            pace: Pace::OF_STEPS,
            end: budget.steps,
            patience: u64::MAX,
            stop_at: budget.stop_at(),
            hopeless_at: None,
        }
    }

    /// Share of the plan used after so many steps of it.
    fn used(&self, steps: u64) -> f64 {
        steps as f64 / self.budget.steps.max(1) as f64
    }

    /// Whether a search ends that has taken so many steps of the plan.
    fn is_over(&self, search: &Search<'_>, steps: u64) -> bool {
        let late = || self.stop_at.is_some_and(|t| Instant::now() >= t);
        search.spent >= self.end || self.used(steps) >= 1.0 || self.is_hopeless(search) || late()
    }

    /// Whether a search has found nothing feasible for so long that something is to be done about that.
    pub(super) fn is_hopeless(&self, search: &Search<'_>) -> bool {
        let late = || self.hopeless_at.is_some_and(|t| Instant::now() >= t);
        !search.best.feasible() && (search.spent >= self.patience || late())
    }
}

impl<'a> Search<'a> {
    /// Begins with the mappings that are given, and a first start.
    pub(super) fn new(context: &mut Context<'a>, member: usize) -> Self {
        let inst = context.inst;
        let stop_at = context.budget.stop_at();
        let mut search = None;
        for block in std::mem::take(&mut context.starts) {
            match &mut search {
                None => search = Some(Self::from(inst, given(inst, block), stop_at, member)),
                Some(search) => search.add(block),
            }
        }
        let mut search = search.unwrap_or_else(|| {
            let short = (true, true);
            let first = start(inst, member, short, stop_at, &mut context.random);
            let (first, steps, work) = first.unwrap_or_else(|| (given(inst, in_order(inst)), 1, 0));
            let mut search = Self::from(inst, first, stop_at, member + 1);
            search.spent = steps + work;
            search
        });
        search.now = search.best.clone();
        search
    }

    fn from(inst: &'a Instance, first: Best, stop_at: Option<Instant>, starts: usize) -> Self {
        Self {
            inst,
            stop_at,
            best: first.clone(),
            now: first.clone(),
            pool: vec![first],
            elite: Vec::new(),
            starts,
            lines: true,
            short: true,
            tight: false,
            start_cost: 1,
            overcounted: 0,
            repair: REPAIRS[0],
            repaired: 0,
            bound: None,
            spent: 0,
            proving: 0,
        }
    }

    /// Whether nothing can be better.
    pub(super) fn is_proved(&self) -> bool {
        self.best.feasible() && self.bound.is_some_and(|b| b >= self.best.cost)
    }

    /// A mapping and a bound that were found by other means.
    pub(super) fn learn(&mut self, block: Option<Vec<u32>>, bound: i64) {
        self.bound = self.bound.max(Some(bound));
        if let Some(block) = block {
            self.add(block);
        }
    }

    /// What another search has found.
    pub(super) fn learn_from(&mut self, other: Search<'_>) {
        self.bound = self.bound.max(other.bound);
        self.meet(other.best);
    }

    /// The best of another search, to be mixed with.
    pub(super) fn meet(&mut self, other: Best) {
        self.note(&other);
        keep(&mut self.elite, other, KEPT);
    }

    /// One more start.
    pub(super) fn add(&mut self, block: Vec<u32>) {
        let given = given(self.inst, block);
        self.note(&given);
        keep(&mut self.pool, given, KEPT);
    }

    /// One round of a search of a team; the first of its members proves.
    pub(super) fn round(
        &mut self,
        context: &mut Context<'_>,
        round: &Round<'_>,
        (team, member): (&Team, usize),
    ) {
        let (inst, from) = (self.inst, self.spent);
        let budget = round.budget;
        self.stop_at = round.stop_at;
        let [least, most] = REPAIRS;
        self.repair = (budget.steps / REPAIR).clamp(least, most);
        self.start_cost = round.pace.start_cost;
        let planned = budget.steps.saturating_mul(round.pace.horizon);
        self.short = planned / SHORT < inst.len() as u64;
        // What rounds before have come to is mixed with what this one does.
        if self.best.feasible() && self.spent > 0 {
            keep(&mut self.elite, self.best.clone(), KEPT);
        }
        let mut operators = Operators::new(inst, planned);
        let mut provable = member == 0 && inst.len() <= PROVABLE && !self.is_proved();
        let mut rounds = 1;
        // When the present mapping began to be improved, and was improved last.
        let (mut began, mut gained) = (None, 0.0);
        let (mut idle, mut inner) = (0, false);
        let proves = self.proving == 0;
        while !budget.ended()
            && !team.is_over()
            && (!round.is_over(self, self.spent - from) || (provable && proves))
        {
            if let Some(watch) = budget.watch.filter(|_| self.best.feasible()) {
                team.tell(watch, self.best.cost);
            }
            rounds += 1;
            if provable && rounds > 8 {
                provable = false;
                if self.prove(context, &budget) {
                    context.log.push("proved by branch and bound".to_owned());
                    break;
                }
                continue;
            }
            let at = round.used(self.spent - from);
            let starts = self.starts - member;
            if starts < FEWEST || (starts < STARTS && at < OPENING) {
                self.spent += self.start(&mut context.random);
                continue;
            }
            if at > OUTER && !std::mem::replace(&mut inner, true) {
                let random = &mut context.random;
                self.spent +=
                    inside::improve(inst, &mut self.best, (&budget, INNER), random, search_part);
                self.now = self.best.clone();
                continue;
            }
            let since = at - gained;
            match began {
                None => {
                    self.turn();
                    (began, gained) = (Some(at), at);
                }
                Some(_) if at > LAST => {
                    // The last part of the time belongs to the best.
                    if self.best.beats(&self.now) {
                        let best = self.best.clone();
                        let old = std::mem::replace(&mut self.now, best);
                        keep(&mut self.elite, old, KEPT);
                    }
                }
                Some(start) if idle >= IDLE && since > STALLED.max(STALLING * (gained - start)) => {
                    for _ in 0..3 {
                        self.spent += self.start(&mut context.random);
                    }
                    context.log.push(format!(
                        "turn at {at:.3}: {} of {}",
                        self.now.cost, self.best.cost
                    ));
                    if let Some(old) = self.turn() {
                        keep(&mut self.elite, old, KEPT);
                    }
                    operators.refresh();
                    idle = 0;
                    let at = round.used(self.spent - from);
                    (began, gained) = (Some(at), at);
                }
                Some(_) => {}
            }
            if self.tight {
                operators.fit_tightly(planned);
            }
            let before = self.now.clone();
            let arm = match self.now.feasible() {
                true => operators.choose(&mut context.random),
                false => operators.repair(planned),
            };
            let steps = self.apply(operators.operator(arm), &mut context.random);
            self.spent += steps;
            let gain = match before.feasible() {
                true => (before.cost - self.now.cost).max(0) as f64,
                false => 0.0,
            };
            operators.credit(arm, gain, before.cost as f64 * 0.01, steps);
            if self.now.beats(&before) {
                gained = round.used(self.spent - from);
                idle = 0;
            } else {
                idle += if before.feasible() { 1 } else { IDLE / 4 };
            }
        }
        if self.now.feasible() {
            keep(&mut self.elite, self.now.clone(), KEPT);
        }
        let steps = self.spent - from;
        context.log.push(format!("{rounds} rounds, {steps} steps"));
    }

    /// Tries to prove the optimum; says whether that is done.
    fn prove(&mut self, context: &Context<'_>, budget: &Budget<'_>) -> bool {
        let (nodes, stop_at) = patience(self.inst, budget, self.stop_at);
        // What failed is not tried again before there is much more to spend on it.
        if nodes < 2 * self.proving {
            return false;
        }
        self.proving = nodes;
        let watch = context.budget.watch;
        let limit = Limit {
            nodes,
            stop_at,
            watch,
        };
        let best = Some(&self.best).filter(|b| b.feasible());
        let known = best.map(|b| b.block.as_slice());
        let outcome = branch::solve(self.inst, known, limit);
        self.spent += budget.steps / 20;
        self.bound = self.bound.max(Some(outcome.bound));
        if let Some((block, _)) = outcome.better {
            let found = Best::of(&State::new(self.inst, block));
            self.note(&found);
            self.now = found;
        }
        outcome.complete
    }
}

/// One search of a part of an instance, of one round as long as its budget.
fn search_part(context: &mut Context<'_>) -> Best {
    let mut search = Search::new(context, 1);
    let round = Round::of(context.budget);
    search.round(context, &round, (&Team::inside(), 1));
    search.best
}
