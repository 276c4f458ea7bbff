//! The way in: a problem and options, out comes a mapping that the judge has seen.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::bound::{Effort, lower_bound};
use crate::constraints::Draft;
use crate::diagnose;
use crate::error::{Conflict, Error, Part};
use crate::evaluate::{Evaluation, evaluate};
use crate::exact::branch::{self, Limit};
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
use crate::watch::Watch;

/// How to solve.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of a strategy, see [`crate::strategies`].
    pub strategy: String,
    /// Time to search. With a time, what is found depends on the speed of the machine and on what
    /// else runs there; the proofs and the checks do not. `None` counts steps instead: then the
    /// result depends on the input and the seed alone.
    pub time: Option<Duration>,
    /// Steps to search when no time is given: proposed moves, some tens of nanoseconds each.
    pub steps: u64,
    /// Seed of all random choices.
    pub seed: u64,
    /// When no mapping within the balance bound is found: true fails, false raises the bound to
    /// the least one found and says so.
    pub strict_balance: bool,
    /// An external solver for the strategy `ilp`: an executable that takes an LP file.
    pub solver: Option<PathBuf>,
    /// Somebody who waits, and may end the search of `auto` and `fast`.
    pub watch: Option<&'static Watch>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            strategy: "auto".to_owned(),
            time: None,
            steps: 4_000_000,
            seed: 0,
            strict_balance: false,
            solver: None,
            watch: None,
        }
    }
}

/// A mapping and what is known about it.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Block of each vertex.
    pub block_of: Vec<u32>,
    /// What the judge says.
    pub evaluation: Evaluation,
    /// No feasible mapping is cheaper than this, in what is minimised (cost, preferences and
    /// migration together).
    pub lower_bound: u64,
    /// What is minimised, for this mapping.
    pub minimised: u64,
    /// (minimised - bound) / minimised; 0 when nothing is left to gain.
    pub gap: f64,
    /// The mapping is proved to be optimal.
    pub proved: bool,
    /// When the balance bound had to be raised: the largest load relative to the wanted bound.
    pub raised: Option<f64>,
    /// It had to be: that nothing keeps the wanted balance bound is proved. False when nothing was
    /// found and the proof took too long, and when nothing was raised.
    pub unavoidable: bool,
    /// What a user should know: that the strategy did not do what its name says.
    pub remarks: Vec<String>,
    /// What was done, for the curious.
    pub log: Vec<String>,
}

/// Finds a mapping.
///
/// # Errors
///
/// [`Error::Input`] when the problem makes no sense, [`Error::Infeasible`] with the constraints in
/// conflict when no mapping keeps the hard rules, [`Error::UnknownStrategy`], [`Error::Solver`].
pub fn solve(problem: &Problem<'_>, options: &Options) -> Result<Solution, Error> {
    let start = Instant::now();
    problem.check()?;
    let strategy = by_name(&options.strategy)?;
    let (mut inst, group) = Instance::new(problem)
        .map_err(|met| Error::Infeasible(diagnose::contradiction(problem, met)))?;
    let (mut log, mut remarks) = (Vec::new(), Vec::new());
    let mut random = Random::new(options.seed);
    let searches = ["auto", "fast", "ilp"].contains(&strategy.name);
    // Part of the time is for the bound, where flows can be found in it.
    let bounding = searches && inst.len() <= BOUNDABLE;
    let effort = Effort {
        looks: match options.time {
            _ if !bounding => 0,
            Some(_) => u64::MAX,
            None => options.steps,
        },
        stop_at: options.time.map(|t| start + t),
    };
    let share = if bounding { 1.0 - BOUNDING } else { 1.0 };
    let budget = Budget {
        start,
        time: options.time.map(|t| t.mul_f64(share)),
        steps: options.steps,
        watch: options.watch,
    };
    // Only what is left of the distances inside blocks is constant and not part of the search.
    let base = match problem.objective {
        Objective::RemoteChannels => 0,
        _ => problem.graph.total_traffic() * u64::from(problem.machine.collocated()),
    };
    if let Some(watch) = options.watch {
        watch.set_base(base);
    }
    let (mut raised, mut unavoidable, mut least) = (None, false, 1.0);
    if problem.objective == Objective::LargestLoad {
        let bounds: f64 = (0..inst.k()).map(|b| inst.load_bound(b) as f64).sum();
        let low = problem.graph.total_load() as f64 / bounds.max(1.0);
        if let Some(bounds) = pack::least_bounds(&inst, low, &mut random, packing(&inst) / 4) {
            inst = inst.with_load_bounds(&bounds);
        }
    }
    let all: Vec<usize> = (0..problem.constraints.len()).collect();
    let overload = pigeonhole::overload(&Draft::new(problem, &all), problem);
    if let Some((clash, factor)) = overload {
        if options.strict_balance {
            return Err(Error::Infeasible(explain(problem, clash)));
        }
        if problem.objective != Objective::LargestLoad {
            unavoidable = true;
            least = factor;
        }
    } else if too_heavy(&inst).is_some() {
        unavoidable = true;
    }
    if unavoidable {
        if !(problem.constraints.is_empty() && inst.dims() == 1 || options.strict_balance) {
            settle(&inst, problem, options, &budget)?;
        }
        let factor = raise(problem, &mut inst, options, least, &mut random, &mut log)?;
        raised = Some(factor);
    }
    let mut run = |inst: &Instance, random: &Random, log: &mut Vec<String>| {
        let mut context = Context {
            inst,
            budget,
            random: random.clone(),
            start: old_mapping(problem, inst, &group),
            solver: options.solver.as_deref(),
            log: Vec::new(),
            remarks: Vec::new(),
        };
        let found = match options.time {
            Some(time) if bounding && strategy.name == "auto" && structure::is_near(inst) => {
                in_turns(strategy, &mut context, time)?
            }
            _ => strategy.run(&mut context)?,
        };
        log.append(&mut context.log);
        remarks = context.remarks;
        Ok::<_, Error>(found)
    };
    let mut found = run(&inst, &random, &mut log)?;
    let expand = |block: &[u32]| -> Vec<u32> { group.iter().map(|&g| block[g as usize]).collect() };
    let sound = |inst: &Instance, judged: &Evaluation| {
        judged.allowed() && (!searches || within(inst, judged))
    };
    let mut evaluation = evaluate(problem, &expand(&found.block))?;
    if !sound(&inst, &evaluation) {
        log.push("nothing feasible found: packing by size".to_owned());
        let packed = pack::pack(&inst, &mut random, packing(&inst));
        let settled = |unavoidable: &mut bool| {
            let (block, complete) = settle(&inst, problem, options, &budget)?;
            *unavoidable |= complete && block.is_none();
            Ok::<_, Error>(block)
        };
        if packed.feasible() {
            found = auto::touch_up(&inst, packed.block, &mut random).into();
        } else if let Some(block) = settled(&mut unavoidable)? {
            found = auto::touch_up(&inst, block, &mut random).into();
        } else {
            let more = raise(problem, &mut inst, options, 1.0, &mut random, &mut log)?;
            raised = Some(raised.unwrap_or(1.0) * more);
            found = run(&inst, &random, &mut log)?;
            if !sound(&inst, &evaluate(problem, &expand(&found.block))?) {
                found = pack::pack(&inst, &mut random, packing(&inst)).block.into();
            }
        }
        evaluation = evaluate(problem, &expand(&found.block))?;
    }
    let cost = inst.cost(&found.block);
    let mut effort = effort;
    if budget.ended() {
        remarks.push("the search was ended: the best mapping found so far is used".to_owned());
        (effort.looks, effort.stop_at) = (0, Some(Instant::now()));
    }
    let open = bounding && found.bound.is_none_or(|b| b < cost) && keeps(&inst, &found.block);
    let tried = options.time.is_some() && strategy.name == "auto" && structure::is_near(&inst);
    let narrow = (open && !tried).then(|| structure::solve(&inst, &found.block, effort, &mut log));
    if let Some(outcome) = narrow.flatten() {
        found.bound = Some(found.bound.unwrap_or(0).max(outcome.bound));
        if let Some((block, _)) = outcome.better {
            log.push("improved by the programme over the front".to_owned());
            found.block = block;
            evaluation = evaluate(problem, &expand(&found.block))?;
        }
        if outcome.complete {
            log.push("proved by the programme over the front".to_owned());
        }
    }
    if problem.objective == Objective::Bottleneck && searches {
        bottleneck::refine(&inst, &mut found.block);
        evaluation = evaluate(problem, &expand(&found.block))?;
    }
    let block_of = expand(&found.block);
    if !evaluation.allowed() {
        return Err(Error::Infeasible(Conflict {
            parts: evaluation.broken.clone(),
            proved: false,
            minimal: false,
            reason: "these rules are broken by the best mapping found".to_owned(),
        }));
    }
    let cost = inst.cost(&found.block);
    let minimised = cost as u64 + base;
    debug_assert!(
        problem.objective == Objective::RemoteChannels
            || minimised == evaluation.cost + evaluation.preference + evaluation.migration
    );
    let feasible = within(&inst, &evaluation);
    let bound = match found.bound {
        Some(bound) if bound >= cost => bound,
        bound => bound.unwrap_or(0).max(lower_bound(&inst, cost, effort)),
    };
    let lower_bound = bound.max(0) as u64 + base;
    let gap = minimised.saturating_sub(lower_bound) as f64 / minimised.max(1) as f64;
    let first = || match problem.objective {
        Objective::Cost | Objective::RemoteChannels => true,
        Objective::LargestLoad => proof::least_load(&inst, problem.machine, &evaluation.loads),
        Objective::Bottleneck => proof::least_bottleneck(&inst, problem, evaluation.bottleneck),
    };
    let proved = feasible && minimised <= lower_bound && first();
    Ok(Solution {
        block_of,
        evaluation,
        lower_bound,
        minimised,
        gap,
        proved,
        raised,
        unavoidable,
        remarks,
        log,
    })
}

/// Where a proof is near: a short search, the proof, and where it fails the rest of the search.
fn in_turns(
    strategy: &Strategy,
    context: &mut Context<'_>,
    time: Duration,
) -> Result<Found, Error> {
    let (inst, budget) = (context.inst, context.budget);
    let opening = time.mul_f64(FIRST).min(LONGEST);
    context.budget.time = Some(opening);
    let mut first = strategy.run(context)?;
    let cost = inst.cost(&first.block);
    if first.bound.is_some_and(|b| b >= cost) || !keeps(inst, &first.block) {
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
    context.start = Some(first.block.clone());
    let mut last = strategy.run(context)?;
    if !keeps(inst, &last.block) || inst.cost(&last.block) > inst.cost(&first.block) {
        last.block = first.block;
    }
    last.bound = last.bound.max(first.bound);
    Ok(last)
}

/// Share of a time limit for the first search where a proof is near, and for the proof.
const FIRST: f64 = 0.15;
const PROVING: f64 = 0.35;
/// The first search takes no longer.
const LONGEST: Duration = Duration::from_millis(500);
/// Up to so many vertices flows are looked for to bound the cost.
const BOUNDABLE: usize = 20_000;
/// Up to so many vertices branch and bound is asked whether there is a mapping.
const SETTLED: usize = 20_000;
/// Share of a time limit that they get.
const BOUNDING: f64 = 0.1;

/// Steps spent on packing before the balance bound is raised.
fn packing(inst: &Instance) -> u64 {
    (inst.len() as u64 * 1000).clamp(10_000, 2_000_000)
}

/// Whether the loads are within the bounds of the instance (which may have been raised).
fn within(inst: &Instance, judged: &Evaluation) -> bool {
    judged
        .loads
        .iter()
        .enumerate()
        .all(|(b, &load)| load as i64 <= inst.load_bound(b))
}

/// When neither search nor packing found a feasible mapping: looks for one by branch and bound.
/// `None` when there is none within the balance bound (or none was found in time), and whether the
/// search was complete; an error when there is proved to be none and raising the bound cannot help
/// or is not wanted.
fn settle(
    inst: &Instance,
    problem: &Problem<'_>,
    options: &Options,
    budget: &Budget,
) -> Result<(Option<Vec<u32>>, bool), Error> {
    // The order of its vertices alone takes time in their square.
    if inst.len() > SETTLED {
        return Ok((None, false));
    }
    let late = Instant::now() + Duration::from_secs(1);
    let stop_at = budget.stop_at().map(|t| t.max(late));
    let limit = Limit {
        nodes: (options.steps / 2).max(100_000),
        stop_at,
        watch: options.watch,
    };
    let outcome = branch::feasible(inst, limit);
    if let Some((block, _)) = outcome.better {
        return Ok((Some(block), outcome.complete));
    }
    let complete = outcome.complete;
    let strict = options.strict_balance && outcome.complete;
    if !problem.constraints.is_empty() || inst.dims() > 1 {
        let total: i64 = (0..inst.len() as u32).map(|v| inst.load(v)).sum();
        let free = inst.with_load_bounds(&vec![total.max(1); inst.k()]);
        let outcome = branch::feasible(&free, limit);
        if outcome.complete && outcome.better.is_none() {
            return Err(Error::Infeasible(diagnose::smallest(problem, limit)));
        }
    }
    if strict {
        let conflict = diagnose::smallest_balanced(problem, limit);
        return Err(Error::Infeasible(conflict));
    }
    Ok((None, complete))
}

/// A vertex heavier than the bound of every block.
fn too_heavy(inst: &Instance) -> Option<u32> {
    let most = (0..inst.k()).map(|b| inst.load_bound(b)).max().unwrap_or(0);
    (0..inst.len() as u32).find(|&v| inst.load(v) > most)
}

/// Raises the load bounds to the least found, no less than by a factor; returns by what factor.
fn raise(
    problem: &Problem<'_>,
    inst: &mut Instance,
    options: &Options,
    least: f64,
    random: &mut Random,
    log: &mut Vec<String>,
) -> Result<f64, Error> {
    if options.strict_balance {
        let heavy = too_heavy(inst);
        return Err(Error::Infeasible(Conflict {
            parts: heavy.map(Part::Vertex).into_iter().collect(),
            proved: heavy.is_some(),
            minimal: heavy.is_some(),
            reason: match heavy {
                Some(_) => "a vertex alone is heavier than the balance bound of every block",
                None => "no mapping within the balance bound was found",
            }
            .to_owned(),
        }));
    }
    let steps = (inst.len() as u64 * 200).clamp(4_000, 1_000_000);
    let Some(bounds) = pack::least_bounds(inst, least, random, steps) else {
        return Err(Error::Infeasible(Conflict {
            parts: (0..problem.constraints.len())
                .map(Part::Constraint)
                .collect(),
            proved: false,
            minimal: false,
            reason: "no mapping keeps memory, slots and constraints, even without a balance bound"
                .to_owned(),
        }));
    };
    let factor = (0..inst.k())
        .map(|b| bounds[b] as f64 / inst.load_bound(b).max(1) as f64)
        .fold(1.0, f64::max);
    log.push(format!(
        "balance bound raised by a factor of {factor:.3}: nothing fits within it"
    ));
    *inst = inst.with_load_bounds(&bounds);
    Ok(factor)
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
