//! A plan for a graph that has no names: vertices and edges with weights, as partitioners read them.

use crate::codes;
use crate::failure::{count, of_engine};
use crate::raised::raised;
use crate::spots::Spots;
use crate::translate::{distance_factor, machine, shares};
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::{Binding, OsProcessId};
use graphmap_partition::{
    Error, Evaluation, Graph, Kind, Machine, Objective, Options, Problem, Solution, Strategy,
    evaluate_strategy, metis_takes, solve, strategies,
};
use graphmap_platform::Platform;

/// Onto what, and how, a graph is mapped.
#[derive(Clone, Debug)]
pub struct BareRequest<'a> {
    /// The hosts; none for blocks that are all at distance 1 of each other, so that what is minimised
    /// is the cut.
    pub platform: Option<&'a Platform>,
    /// How many blocks there are; else one for each slot of the hosts.
    pub blocks: Option<usize>,
    /// How to search.
    pub options: Options,
    /// What is to be small.
    pub objective: Objective,
    /// By how much a block may exceed its share of the load: 0.03 is 3%.
    pub imbalance: f64,
}

/// A partition and what is known about it. Weights are those of the graph; costs are these times the
/// platform's distances.
#[derive(Clone, Debug)]
pub struct BarePlan {
    /// The block of each vertex.
    pub block_of: Vec<u32>,
    /// Where each block is; without a host where the request names none.
    pub bindings: Vec<Binding>,
    /// How it is done by the strategy asked for.
    pub own: Judged,
    /// How it would be done by plain rules and by METIS.
    pub others: Vec<Judged>,
    /// Load of each block.
    pub loads: Vec<u64>,
    /// That load relative to the block's share, which follows from its speed.
    pub shares: Vec<f64>,
    /// How many vertices each has.
    pub vertices: Vec<u64>,
    /// What is minimised.
    pub objective: Objective,
    /// No partition within the bounds has less of it; where that is a cost, in the platform's distances.
    pub lower_bound: f64,
    /// (what it is - bound) / what it is.
    pub gap: f64,
    /// Proved to be the best.
    pub proved: bool,
    /// By what factor the balance bound was raised, where it had to be.
    pub raised: Option<f64>,
    /// More time may narrow the gap.
    pub narrows: bool,
}

/// A partition in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The strategy it is of.
    pub strategy: String,
    /// Weight times distance, summed over edges; without hosts the weight of the edges between blocks.
    pub cost: f64,
    /// How many edges these are.
    pub edges_cut: u64,
    /// Largest load of a block relative to its share.
    pub balance: f64,
    /// Largest weight of edges that leave one host.
    pub bottleneck: u64,
    /// Whether it keeps the balance limit, as far as that was raised.
    pub feasible: bool,
}

/// One of so many parts of a time limit is for each of these.
const PART: u32 = 50;

/// Networks beyond this many vertices and ends of edges are not given to METIS in passing; nor are those
/// for which it would take more than such a part of a time limit.
const LARGE: usize = 1_000_000;
const PASSING: u32 = 20;

/// Maps a graph.
///
/// # Errors
/// All findings if one is an error; [`codes::INFEASIBLE`] when no partition keeps the balance limit and
/// the request is strict. Findings have no places: a graph knows none.
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
    let onto = Onto::of(request.platform, k).map_err(|e| failure(&e))?;
    let problem = Problem {
        objective: request.objective,
        imbalance: request.imbalance,
        ..Problem::new(graph, &onto.machine)
    };
    let unit = match request.objective {
        Objective::RemoteChannels => 1.0,
        _ => onto.distance,
    };
    if let Some(watch) = &request.options.watch {
        watch.set_unit(unit);
    }
    let solution = solve(&problem, &request.options).map_err(|e| failure(&e))?;
    if solution.raised.is_some() {
        let finding = raised(&solution, request.imbalance, ("partition", "block"));
        found.push(match solution.limits.loads.is_empty() {
            true => finding
                .with_note("a vertex cannot be split")
                .help("use fewer blocks, or a larger `--imbalance`"),
            false => finding
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
        .map(|&b| onto.os_process_of[b as usize].index() as u32)
        .collect();
    for (v, &b) in block_of.iter().enumerate() {
        vertices[b as usize] += 1;
        loads[b as usize] += graph.load(v as u32);
    }
    let weights: Vec<f64> = loads.iter().map(|&l| l as f64).collect();
    let plan = BarePlan {
        shares: shares(
            &onto.machine,
            &onto.os_process_of,
            graph.total_load() as f64,
            &weights,
        ),
        own: judged(
            &request.options.strategy.name,
            &solution.evaluation,
            solution.admits(graph, &solution.block_of, &solution.evaluation),
            onto.distance,
        ),
        others: others(&problem, request, &solution, onto.distance),
        bindings: onto.bindings,
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

/// What a graph is mapped onto.
struct Onto {
    machine: Machine,
    /// The number of each block of the machine for users: that of an OS process on hosts.
    os_process_of: Vec<OsProcessId>,
    bindings: Vec<Binding>,
    /// Engine's units of distance in one of the platform's.
    distance: f64,
}

impl Onto {
    fn of(platform: Option<&Platform>, k: usize) -> Result<Onto, Error> {
        let Some(platform) = platform else {
            return Ok(Onto {
                machine: Machine::regular(&[(k, 1)])?,
                os_process_of: (0..k).map(OsProcessId::from_index).collect(),
                bindings: vec![Binding::default(); k],
                distance: 1.0,
            });
        };
        let distance = distance_factor(platform);
        let spots = Spots::of(platform, k, true, k);
        Ok(Onto {
            machine: machine(&spots, &vec![None; k], distance)?,
            bindings: spots.bindings(),
            os_process_of: spots.os_process_of,
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
    let brief = request.options.time.is_none_or(|t| metis < t / PASSING);
    let passing = |s: &&Strategy| s.kind == Kind::Rule || (size <= LARGE && brief);
    let own = &request.options.strategy.name;
    let compared = strategies().filter(|s| s.compared && s.name != *own);
    let mut compared: Vec<&Strategy> = compared.filter(passing).collect();
    // What people use first, then what is done without thought.
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
