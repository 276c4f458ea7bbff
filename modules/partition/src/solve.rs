//! The way in: a problem and options, out comes a mapping that the judge has seen.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::error::{Conflict, Error, Part};
use crate::evaluate::{Evaluation, evaluate};
use crate::instance::Instance;
use crate::pack;
use crate::problem::Problem;
use crate::random::Random;
use crate::strategy::{Budget, Context, by_name};

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
    let (mut inst, group) = Instance::new(problem)?;
    let mut log = Vec::new();
    let mut random = Random::new(options.seed);
    let budget = Budget {
        start,
        time: options.time,
        steps: options.steps,
    };
    let mut raised = None;
    if too_heavy(&inst).is_some() {
        raised = Some(raise(problem, &mut inst, options, &mut random, &mut log)?);
    }
    let run = |inst: &Instance, random: &Random, log: &mut Vec<String>| {
        let mut context = Context {
            inst,
            budget,
            random: random.clone(),
            start: old_mapping(problem, inst, &group),
            solver: options.solver.as_deref(),
            log: Vec::new(),
        };
        let found = strategy.run(&mut context)?;
        log.append(&mut context.log);
        Ok::<_, Error>(found)
    };
    let mut found = run(&inst, &random, &mut log)?;
    let expand = |block: &[u32]| -> Vec<u32> { group.iter().map(|&g| block[g as usize]).collect() };
    let mut block_of = expand(&found.block);
    let mut evaluation = evaluate(problem, &block_of)?;
    let judged = |e: &Evaluation, raised: bool| e.allowed() && (raised || e.over.is_empty());
    let searches = matches!(strategy.name, "auto" | "fast" | "ilp");
    if !judged(&evaluation, raised.is_some() || !searches) {
        log.push("nothing feasible found: packing alone".to_owned());
        let packed = pack::pack(&inst, &mut random, 2_000_000);
        if !packed.feasible() {
            raised = Some(raise(problem, &mut inst, options, &mut random, &mut log)?);
            found = run(&inst, &random, &mut log)?;
        }
        if packed.feasible() || !evaluate(problem, &expand(&found.block))?.allowed() {
            let from = if packed.feasible() {
                packed
            } else {
                pack::pack(&inst, &mut random, 2_000_000)
            };
            found = from.block.into();
        }
        block_of = expand(&found.block);
        evaluation = evaluate(problem, &block_of)?;
    }
    if !evaluation.allowed() {
        return Err(Error::Infeasible(Conflict {
            parts: evaluation.broken.clone(),
            proved: false,
            reason: "these rules are broken by the best mapping found".to_owned(),
        }));
    }
    let minimised = evaluation.cost + evaluation.preference + evaluation.migration;
    let lower_bound = 0;
    Ok(Solution {
        gap: if minimised == 0 {
            0.0
        } else {
            (minimised - lower_bound) as f64 / minimised as f64
        },
        proved: minimised == lower_bound,
        block_of,
        evaluation,
        lower_bound,
        minimised,
        raised,
        log,
    })
}

/// A vertex heavier than the bound of every block.
fn too_heavy(inst: &Instance) -> Option<u32> {
    let most = (0..inst.k()).map(|b| inst.load_bound(b)).max().unwrap_or(0);
    (0..inst.len() as u32).find(|&v| inst.load(v) > most)
}

/// Raises the load bounds to the least found; returns by what factor.
fn raise(
    problem: &Problem<'_>,
    inst: &mut Instance,
    options: &Options,
    random: &mut Random,
    log: &mut Vec<String>,
) -> Result<f64, Error> {
    if options.strict_balance {
        let heavy = too_heavy(inst);
        return Err(Error::Infeasible(Conflict {
            parts: heavy.map(Part::Vertex).into_iter().collect(),
            proved: heavy.is_some(),
            reason: match heavy {
                Some(_) => "a vertex alone is heavier than the balance bound of every block",
                None => "no mapping within the balance bound was found",
            }
            .to_owned(),
        }));
    }
    let steps = (inst.len() as u64 * 200).clamp(20_000, 1_000_000);
    let Some(bounds) = pack::least_bounds(inst, random, steps) else {
        return Err(Error::Infeasible(Conflict {
            parts: (0..problem.constraints.len())
                .map(Part::Constraint)
                .collect(),
            proved: false,
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
