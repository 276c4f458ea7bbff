//! The search for networks whose table of costs fits: starts, then whatever pays.
//!
//! A few whole mappings are made by multisection and by cutting orders into runs. From then on
//! four ways compete to improve the best: filling part of the machine anew, mixing it with another
//! mapping, annealing its clusters, and starting over. Each is chosen by what it gained for its
//! steps so far; the steps are counted, not timed, so that a run without a time limit can be
//! repeated.

use std::time::Instant;

use super::{Context, Found};
use crate::exact::branch::{Limit, Outcome};
use crate::exact::{self, symmetry};
use crate::instance::Instance;
use crate::multilevel::initial::{THOROUGH, multisection};
use crate::multilevel::line;
use crate::random::Random;
use crate::refine::anneal::{Best, Schedule, anneal, typical};
use crate::refine::combine::combine;
use crate::refine::rebalance::repair_rules;
use crate::refine::region::{Manner, Region};
use crate::refine::state::State;

/// Up to so many vertices a proof is tried.
const PROVABLE: usize = 256;
/// Mappings kept to be mixed with the best.
const KEPT: usize = 6;
/// What older tries of a way count against the last.
const FADE: f64 = 0.95;

/// Tries to prove the optimum, starting from what is known.
fn prove(context: &Context<'_>, best: Option<&Best>) -> Outcome {
    let known = best
        .filter(|b| b.feasible())
        .map(|b| (b.block.as_slice(), b.cost));
    // Identical workers count once: a farm of a hundred is a small problem.
    let hopeful = symmetry::classes(context.inst) <= 40;
    let (share, steps) = if hopeful { (0.5, 20) } else { (0.04, 400) };
    let stop_at = context.budget.stop_at().map(|end| {
        let now = Instant::now();
        now + end.saturating_duration_since(now).mul_f64(share)
    });
    let nodes = if stop_at.is_some() {
        u64::MAX
    } else {
        (context.budget.steps / steps).max(50_000)
    };
    exact::solve(context.inst, known, Limit { nodes, stop_at })
}

/// A way to improve the best mapping, and what it was worth.
struct Way {
    kind: Kind,
    /// Gain and steps of late.
    gained: f64,
    spent: f64,
    /// All its steps.
    total: u64,
}

impl Way {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            gained: 0.0,
            spent: 0.0,
            total: 0,
        }
    }

    /// Books a try. The first one counts as if it had gained a little: all are worth some tries.
    fn book(&mut self, gain: f64, hope: f64, steps: u64) {
        if self.total == 0 {
            self.gained = hope;
            self.spent = 3.0 * steps as f64;
        }
        self.gained = self.gained * FADE + gain;
        self.spent = self.spent * FADE + steps as f64;
        self.total += steps;
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Start,
    /// Part of a group of this depth is improved.
    Region(u32, Manner),
    Combine,
    Cycle,
}

struct Search<'a> {
    inst: &'a Instance,
    stop_at: Option<Instant>,
    best: Best,
    others: Vec<Best>,
    starts: usize,
    /// Whether orders cut into runs are near what multisection finds.
    lines: bool,
}

/// Steps that a start is annealed for.
fn round(inst: &Instance) -> u64 {
    (inst.len() as u64 * 50).clamp(10_000, 50_000)
}

fn start(
    inst: &Instance,
    number: usize,
    lines: bool,
    stop_at: Option<Instant>,
    random: &mut Random,
) -> (Best, u64) {
    let runs = (number < 6 && number.is_multiple_of(2) && lines).then(|| {
        let order = line::order(inst, number / 2, random);
        line::cut(inst, &order)
    });
    let (first, work) = match runs.flatten() {
        Some(mut block) => {
            repair_rules(inst, &mut block);
            (block, inst.len() * inst.k())
        }
        None => {
            let greed = if number < 2 { 0.0 } else { random.unit() };
            let block = multisection(inst, THOROUGH, greed, random);
            (block, 40 * (inst.len() + inst.targets.len()))
        }
    };
    let mut state = State::new(inst, first);
    // From a touch-up of the start to forgetting it, which only small ones can afford.
    let warmth = if inst.len() <= 100 {
        0.05 + 0.75 * random.unit()
    } else if number % 3 == 2 {
        0.05 + 0.5 * random.unit()
    } else {
        0.05
    };
    let hot = typical(&state) * warmth;
    let schedule = Schedule {
        steps: round(inst),
        hot,
        cold: hot * 0.02,
        stop_at,
    };
    let found = anneal(&mut state, random, &schedule);
    (found, round(inst) + work as u64)
}

impl<'a> Search<'a> {
    /// Keeps a mapping that did not become the best, if it is one of the better ones.
    fn keep(&mut self, found: Best) {
        if self.others.iter().any(|o| o.block == found.block) || self.best.block == found.block {
            return;
        }
        let at = self.others.partition_point(|o| !found.beats(o));
        self.others.insert(at, found);
        self.others.truncate(KEPT);
    }

    /// A mapping was found: it becomes the best or one of the others.
    fn take(&mut self, found: Best) {
        if found.beats(&self.best) {
            let old = std::mem::replace(&mut self.best, found);
            self.keep(old);
        } else {
            self.keep(found);
        }
    }

    /// Tries one way; returns the steps it took.
    fn go(&mut self, kind: Kind, random: &mut Random) -> u64 {
        match kind {
            Kind::Start => {
                let (found, spent) =
                    start(self.inst, self.starts, self.lines, self.stop_at, random);
                // On meshes no order is any good: more than one try is wasted there.
                self.lines &= self.starts != 1
                    || !found.feasible()
                    || (self.best.cost as f64) < 1.5 * found.cost as f64;
                self.starts += 1;
                self.take(found);
                spent
            }
            Kind::Region(depth, manner) => {
                let Some(region) = Region::at(self.inst, depth, random) else {
                    return 1;
                };
                let (found, spent) =
                    region.improve(self.inst, &self.best, (manner, 40), self.stop_at, random);
                self.best = found;
                spent
            }
            Kind::Combine => {
                if self.others.is_empty() || !self.best.feasible() {
                    return 1;
                }
                let other = random.below(self.others.len());
                let other = &self.others[other].block;
                let (found, spent) = combine(self.inst, &self.best, other, self.stop_at, random);
                if found.beats(&self.best) {
                    self.best = found;
                }
                spent
            }
            Kind::Cycle => {
                let (whole, manner) = (Region::whole(self.inst), (Manner::Clusters, 250));
                let (found, spent) =
                    whole.improve(self.inst, &self.best, manner, self.stop_at, random);
                self.best = found;
                spent
            }
        }
    }
}

/// The way to go next: one not yet tried, mostly the one that paid best of late, at times the one
/// that had least.
fn choose(ways: &[Way], random: &mut Random) -> usize {
    let all = || ways.iter().enumerate();
    if let Some((new, _)) = all().find(|w| w.1.total == 0) {
        return new;
    }
    let best = if random.below(4) == 0 {
        all().min_by_key(|w| w.1.total)
    } else {
        let rate = |w: &Way| w.gained / w.spent;
        all().max_by(|a, b| rate(a.1).total_cmp(&rate(b.1)))
    };
    best.map_or(0, |w| w.0)
}

pub(crate) fn search(context: &mut Context<'_>) -> Found {
    let inst = context.inst;
    let budget = context.budget;
    let stop_at = budget.stop_at();
    let mut spent = 0_u64;
    let used = |spent: u64| {
        if budget.time.is_some() {
            budget.used()
        } else {
            spent as f64 / budget.steps as f64
        }
    };
    let (first, steps) = match context.start.take() {
        Some(block) => (Best::of(&State::new(inst, block)), 0),
        None => start(inst, 0, true, stop_at, &mut context.random),
    };
    spent += steps;
    let mut search = Search {
        inst,
        stop_at,
        best: first,
        others: Vec::new(),
        starts: 1,
        lines: true,
    };
    let mut kinds = vec![Kind::Start, Kind::Combine, Kind::Cycle];
    for depth in 0..Region::depths(inst) {
        kinds.push(Kind::Region(depth, Manner::Anew));
        kinds.push(Kind::Region(depth, Manner::Clusters));
    }
    let mut ways: Vec<Way> = kinds.into_iter().map(Way::new).collect();
    let provable = inst.len() <= PROVABLE;
    let (mut bound, mut rounds) = (None, 1);
    while used(spent) < 1.0 || (provable && bound.is_none()) {
        if provable && bound.is_none() && rounds >= 8 {
            let outcome = prove(context, Some(&search.best));
            bound = Some(outcome.bound);
            spent += budget.steps / 20;
            if let Some((block, _)) = outcome.better {
                search.take(Best::of(&State::new(inst, block)));
            }
            if outcome.complete {
                context.log.push("proved by branch and bound".to_owned());
                break;
            }
            continue;
        }
        let opening = rounds < 4 || (rounds < 16 && used(spent) < 0.25);
        let at = if opening {
            0
        } else {
            choose(&ways, &mut context.random)
        };
        let before = search.best.clone();
        let steps = search.go(ways[at].kind, &mut context.random);
        spent += steps;
        rounds += 1;
        let way = &mut ways[at];
        let hope = search.best.cost as f64 * 0.01;
        let gain = (before.cost - search.best.cost).max(0) as f64;
        way.book(if opening { 0.0 } else { gain }, hope, steps);
        if search.best.beats(&before) {
            context.log.push(format!(
                "{:?} {rounds} at {:.3}: {} {}",
                way.kind,
                used(spent),
                search.best.cost,
                search.best.excess
            ));
        }
    }
    context.log.push(format!("{rounds} rounds, {spent} steps"));
    Found {
        block: search.best.block,
        bound,
    }
}
