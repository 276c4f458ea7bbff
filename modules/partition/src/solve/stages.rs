//! The stages of a solution: bounds on loads, a search, what mends its faults, proofs.

use std::time::{Duration, Instant};

use super::balance::{packing, raise, settle, too_heavy, within};
use super::{Options, Solution};
use crate::bound::{Effort, lower_bound};
use crate::constraints::Draft;
use crate::diagnose;
use crate::error::{Conflict, Error};
use crate::evaluate::evaluate;
use crate::exact::structure;
use crate::explain::explain;
use crate::instance::Instance;
use crate::pack;
use crate::pigeonhole;
use crate::problem::{Objective, Problem};
use crate::proof;
use crate::random::Random;
use crate::refine::bottleneck;
use crate::strategy::{Budget, Context, Found, Strategy, auto, by_name, keeps};

/// Share of a time limit for the first search where a proof is near, and for the proof.
const FIRST: f64 = 0.15;
const PROVING: f64 = 0.35;
/// Share that a search has until it must have found something feasible.
const UNPACKED: f64 = 0.6;
/// After this share no further search is begun.
const LATE: f64 = 0.9;
/// The first search takes no longer.
const LONGEST: Duration = Duration::from_millis(500);
/// Up to so many vertices flows are looked for to bound the cost.
const BOUNDABLE: usize = 20_000;
/// Share of a time limit that they get, and of one of a tenth of a second or less: there the first
/// flows are what counts, and the search gains more by the rest.
const BOUNDING: f64 = 0.1;
const BRIEFLY: f64 = 0.04;

/// What the stages share. They are taken in the order in which they stand.
pub(super) struct Stages<'a> {
    problem: &'a Problem<'a>,
    options: &'a Options,
    strategy: &'static Strategy,
    /// Whether the strategy searches, rather than showing what a plain rule gives.
    searches: bool,
    /// Whether part of the time is for the bound.
    bounding: bool,
    budget: Budget,
    effort: Effort,
    inst: Instance,
    /// Vertex of the instance for each of the graph; empty when they are the same.
    group: Vec<u32>,
    random: Random,
    /// By what factor the load bounds were raised.
    raised: Option<f64>,
    /// What keeps the bounds that were raised before the search.
    packed: Option<Vec<u32>>,
    unavoidable: bool,
    remarks: Vec<String>,
    log: Vec<String>,
}

impl<'a> Stages<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, options: &'a Options) -> Result<Self, Error> {
        let start = Instant::now();
        problem.check()?;
        let strategy = by_name(&options.strategy)?;
        let (inst, group) = Instance::new(problem)
            .map_err(|met| Error::Infeasible(diagnose::contradiction(problem, met)))?;
        let searches = ["auto", "fast", "ilp"].contains(&strategy.name);
        let bounding = searches && inst.len() <= BOUNDABLE;
        let share = match options.time {
            _ if !bounding => 1.0,
            Some(time) if time <= Duration::from_millis(100) => 1.0 - BRIEFLY,
            _ => 1.0 - BOUNDING,
        };
        let stages = Self {
            problem,
            options,
            strategy,
            searches,
            bounding,
            budget: Budget {
                start,
                time: options.time.map(|t| t.mul_f64(share)),
                steps: options.steps,
                threads: options.threads,
                watch: options.watch,
            },
            effort: Effort {
                looks: match options.time {
                    _ if !bounding => 0,
                    Some(_) => u64::MAX,
                    None => options.steps,
                },
                stop_at: options.time.map(|t| start + t),
            },
            inst,
            group,
            random: Random::new(options.seed),
            raised: None,
            packed: None,
            unavoidable: false,
            remarks: Vec::new(),
            log: Vec::new(),
        };
        if let Some(watch) = options.watch {
            watch.set_base(stages.base());
        }
        Ok(stages)
    }

    /// What is left of the distances inside blocks: constant, and no part of the search.
    fn base(&self) -> u64 {
        match self.problem.objective {
            Objective::RemoteChannels => 0,
            _ => {
                let collocated = u64::from(self.problem.machine.collocated());
                self.problem.graph.total_traffic() * collocated
            }
        }
    }

    /// Lowers the load bounds where the largest load is to be small, and raises them where it can
    /// be seen without a search that nothing keeps them.
    pub(super) fn bound_loads(&mut self) -> Result<(), Error> {
        let (problem, options) = (self.problem, self.options);
        if problem.objective == Objective::LargestLoad {
            let inst = &self.inst;
            let bounds: f64 = (0..inst.k()).map(|b| inst.load_bound(b) as f64).sum();
            let low = problem.graph.total_load() as f64 / bounds.max(1.0);
            let steps = packing(inst) / 4;
            if let Some((bounds, _)) = pack::least_bounds(inst, low, &mut self.random, steps) {
                self.inst = self.inst.with_load_bounds(&bounds);
            }
        }
        let all: Vec<usize> = (0..problem.constraints.len()).collect();
        // Without constraints every vertex may lie anywhere.
        let confined = (!all.is_empty()).then(|| Draft::new(problem, &all));
        let overload = confined.and_then(|draft| pigeonhole::overload(&draft, problem));
        let mut least = 1.0;
        if let Some((clash, factor)) = overload {
            if options.strict_balance {
                return Err(Error::Infeasible(explain(problem, clash)));
            }
            if problem.objective != Objective::LargestLoad {
                self.unavoidable = true;
                least = factor;
            }
        } else if too_heavy(&self.inst).is_some() {
            self.unavoidable = true;
        }
        if self.unavoidable {
            let plain = problem.constraints.is_empty() && self.inst.dims() == 1;
            if !(plain || options.strict_balance) {
                settle(&self.inst, problem, options, &self.budget)?;
            }
            self.packed = Some(self.raise(least)?);
        }
        Ok(())
    }

    /// Raises the balance bound, no less than by a factor, and returns a mapping that keeps it.
    fn raise(&mut self, least: f64) -> Result<Vec<u32>, Error> {
        let (random, log) = (&mut self.random, &mut self.log);
        let (more, packed) = raise(
            self.problem,
            &mut self.inst,
            self.options,
            least,
            random,
            log,
        )?;
        self.raised = Some(self.raised.unwrap_or(1.0) * more);
        Ok(packed)
    }

    /// Whether a proof comes in the middle of the search, not after it.
    fn in_turns(&self) -> bool {
        let auto = self.bounding && self.strategy.name == "auto";
        auto && self.options.time.is_some() && structure::is_near(&self.inst)
    }

    /// What the strategy finds.
    pub(super) fn search(&mut self) -> Result<Found, Error> {
        let old = old_mapping(self.problem, &self.inst, &self.group);
        self.search_from(old, self.in_turns())
    }

    fn search_from(&mut self, start: Option<Vec<u32>>, in_turns: bool) -> Result<Found, Error> {
        let mut context = Context {
            inst: &self.inst,
            budget: self.budget,
            random: self.random.clone(),
            start,
            solver: self.options.solver.as_deref(),
            launch: self.options.launch,
            log: Vec::new(),
            remarks: Vec::new(),
        };
        let found = match self.options.time {
            Some(time) if in_turns => turns(self.strategy, &mut context, time)?,
            _ => self.strategy.run(&mut context)?,
        };
        let (mut log, remarks) = (context.log, context.remarks);
        self.log.append(&mut log);
        self.remarks = remarks;
        Ok(found)
    }

    /// The block of each vertex of the graph.
    fn expand(&self, block: Vec<u32>) -> Vec<u32> {
        if self.group.is_empty() {
            return block;
        }
        self.group.iter().map(|&g| block[g as usize]).collect()
    }

    /// Whether a mapping may be handed out. Plain strategies need not keep the balance bound.
    fn is_sound(&self, block: &[u32]) -> Result<bool, Error> {
        if self.searches {
            return Ok(keeps(&self.inst, block));
        }
        let judged = evaluate(self.problem, &self.expand(block.to_vec()))?;
        Ok(judged.allowed())
    }

    /// Another mapping where the search found none that keeps rules and bounds: packed by size, or
    /// by branch and bound, or under raised bounds.
    pub(super) fn mend(&mut self, found: Found) -> Result<Found, Error> {
        if self.is_sound(&found.block)? {
            return Ok(found);
        }
        let note = "nothing feasible found: packing by size";
        self.log.push(note.to_owned());
        if let Some(packed) = self.packed.take() {
            return self.go_on(packed);
        }
        let packed = pack::pack_tightly(&self.inst, &mut self.random, packing(&self.inst));
        if packed.feasible() {
            return self.go_on(packed.block);
        }
        let (settled, complete) = settle(&self.inst, self.problem, self.options, &self.budget)?;
        if let Some(block) = settled {
            return self.go_on(block);
        }
        self.unavoidable |= complete;
        let packed = self.raise(1.0)?;
        self.go_on(packed)
    }

    /// Improves what was found by size alone, with the time that is left.
    fn go_on(&mut self, block: Vec<u32>) -> Result<Found, Error> {
        let block = auto::touch_up(&self.inst, block, &mut self.random);
        let mut best = Found::from(block);
        let late = self.options.time.is_some() && self.budget.used() > LATE;
        // Under raised bounds no strategy has searched yet.
        if !late && (self.strategy.name == "auto" || self.raised.is_some()) {
            let found = self.search_from(Some(best.block.clone()), false)?;
            best.bound = found.bound;
            let cheaper = self.inst.cost(&found.block) < self.inst.cost(&best.block);
            if cheaper && self.is_sound(&found.block)? {
                best.block = found.block;
            }
        }
        Ok(best)
    }

    /// Bounds the cost by the structure of the network, and takes the better mapping if that is
    /// met; what else is to be small comes after the cost.
    pub(super) fn prove(&mut self, found: &mut Found) {
        let inst = &self.inst;
        if self.budget.ended() {
            let remark = "the search was ended: the best mapping found so far is used";
            self.remarks.push(remark.to_owned());
            (self.effort.looks, self.effort.stop_at) = (0, Some(Instant::now()));
        }
        let met = |bound: i64| bound >= inst.cost(&found.block);
        let open = self.bounding && !found.bound.is_some_and(met);
        if open && keeps(inst, &found.block) && !self.in_turns() {
            let outcome = structure::solve(inst, &found.block, self.effort, &mut self.log);
            if let Some(outcome) = outcome {
                found.bound = Some(found.bound.unwrap_or(0).max(outcome.bound));
                if let Some((block, _)) = outcome.better {
                    let note = "improved by the programme over the front";
                    self.log.push(note.to_owned());
                    found.block = block;
                }
                if outcome.complete {
                    let note = "proved by the programme over the front";
                    self.log.push(note.to_owned());
                }
            }
        }
        if self.problem.objective == Objective::Bottleneck && self.searches {
            bottleneck::refine(inst, &mut found.block);
        }
    }

    /// The mapping with all that is known about it.
    pub(super) fn conclude(self, found: Found) -> Result<Solution, Error> {
        let (problem, inst) = (self.problem, &self.inst);
        let counted = (problem.objective == Objective::RemoteChannels || cfg!(debug_assertions))
            .then(|| inst.cost(&found.block));
        let block_of = self.expand(found.block);
        let evaluation = evaluate(problem, &block_of)?;
        if !evaluation.allowed() {
            return Err(Error::Infeasible(Conflict {
                parts: evaluation.broken.clone(),
                proved: false,
                minimal: false,
                reason: "these rules are broken by the best mapping found".to_owned(),
            }));
        }
        // The judge has counted what is minimised, but for the number of channels with all that
        // pulls at it.
        let judged = evaluation.cost + evaluation.preference + evaluation.migration;
        let cost = match counted {
            Some(cost) if problem.objective == Objective::RemoteChannels => cost,
            _ => (judged - self.base()) as i64,
        };
        debug_assert!(counted.is_none_or(|counted| counted == cost));
        let minimised = cost as u64 + self.base();
        let bound = match found.bound {
            Some(bound) if bound >= cost => bound,
            bound => bound.unwrap_or(0).max(lower_bound(inst, cost, self.effort)),
        };
        let lower_bound = bound.max(0) as u64 + self.base();
        let gap = minimised.saturating_sub(lower_bound) as f64 / minimised.max(1) as f64;
        let first = || match problem.objective {
            Objective::Cost | Objective::RemoteChannels => true,
            Objective::LargestLoad => proof::least_load(inst, problem.machine, &evaluation.loads),
            Objective::Bottleneck => proof::least_bottleneck(inst, problem, evaluation.bottleneck),
        };
        let proved = within(inst, &evaluation) && minimised <= lower_bound && first();
        Ok(Solution {
            block_of,
            evaluation,
            lower_bound,
            minimised,
            gap,
            proved,
            raised: self.raised,
            unavoidable: self.unavoidable,
            remarks: self.remarks,
            log: self.log,
        })
    }
}

/// Where a proof is near: a short search, the proof, and where it fails the rest of the search.
fn turns(strategy: &Strategy, context: &mut Context<'_>, time: Duration) -> Result<Found, Error> {
    let (inst, budget) = (context.inst, context.budget);
    let opening = time.mul_f64(FIRST).min(LONGEST);
    context.budget.time = Some(opening);
    let mut first = strategy.run(context)?;
    let cost = inst.cost(&first.block);
    if !keeps(inst, &first.block) {
        // Nothing to prove yet: the search has most of the time. If it finds nothing, there is some
        // left for what is found by other means.
        context.budget.time = budget.time.map(|t| t.mul_f64(UNPACKED));
        context.start = Some(first.block);
        let found = strategy.run(context)?;
        context.budget = budget;
        return match keeps(inst, &found.block) {
            true => onward(strategy, context, found),
            false => Ok(found),
        };
    }
    if first.bound.is_some_and(|b| b >= cost) {
        return Ok(first);
    }
    let effort = Effort {
        looks: u64::MAX,
        stop_at: Some(budget.start + opening + time.mul_f64(PROVING)),
    };
    let proof = structure::solve(inst, &first.block, effort, &mut context.log);
    let proved = proof.as_ref().is_some_and(|p| p.complete);
    if let Some(outcome) = proof {
        first.bound = first.bound.max(Some(outcome.bound));
        first.block = outcome.better.map_or(first.block, |b| b.0);
    }
    if proved {
        return Ok(first);
    }
    context.budget = budget;
    onward(strategy, context, first)
}

/// The search goes on from what is there.
fn onward(strategy: &Strategy, context: &mut Context<'_>, first: Found) -> Result<Found, Error> {
    let inst = context.inst;
    context.start = Some(first.block.clone());
    let mut last = strategy.run(context)?;
    if !keeps(inst, &last.block) || inst.cost(&last.block) > inst.cost(&first.block) {
        last.block = first.block;
    }
    last.bound = last.bound.max(first.bound);
    Ok(last)
}

/// The old mapping in vertices of the instance, new vertices beside their heaviest neighbour.
fn old_mapping(problem: &Problem<'_>, inst: &Instance, group: &[u32]) -> Option<Vec<u32>> {
    let old = problem.migration?;
    let mut block = vec![u32::MAX; inst.len()];
    for (v, &g) in group.iter().enumerate() {
        if block[g as usize] == u32::MAX {
            block[g as usize] = old.block_of[v];
        }
    }
    for v in 0..inst.len() as u32 {
        if block[v as usize] == u32::MAX || !inst.may_lie(v, block[v as usize]) {
            let near = inst.row(v).filter(|e| block[e.0 as usize] != u32::MAX);
            let beside = near.max_by_key(|e| e.1).map_or(0, |e| block[e.0 as usize]);
            let open = (0..inst.k() as u32)
                .find(|&b| inst.may_lie(v, b))
                .unwrap_or(0);
            block[v as usize] = if inst.may_lie(v, beside) {
                beside
            } else {
                open
            };
        }
    }
    Some(block)
}
