//! The stages of a solution: load bounds, search, repair, and proofs.

use std::time::{Duration, Instant};

use super::options::{Options, Solution};
use super::{alike, limits, prices};
use crate::bound::{Effort, lower_bound};
use crate::budget::Budget;
use crate::clusters::lowered;
use crate::diagnose;
use crate::error::{Conflict, Error};
use crate::evaluate::{Evaluation, evaluate};
use crate::exact::structure;
use crate::feasibility::{is_feasible, satisfies_rules};
use crate::instance::Instance;
use crate::pack;
use crate::problem::{Objective, Problem};
use crate::proof;
use crate::random::Random;
use crate::refine::bottleneck;
use crate::strategy::{
    Context, FAST, Found, Kind, Run, SearchLimits, Strategy, UserStrategy, auto, metis, strategies,
    user_strategy,
};
use crate::tuning::proofs::{FEW_ROUNDS as FEW, FEWEST};
use crate::tuning::small::NETWORK;
use crate::tuning::time::{
    AFTER, AFTER_EACH, BASELINE, BOUNDING, BRIEFLY, LONGEST, METIS_ENTRIES, MOST_THREADS, PACKING,
    PATIENCE, PROVING, REFINED, STRUCTURE,
};

mod balance;
#[cfg(test)]
mod tests;

/// Log entry if a strategy has found no feasible mapping.
const BY_SIZE: &str = "no feasible mapping found; packing by size";

/// Block of each vertex, for several mappings.
type Mappings = Vec<Vec<u32>>;

/// State that the stages share. They must be called in the order of their definition.
pub(super) struct Stages<'a> {
    problem: &'a Problem<'a>,
    options: &'a Options,
    /// Whether a part of the time is reserved for the lower bound.
    bounding: bool,
    budget: Budget<'a>,
    effort: Effort,
    inst: Instance,
    /// The instance with the requested load bounds and all loads.
    wanted: Instance,
    /// Whether bounds were raised only for some blocks.
    shaped: bool,
    /// Vertex of the instance for each vertex of the graph. Empty if they are the same.
    group: Vec<u32>,
    random: Random,
    /// Factor by which the load bounds were raised.
    raised: Option<f64>,
    /// Time until the load bounds were known.
    bounding_took: Duration,
    /// Initial solutions for the part of a search that only a time limit allows.
    later: Vec<Vec<u32>>,
    hurried: Option<Duration>,
    /// A mapping within the bounds that were raised before the search.
    packed: Option<Vec<u32>>,
    unavoidable: bool,
    warnings: Vec<String>,
    log: Vec<String>,
}

impl<'a> Stages<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, options: &'a Options) -> Result<Self, Error> {
        let start = Instant::now();
        problem.check()?;
        let (inst, group) = Instance::new(problem)
            .map_err(|met| Error::Infeasible(diagnose::contradiction(problem, met)))?;
        let bounding = options.strategy.kind.is_bounded() && inst.len() <= NETWORK;
        let time = options.time.map(|t| t.min(LONGEST));
        let share = match time {
            _ if !bounding => 1.0,
            Some(time) if time <= Duration::from_millis(100) => 1.0 - BRIEFLY,
            _ => 1.0 - BOUNDING,
        };
        let stages = Self {
            problem,
            options,
            bounding,
            budget: Budget {
                start,
                time: time.map(|t| t.mul_f64(share)),
                steps: options.steps,
                deadline: None,
                threads: options.threads.min(MOST_THREADS),
                watch: options.watch.as_deref(),
            },
            effort: Effort {
                work: match time {
                    _ if !bounding => 0,
                    Some(_) => u64::MAX,
                    None => options.steps.saturating_mul(PROVING),
                },
                stop_at: time.map(|t| start + t),
            },
            wanted: inst.clone(),
            inst,
            shaped: false,
            group,
            random: Random::new(options.seed),
            raised: None,
            bounding_took: Duration::ZERO,
            later: Vec::new(),
            hurried: None,
            packed: None,
            unavoidable: false,
            warnings: Vec::new(),
            log: Vec::new(),
        };
        if let Some(watch) = &options.watch {
            watch.set_base(stages.base());
        }
        Ok(stages)
    }

    /// Returns the traffic times the collocated distance. It is a constant part of the cost, which
    /// the search omits. For the objective `RemoteChannels`, returns 0.
    fn base(&self) -> u64 {
        match self.problem.objective {
            Objective::RemoteChannels => 0,
            _ => self.problem.graph.total_traffic() * u64::from(self.problem.machine.collocated()),
        }
    }

    /// Runs the strategy. If its mapping breaks a rule, another one is packed. Returns the error of
    /// the strategy, or of packing.
    pub(super) fn search(&mut self) -> Result<Found, Error> {
        let old = self.problem.migration;
        let old = old.map(|old| self.in_instance(|v| old.block_of[v]));
        if self.options.strategy.kind.is_own_search() && self.inst.k() > 1 {
            return self.portfolio(old);
        }
        let mut found = self.run(old.into_iter().collect(), 1.0)?;
        // Simple strategies may exceed the balance bound.
        let sound = match self.options.strategy.kind.is_bounded() {
            true => is_feasible(&self.inst, &found.block),
            false => satisfies_rules(&self.inst, &found.block),
        };
        if !sound {
            found.block = self.pack()?;
        }
        Ok(found)
    }

    /// Converts a mapping of the graph's vertices to vertices of the instance. A vertex without an
    /// allowed block gets the block of its neighbour with the heaviest edge, or block 0 if no
    /// neighbour has one. If that block is not allowed either, it gets the first allowed block.
    fn in_instance(&self, block_of: impl Fn(usize) -> Option<u32>) -> Vec<u32> {
        let inst = &self.inst;
        let mut block = vec![None; inst.len()];
        for v in 0..self.problem.graph.vertices() {
            let place = self.group.get(v).map_or(v, |&g| g as usize);
            block[place] = block[place].or_else(|| block_of(v));
        }
        for v in 0..inst.len() as u32 {
            let open = |b: &u32| inst.is_allowed(v, *b);
            if block[v as usize].filter(open).is_none() {
                let near = inst.row(v).filter(|e| block[e.0 as usize].is_some());
                let beside = near
                    .max_by_key(|e| e.1)
                    .map_or(Some(0), |e| block[e.0 as usize]);
                let first = || (0..inst.k() as u32).find(|b| open(b));
                block[v as usize] = beside.filter(open).or_else(first);
            }
        }
        block.into_iter().map(|b| b.unwrap_or(0)).collect()
    }

    /// Runs the strategy from known mappings. A search without a feasible mapping ends after the
    /// share `patience` of its budget. Replaces the warnings by those of the strategy. Returns the
    /// error of the strategy.
    fn run(&mut self, initial_solutions: Vec<Vec<u32>>, patience: f64) -> Result<Found, Error> {
        let run = match &self.options.strategy.run {
            Run::Engine(run) => *run,
            Run::User(run) => return self.run_user_strategy(&**run),
        };
        let later = self.feasible(&self.later);
        let mut context = Context {
            later,
            hurried: self.hurried,
            patience,
            solver: self.options.solver.as_deref(),
            launch: self.options.launch,
            ..self.context(initial_solutions)
        };
        let found = run(&mut context)?;
        let (mut log, warnings) = (context.log, context.warnings);
        self.log.append(&mut log);
        self.warnings = warnings;
        Ok(found)
    }

    fn context(&self, initial_solutions: Vec<Vec<u32>>) -> Context<'_> {
        Context::new(
            &self.inst,
            self.budget,
            self.random.clone(),
            initial_solutions,
        )
    }

    /// Runs a strategy of a library user. If its mapping breaks a rule, another one is packed, with
    /// a warning. Returns the error of the strategy, or of packing.
    fn run_user_strategy(&mut self, run: &UserStrategy) -> Result<Found, Error> {
        let options = self.options;
        let limits = SearchLimits {
            time: options.time,
            steps: options.steps,
            seed: options.seed,
            threads: options.threads,
        };
        let name = &options.strategy.name;
        if let Some(block_of) = user_strategy::run(run, name, self.problem, &limits)? {
            return Ok(self.in_instance(|v| Some(block_of[v])).into());
        }
        self.warnings.push(format!(
            "the mapping of the strategy `{name}` breaks a rule; a mapping packed by size is used instead"
        ));
        Ok(self.pack()?.into())
    }

    /// Runs this crate's own search. It begins with the mappings of simple rules and packing, so it
    /// is not worse than those. If no mapping is known to be within the load bounds, they are
    /// raised before the search has used its whole budget. `old` is the previous mapping, if there
    /// is one. Returns an error of a strategy, or [`Error::Infeasible`] if packing fails or the
    /// balance is strict.
    fn portfolio(&mut self, old: Option<Vec<u32>>) -> Result<Found, Error> {
        let (mut known, mut others) = self.baselines()?;
        let mut all = known.iter().chain(&others);
        let broken = all.any(|block| !satisfies_rules(&self.inst, block));
        let (is_small, kind) = (auto::is_small(&self.inst), self.options.strategy.kind);
        if is_small {
            known.append(&mut others);
        }
        if let Some(old) = old {
            let [first, later] = prices::others(self.problem, &self.inst, &self.budget, &old)?;
            known.extend(first);
            known.push(old);
            self.later = later;
        }
        let mut initial_solutions = self.feasible(&known);
        let mut theirs = self.feasible(&others);
        known.append(&mut others);
        // On a large network, one pass satisfies the rules at less cost than packing.
        if initial_solutions.is_empty() && kind == Kind::Pass && !is_small {
            let found = self.run(Vec::new(), 1.0)?;
            if is_feasible(&self.inst, &found.block) {
                return Ok(found);
            }
        }
        let before = initial_solutions.len();
        if let Some(packed) = self.packed.take() {
            initial_solutions.push(self.touched_up(packed));
        } else if initial_solutions.is_empty() || (broken && is_small) {
            let mut effort = self.packing(PACKING);
            if initial_solutions.is_empty() {
                effort.stop_at = self.budget.settling_deadline(PACKING);
            }
            let packed = pack::pack_tightly(&self.inst, &mut self.random, effort);
            if packed.feasible() {
                initial_solutions.push(self.touched_up(packed.block));
            } else if initial_solutions.is_empty() {
                match self.settle()? {
                    Some(block) => initial_solutions.push(self.touched_up(block)),
                    None if self.unavoidable => {
                        initial_solutions = self.raised_initial_solutions(&known)?
                    }
                    None => {}
                }
            }
        }
        // Runs the pass again from the packed mapping, with other random numbers.
        if initial_solutions.len() > before && kind == Kind::Portfolio && !is_small {
            let again = self.mapping_of(&FAST, initial_solutions.clone())?;
            initial_solutions.extend(self.feasible(&[again]));
        }
        // The mappings of other engines do not replace the steps above, because they may cost more.
        initial_solutions.append(&mut theirs);
        let patience = match initial_solutions.is_empty() && !self.options.strict_balance {
            true => PATIENCE,
            false => 1.0,
        };
        let found = self.run(initial_solutions.clone(), patience)?;
        if let Some(found) = self.best(found, &initial_solutions) {
            return Ok(found);
        }
        self.log.push(BY_SIZE.to_owned());
        let initial_solutions = self.raised_initial_solutions(&known)?;
        self.budget.steps -= (self.budget.steps as f64 * patience) as u64;
        let found = self.run(initial_solutions.clone(), 1.0)?;
        Ok(self
            .best(found, &initial_solutions)
            .expect("what was packed is one"))
    }

    /// Raises the load bounds. Returns the known mappings that are within them, and then a packed
    /// one. Returns the error of [`raise`](Self::raise).
    fn raised_initial_solutions(&mut self, known: &[Vec<u32>]) -> Result<Mappings, Error> {
        let packed = self.raise(1.0)?;
        let mut initial_solutions = self.feasible(known);
        initial_solutions.push(self.touched_up(packed));
        Ok(initial_solutions)
    }

    /// Returns the cheapest of the found and the known mappings that is within all bounds, or
    /// `None` if there is none. `initial_solutions` are the known mappings, which must be within
    /// all bounds.
    fn best(&self, found: Found, initial_solutions: &[Vec<u32>]) -> Option<Found> {
        // On a large network each computation of a cost takes time.
        let costs: Vec<i64> = initial_solutions
            .iter()
            .map(|block| self.inst.cost(block))
            .collect();
        let least = initial_solutions
            .iter()
            .zip(&costs)
            .min_by_key(|start| start.1);
        if !is_feasible(&self.inst, &found.block) {
            return least.map(|(block, _)| Found::from(block.clone()));
        }
        let known = initial_solutions
            .iter()
            .position(|block| *block == found.block);
        let cost = known.map_or_else(|| self.inst.cost(&found.block), |start| costs[start]);
        Some(match least {
            Some((block, &least)) if least < cost => Found {
                block: block.clone(),
                ..found
            },
            _ => found,
        })
    }

    /// Returns the mappings that satisfy all rules and the present load bounds.
    fn feasible(&self, known: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let keeping = known.iter().filter(|block| is_feasible(&self.inst, block));
        keeping.cloned().collect()
    }

    fn touched_up(&mut self, block: Vec<u32>) -> Vec<u32> {
        let until = self.packing(PACKING).stop_at;
        auto::touch_up(&self.inst, block, until, &mut self.random)
    }

    /// Returns the mappings of strategies that take little time compared with the search. The first
    /// list is from this crate, and the second from other engines. Mappings may be infeasible.
    /// Shortens the budget by the time that later steps need. Returns the first error of a
    /// strategy.
    fn baselines(&mut self) -> Result<(Mappings, Mappings), Error> {
        let (n, ends) = (self.inst.len(), self.inst.targets.len());
        let entries = n + ends;
        let asked = metis::metis_takes(n, ends, self.inst.k());
        let small = auto::is_small(&self.inst);
        let brief = self.budget.time.is_none_or(|t| asked < t.mul_f64(BASELINE));
        let (mut known, mut others) = (Vec::new(), Vec::new());
        for rule in strategies().filter(|s| s.kind == Kind::Rule) {
            known.push(self.mapping_of(rule, Vec::new())?);
        }
        // Reserves time for the steps after search and bound that ignore the clock, such as checks
        // and a comparison with other plans. This is a multiple of the time until here, or the time
        // that is known for large networks.
        let after = self
            .budget
            .start
            .elapsed()
            .saturating_sub(self.bounding_took)
            * AFTER;
        self.leave(after.max(AFTER_EACH.mul_f64(entries as f64)));
        // For a large network, `fast` computes nothing more.
        if small || self.options.strategy.kind == Kind::Portfolio {
            if !small {
                // The pass begins with the same mappings as the strategy `fast`, and may run out of
                // time.
                let initial_solutions = self.feasible(&known);
                let begun = Instant::now();
                known.push(self.mapping_of(&FAST, initial_solutions)?);
                self.hurried = Some(begun.elapsed());
            }
            if brief && entries <= METIS_ENTRIES && metis::is_quiet(&self.inst) {
                // The list is empty if no such engine is compiled in.
                let engines = strategies().filter(|s| s.kind == Kind::Engine && s.compared);
                let begun = Instant::now();
                for engine in engines {
                    others.push(self.mapping_of(engine, Vec::new())?);
                }
                // A comparison of plans calls the engines again.
                self.leave(begun.elapsed());
            }
        }
        Ok((known, others))
    }

    /// Returns the mapping of another strategy of this crate, or its error. Returns an empty list
    /// for a user's strategy.
    fn mapping_of(
        &self,
        strategy: &Strategy,
        initial_solutions: Vec<Vec<u32>>,
    ) -> Result<Vec<u32>, Error> {
        match &strategy.run {
            Run::Engine(run) => Ok(run(&mut self.context(initial_solutions))?.block),
            Run::User(_) => Ok(Vec::new()),
        }
    }

    fn leave(&mut self, after: Duration) {
        self.budget.time = self.budget.time.map(|t| t.saturating_sub(after));
        self.effort.stop_at = self
            .effort
            .stop_at
            .map(|t| t - after.min(t - self.budget.start));
    }

    /// Returns a mapping in place of one that breaks a rule or a bound: the one that was packed
    /// before, if there is one. Otherwise it is packed by size, then found by branch and bound,
    /// then packed within raised bounds.
    ///
    /// # Errors
    /// Returns [`Error::Infeasible`] if none of these finds a mapping. Bounds are not raised if the
    /// balance is strict, or if it is proved that this cannot help.
    fn pack(&mut self) -> Result<Vec<u32>, Error> {
        self.log.push(BY_SIZE.to_owned());
        let block = match self.packed.take() {
            Some(packed) => packed,
            None => {
                let effort = self.packing(PACKING);
                let packed = pack::pack_tightly(&self.inst, &mut self.random, effort);
                if packed.feasible() {
                    packed.block
                } else if let Some(settled) = self.settle()? {
                    settled
                } else {
                    self.raise(1.0)?
                }
            }
        };
        Ok(self.touched_up(block))
    }

    /// Computes a lower bound by the structure of the network, and uses a better mapping if this
    /// finds one. Then it improves the bottleneck, if that is the objective. If the search was
    /// interrupted, adds a warning and ends further proofs at once.
    pub(super) fn prove(&mut self, found: &mut Found) {
        let inst = &self.inst;
        if self.budget.ended() {
            let warning = "the search was interrupted; the best mapping found so far is used";
            self.warnings.push(warning.to_owned());
            (self.effort.work, self.effort.stop_at) = (0, Some(Instant::now()));
        }
        let met = |bound: i64| bound >= inst.cost(&found.block);
        let open = self.bounding && !found.examined && !found.bound.is_some_and(met);
        if open && is_feasible(inst, &found.block) {
            let known = &found.block;
            let effort = Effort {
                work: self.effort.work / STRUCTURE,
                ..self.effort
            };
            // Without a time limit, a few rounds are better than none.
            let fewest = if effort.stop_at.is_some() {
                FEWEST
            } else {
                FEW
            };
            if let Some(outcome) = structure::solve(inst, known, (effort, fewest), &mut self.log) {
                found.bound = Some(found.bound.unwrap_or(0).max(outcome.bound));
                if let Some((block, _)) = outcome.better {
                    found.block = block;
                }
            }
        }
        let searches = self.options.strategy.kind.is_bounded();
        if self.problem.objective == Objective::Bottleneck && searches {
            // The lower bound may have used all the time.
            let least = self.budget.time.map(|t| Instant::now() + t / REFINED);
            let until = self.effort.stop_at.max(least);
            bottleneck::refine(inst, &mut found.block, (until, self.budget.watch));
        }
    }

    /// Converts a mapping to vertices of the graph, and evaluates it.
    ///
    /// # Errors
    ///
    /// Returns an unproved conflict if the mapping breaks a rule.
    pub(super) fn judged(&self, block: Vec<u32>) -> Result<(Vec<u32>, Evaluation), Error> {
        let block_of = match self.group.is_empty() {
            true => block,
            false => lowered(&self.group, &block),
        };
        let evaluation = evaluate(self.problem, &block_of)?;
        match evaluation.allowed() {
            true => Ok((block_of, evaluation)),
            false => {
                let reason = "the best mapping that was found breaks these rules";
                Err(Conflict::unproved(evaluation.broken, reason))
            }
        }
    }

    /// Creates the solution with all results.
    ///
    /// # Errors
    ///
    /// Returns an unproved conflict if the mapping breaks a rule.
    pub(super) fn conclude(self, mut found: Found) -> Result<Solution, Error> {
        // The mappings of simple rules and of other strategies are used unchanged.
        let strategy = &self.options.strategy;
        let plain = strategy.kind == Kind::Rule || matches!(strategy.run, Run::User(_));
        // If channels are counted, components that look equal may differ in traffic.
        let channels = self.problem.objective == Objective::RemoteChannels;
        if !plain && !channels {
            alike::gather(&self.inst, &mut found.block);
        }
        let (problem, inst) = (self.problem, &self.inst);
        let counted = (channels || cfg!(debug_assertions)).then(|| inst.cost(&found.block));
        let loads = inst.loads(&found.block);
        let (block_of, evaluation) = self.judged(found.block)?;
        // The evaluation contains the minimised quantity, except for the objective
        // `RemoteChannels`, in which the number of channels replaces the cost.
        let judged = evaluation.cost + evaluation.preference + evaluation.migration;
        let cost = match counted {
            Some(cost) if channels => cost,
            _ => (judged - self.base()) as i64,
        };
        debug_assert!(counted.is_none_or(|counted| counted == cost));
        let minimised = cost as u64 + self.base();
        let bound = match found.bound {
            Some(bound) if bound >= cost => bound,
            bound => bound.unwrap_or(0).max(lower_bound(inst, cost, self.effort)),
        };
        let first = || match problem.objective {
            Objective::Cost | Objective::RemoteChannels => true,
            Objective::LargestLoad => {
                let until = (self.effort.stop_at, self.budget.watch);
                let bounds = (!self.shaped).then_some(inst);
                proof::least_load(
                    (&self.wanted, bounds),
                    problem.machine,
                    &evaluation.loads,
                    until,
                )
            }
            Objective::Bottleneck => proof::least_bottleneck(inst, problem, evaluation.bottleneck),
        };
        // The search may have found a mapping within the requested bounds although they were
        // raised.
        let over = !evaluation.feasible();
        let mut loads = loads.into_iter().enumerate();
        let within = loads.all(|(b, load)| load <= inst.load_bound(b));
        let proved = within && cost <= bound && first();
        let bound = match problem.objective {
            Objective::LargestLoad if !proved => {
                proof::least_cost(inst, problem, &evaluation.loads, cost, self.effort)
            }
            _ => bound,
        };
        let lower_bound = bound.max(0) as u64 + self.base();
        let gap = minimised.saturating_sub(lower_bound) as f64 / minimised.max(1) as f64;
        Ok(Solution {
            limits: limits::of(&self.inst, &self.wanted, &self.group, problem.graph),
            block_of,
            evaluation,
            lower_bound,
            minimised,
            narrows: self.bounding && gap > 0.0,
            gap,
            proved,
            raised: self.raised.filter(|_| over),
            unavoidable: self.unavoidable && over,
            warnings: self.warnings,
            log: self.log,
        })
    }
}
