//! A plan for a graph without names: weighted vertices and edges, as partitioners read them.

use crate::codes;
use crate::failure::{count, of_engine};
use crate::placement::Placement;
use crate::raised::raised;
use crate::translate::{distance_factor, machine, shares};
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::{Binding, OsProcessId};
use graphmap_partition::{
    Error, Evaluation, Graph, Kind, Machine, Objective, Options, Problem, Solution, Strategy,
    evaluate_strategy, metis_takes, solve, strategies,
};
use graphmap_platform::Platform;

/// The platform onto which a graph is mapped, and the options.
#[derive(Clone, Debug)]
pub struct BareRequest<'a> {
    /// Hosts. If it is `None`, all blocks are at distance 1 of each other, so that the cost is the
    /// cut.
    pub platform: Option<&'a Platform>,
    /// Number of blocks. The default is the number of slots, or 1 without hosts. There are never
    /// more blocks than vertices.
    pub blocks: Option<usize>,
    /// Options of the search.
    pub options: Options,
    /// Quantity to minimize.
    pub objective: Objective,
    /// Fraction by which a block may exceed its share of the load, from 0 to 1000: 0.03 is 3%.
    pub imbalance: f64,
}

/// A partition and its properties. Weights come from the graph. Costs are weights times the
/// distances of the platform.
#[derive(Clone, Debug)]
pub struct BarePlan {
    /// Block of each vertex.
    pub block_of: Vec<u32>,
    /// Host and cores of each block. Without a platform, each entry has no host and no cores.
    pub bindings: Vec<Binding>,
    /// Result of the requested strategy.
    pub own: Judged,
    /// Results of rules and of METIS, for comparison. A strategy is omitted if it fails. METIS is
    /// omitted for large graphs and short time limits.
    pub others: Vec<Judged>,
    /// Load of each block.
    pub loads: Vec<u64>,
    /// Load of each block relative to its share, which depends on its speed.
    pub shares: Vec<f64>,
    /// Number of vertices in each block.
    pub vertices: Vec<u64>,
    /// Quantity that was minimized.
    pub objective: Objective,
    /// Lower bound of the minimized quantity, for partitions within the limits. A cost is in the
    /// distances of the platform.
    pub lower_bound: f64,
    /// Gap to the lower bound: (value - bound) / value, at most 1. 0 if the value is 0.
    pub gap: f64,
    /// True if the partition is proved to be optimal.
    pub proved: bool,
    /// Largest factor by which a block may exceed the requested balance limit, if the limit had to
    /// be raised.
    pub raised: Option<f64>,
    /// True if more time may narrow the gap.
    pub narrows: bool,
}

/// Properties of a partition.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Name of the strategy that computed it.
    pub strategy: String,
    /// Sum over edges of weight times distance. Without hosts, the weight of the edges between
    /// blocks.
    pub cost: f64,
    /// Number of edges between different blocks.
    pub edges_cut: u64,
    /// Largest load of a block relative to its share.
    pub balance: f64,
    /// Largest weight of edges that leave one host.
    pub bottleneck: u64,
    /// True if it keeps the balance limit, as raised for the plan.
    pub feasible: bool,
}

/// Each strategy for comparison gets 1/`PART` of the time limit.
const PART: u32 = 50;

/// METIS is not run for comparison on graphs with more vertices and ends of edges than this, or if
/// it would take more than 1/`METIS_DIVISOR` of the time limit.
const LARGE: usize = 1_000_000;
const METIS_DIVISOR: u32 = 20;

/// Maps a graph onto blocks, and also returns warnings. Without hosts, all blocks are equal.
///
/// Blocks until the search and the strategies for comparison have ended. If the options have a
/// watch, sets its unit. Diagnostics have no positions, because the graph has no source text. There
/// are warnings about the number of blocks, a raised balance limit, and a search that was not
/// completed.
///
/// # Errors
/// [`codes::INFEASIBLE`] if no partition within the balance limit was found and the request is
/// strict, or if the caller's own strategy reports a conflict. [`codes::SOLVER`] if a solver or the
/// caller's own strategy fails. [`codes::WEIGHTS`] if the engine refuses its input, such as an
/// invalid imbalance, or weights or distances that are too large.
///
/// # Panics
/// Panics if the caller's own strategy panics.
pub fn plan_bare(
    graph: &Graph,
    request: &BareRequest<'_>,
) -> Result<(BarePlan, Diagnostics), Diagnostics> {
    let (k, mut found) = count(
        request.blocks,
        request.platform.map(Platform::slot_count),
        graph.vertices().max(1),
        ("blocks", "vertices"),
        "a block without a vertex has no use",
    );
    let target = Target::of(request.platform, k).map_err(|e| failure(&e))?;
    let problem = Problem {
        objective: request.objective,
        imbalance: request.imbalance,
        ..Problem::new(graph, &target.machine)
    };
    let unit = match request.objective {
        Objective::RemoteChannels => 1.0,
        _ => target.distance,
    };
    if let Some(watch) = &request.options.watch {
        watch.set_unit(unit);
    }
    let solution = solve(&problem, &request.options).map_err(|e| failure(&e))?;
    if solution.raised.is_some() {
        let diagnostic = raised(&solution, request.imbalance, ("partition", "block"));
        found.push(match solution.limits.loads.is_empty() {
            true => diagnostic
                .with_note("a vertex cannot be split")
                .help("use fewer blocks, or a larger `--imbalance`"),
            false => diagnostic
                .with_note(
                    "a vertex is heavier than an even share and cannot be split; the other blocks share the remaining load",
                )
                .help("use fewer blocks"),
        });
    }
    let unfinished = solution.warnings.iter();
    found.extend(unfinished.map(|r| Diagnostic::warning(codes::UNFINISHED, r.clone())));
    let mut vertices = vec![0; k];
    let mut loads = vec![0; k];
    let block_of: Vec<u32> = solution
        .block_of
        .iter()
        .map(|&b| target.os_process_of[b as usize].index() as u32)
        .collect();
    for (v, &b) in block_of.iter().enumerate() {
        vertices[b as usize] += 1;
        loads[b as usize] += graph.load(v as u32);
    }
    let weights: Vec<f64> = loads.iter().map(|&l| l as f64).collect();
    let plan = BarePlan {
        shares: shares(
            &target.machine,
            &target.os_process_of,
            graph.total_load() as f64,
            &weights,
        ),
        own: judged(
            &request.options.strategy.name,
            &solution.evaluation,
            solution.admits(graph, &solution.block_of, &solution.evaluation),
            target.distance,
        ),
        others: others(&problem, request, &solution, target.distance),
        bindings: target.bindings,
        block_of,
        loads,
        vertices,
        objective: request.objective,
        lower_bound: solution.lower_bound as f64 / unit,
        gap: solution.gap.min(1.0),
        proved: solution.proved,
        raised: solution.raised,
        narrows: solution.narrows,
    };
    Ok((plan, found))
}

/// Blocks onto which a graph is mapped.
struct Target {
    machine: Machine,
    /// Number of each block of the machine, as users see it. With hosts, it is the number of the OS
    /// process.
    os_process_of: Vec<OsProcessId>,
    bindings: Vec<Binding>,
    /// Units of the engine's distances per unit of the platform's.
    distance: f64,
}

impl Target {
    fn of(platform: Option<&Platform>, k: usize) -> Result<Target, Error> {
        let Some(platform) = platform else {
            return Ok(Target {
                machine: Machine::regular(&[(k, 1)])?,
                os_process_of: (0..k).map(OsProcessId::from_index).collect(),
                bindings: vec![Binding::default(); k],
                distance: 1.0,
            });
        };
        let distance = distance_factor(platform);
        let placement = Placement::of(platform, platform.slots_for(k), true, k);
        Ok(Target {
            machine: machine(&placement, &vec![None; k], distance)?,
            bindings: placement.bindings(),
            os_process_of: placement.os_process_of,
            distance,
        })
    }
}

fn judged(strategy: &str, found: &Evaluation, feasible: bool, distance: f64) -> Judged {
    Judged {
        strategy: strategy.to_owned(),
        cost: found.cost as f64 / distance,
        edges_cut: found.remote_channels,
        balance: found.balance,
        bottleneck: found.bottleneck,
        feasible,
    }
}

fn others(
    problem: &Problem<'_>,
    request: &BareRequest<'_>,
    solution: &Solution,
    distance: f64,
) -> Vec<Judged> {
    let (vertices, ends) = (problem.graph.vertices(), 2 * problem.graph.edges());
    let size = vertices + ends;
    let metis = metis_takes(vertices, ends, problem.machine.blocks().len());
    let brief = request
        .options
        .time
        .is_none_or(|t| metis < t / METIS_DIVISOR);
    let passing = |s: &&Strategy| s.kind == Kind::Rule || (size <= LARGE && brief);
    let own = &request.options.strategy.name;
    let compared = strategies().filter(|s| s.compared && s.name != *own);
    let mut compared: Vec<&Strategy> = compared.filter(passing).collect();
    // The strategies that people use come first, then simple rules.
    compared.sort_by_key(|s| s.kind == Kind::Rule);
    let others = compared.into_iter().filter_map(|strategy| {
        let options = Options {
            strategy: strategy.clone(),
            time: request.options.time.map(|t| t / PART),
            ..request.options.clone()
        };
        let (block_of, found) = evaluate_strategy(problem, &options).ok()?;
        let feasible = solution.admits(problem.graph, &block_of, &found);
        Some(judged(&strategy.name, &found, feasible, distance))
    });
    others.collect()
}

fn failure(error: &Error) -> Diagnostic {
    let Error::Infeasible(conflict) = error else {
        let help =
            "divide the weights of the edges, or the distances of the platform, by the same number";
        return of_engine(error, "partition", help);
    };
    let how = match conflict.proved {
        true => "no partition keeps the balance limit",
        false => "no partition within the balance limit was found",
    };
    Diagnostic::error(codes::INFEASIBLE, how).help(
        "use a larger `--imbalance`, use fewer blocks, or omit `--strict-balance` to get the most \
         even partition",
    )
}
