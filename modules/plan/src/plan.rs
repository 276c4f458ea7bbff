//! Maps a verified network onto a platform, and collects the facts that a user needs about the
//! mapping.

use crate::boxes;
use crate::codes;
use crate::even::{is_even, strategy as even_strategy};
use crate::failure::{Origin, Reporter, count, of_mapping};
use crate::placement::Placement;
use crate::previous::Since;
use crate::programs;
use crate::proposal::{Proposed, ask};
use crate::raised::raised;
use crate::request::{Modules, Request};
use crate::rules::{Rules, extra_weights};
use crate::translate::{Numbers, Rounded, Weights, machine, shares as relative};
use graphmap_kpn::arena::{Arena, Id};
use graphmap_kpn::containers::Boxes;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics, Severity};
use graphmap_kpn::mapper::Mapper;
use graphmap_kpn::mapping::{Binding, Mapped, Mapping, OsProcessId};
use graphmap_kpn::network::{Network, Verified};
use graphmap_kpn::programs::of_os_processes;
use graphmap_kpn::source::Span;
use graphmap_partition::{
    Constraint, Evaluation, Kind, Migration, Objective, Options, Part, Problem, SearchLimits,
    Solution, Strategy, evaluate, evaluate_strategy, is_packable, solve, strategies,
};
use graphmap_platform::{Class, Platform, Slot};
use std::borrow::Cow;

/// Largest imbalance that the engine accepts. It does not limit loads.
pub const MOST_IMBALANCE: f64 = 1000.0;
/// Strategy of a mapping that was known before.
const OF_FILE: &str = "file";
/// Divisor of the time limit. The quotient is the limit of each strategy that a plan is compared
/// with.
const COMPARISON_DIVISOR: u32 = 50;

/// A mapping and facts about it. Costs and traffic are in the units of the graph and of the
/// platform's distances.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The network with its mapping.
    pub mapped: Mapped,
    /// Sum over channels of traffic times distance.
    pub cost: f64,
    /// The sum that the search minimized besides the first objective: `cost`, plus the cost of
    /// preferences that do not hold and of moves. For [`Objective::RemoteChannels`] it begins with
    /// `remote_channels` instead of `cost`.
    pub minimized: f64,
    /// True if the request has preferences or a price of moves. Only then `minimized` can be larger
    /// than `cost`.
    pub preferences: bool,
    /// Lower bound: no feasible mapping has a smaller `minimized`. For [`Objective::LargestLoad`],
    /// if the largest load is proved to be minimal, the bound holds for mappings with that load.
    pub lower_bound: f64,
    /// `(minimized - lower_bound) / minimized`, at most 1. 0 if `minimized` is 0 and exact.
    pub gap: f64,
    /// True if the mapping is proved to be optimal.
    pub proved: bool,
    /// True if the mapper of the request returned the mapping.
    pub proposed: bool,
    /// Name of the mapping, if it was known before. Its strategy is then `file`.
    pub given: Option<String>,
    /// True if the network has several programs, among which the OS processes were divided before
    /// the search. `lower_bound` and `gap` then hold for mappings with this division, and `proved`
    /// is false.
    pub divided: bool,
    /// True if the mapping keeps all constraints and the balance limit, raised if necessary.
    pub feasible: bool,
    /// True if no OS process is empty, or if a mapping was found that keeps all constraints and
    /// leaves none empty. The balance limit does not count for that mapping.
    pub fillable: bool,
    /// Largest load of an OS process relative to its even share.
    pub balance: f64,
    /// Load of each OS process.
    pub loads: Vec<f64>,
    /// Load of each OS process relative to its even share, which depends on its speed.
    pub shares: Vec<f64>,
    /// Largest load that each OS process may have: its even share, rounded up to whole loads, and
    /// the tolerance `imbalance`. It is larger if the balance limit was raised.
    pub allowed: Vec<f64>,
    /// Requested tolerance: the part of its even share by which an OS process may exceed it.
    pub imbalance: f64,
    /// Traffic by class of distance, closest first. Classes without traffic are omitted, except
    /// [`Class::Collocated`].
    pub traffic: Vec<(Class, f64)>,
    /// Traffic and cost by the same classes.
    pub levels: Vec<Level>,
    /// Traffic of the channels at each OS process, by the same classes. A channel between two OS
    /// processes counts for both.
    pub traffic_of: Vec<Vec<f64>>,
    /// Largest traffic that enters or leaves one host.
    pub bottleneck: f64,
    /// Number of channels between different OS processes.
    pub remote_channels: u64,
    /// Changes from the previous mapping, if the request has one.
    pub since: Option<Since>,
    /// True if more time may reduce the gap.
    pub narrows: bool,
    /// Quantity that the search minimizes.
    pub objective: Objective,
    /// Factor by which the balance limit was raised, if it was.
    pub raised: Option<f64>,
    /// True if it is proved that no mapping keeps the requested balance limit.
    pub unavoidable: bool,
    /// Errors of cost and load that result from the rounding of weights.
    pub rounded: Rounded,
    /// Results of the simple strategies and of the compared mappings of the request, for
    /// comparison. A strategy that fails is omitted.
    pub others: Vec<Other>,
    /// Names of the hosts that are used, in the order of their first OS processes.
    pub hosts: Vec<String>,
    /// Log of the engine.
    pub log: Vec<String>,
}

/// Result of another strategy, or of another mapping.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Other {
    /// Name of the strategy or of the mapping.
    pub strategy: Cow<'static, str>,
    /// True if the mapping was known before.
    pub given: bool,
    /// Traffic and cost by class of distance, closest first. Classes without traffic are omitted,
    /// except [`Class::Collocated`].
    pub levels: Vec<Level>,
    /// Sum over channels of traffic times distance.
    pub cost: f64,
    /// `cost`, plus the cost of preferences that do not hold and of moves. This holds for every
    /// objective, also for [`Objective::RemoteChannels`].
    pub minimized: f64,
    /// True if the mapping keeps all constraints and the balance limit, raised as for the plan.
    pub feasible: bool,
    /// Largest load of an OS process relative to its even share.
    pub balance: f64,
    /// Largest traffic that enters or leaves one host.
    pub bottleneck: f64,
    /// Number of channels between different OS processes.
    pub remote_channels: u64,
}

/// Traffic and cost of the channels of one class of distance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Level {
    /// The class.
    pub class: Class,
    /// Cost of a unit of traffic.
    pub distance: f64,
    /// Sum of the traffic.
    pub traffic: f64,
    /// Traffic times distance.
    pub cost: f64,
}

impl Level {
    fn of(platform: &Platform, traffic: &[(Class, f64)]) -> Vec<Level> {
        let distances = platform.distances().as_array();
        let level = |&(class, traffic): &(Class, f64)| {
            let distance = distances[class as usize];
            Level {
                class,
                distance,
                traffic,
                cost: traffic * distance,
            }
        };
        traffic.iter().map(level).collect()
    }
}

/// Checks a request without a search. Returns diagnostics for names that do not exist in its rules
/// and in the constraints of the graph. Also returns errors in the syntax of places in these
/// constraints, and a warning for each host that is named although hosts have no names.
///
/// If the numbers of the request, the weights or the distances are invalid, returns only the errors
/// about these. Does not check the previous mapping, and does not warn about the number of OS
/// processes. This is for a caller that already knows that there will be no mapping, and that wants
/// to report all errors.
#[must_use]
pub fn check(network: &Verified, platform: &Platform, request: &Request<'_>) -> Diagnostics {
    let mut found = Diagnostics::new();
    let boxes = boxes::of(network, request.rules, &mut found);
    let (n, _) = os_processes(network, platform, request, &boxes);
    match numbers(
        network,
        platform,
        request,
        platform.slots_for(n),
        &mut found,
    ) {
        Ok((numbers, hosts)) => {
            Rules::of(&numbers, request, &boxes, hosts, &mut found);
        }
        Err(wrong) => found.extend(wrong),
    }
    found
}

/// Returns the number of OS processes, and the diagnostics about it. The number is that of the
/// boxes, or of the request, or otherwise the number of slots. It is at least 1, but not more than
/// the number of processes.
fn os_processes(
    network: &Verified,
    platform: &Platform,
    request: &Request<'_>,
    boxes: &[Boxes],
) -> (usize, Diagnostics) {
    let (n, all) = (boxes::count(boxes), network.processes.len());
    if n > 0 && (request.os_processes.is_some_and(|asked| asked != n) || n > all) {
        let message = match request.os_processes {
            Some(asked) if asked != n && request.has_mapping() => {
                format!("the mapping has {asked} OS processes, but the boxes are {n}")
            }
            Some(asked) if asked != n => {
                format!("`-n {asked}` contradicts the boxes, which are {n} OS processes")
            }
            _ => format!("the boxes are {n} OS processes, but there are only {all} processes"),
        };
        let error = Diagnostic::error(codes::BOX_COUNT, message).at(boxes[0].span, "");
        return (n.min(all), error.help("change the numbers of boxes").into());
    }
    if let Some(known) = request
        .os_processes
        .filter(|&n| request.has_mapping() && n > all)
    {
        // Some of them are empty.
        return (known, Diagnostics::new());
    }
    count(
        (n > 0).then_some(n).or(request.os_processes),
        Some(platform.slot_count()),
        all,
        ("OS processes", "processes"),
        "an OS process without a process does nothing",
    )
}

/// Converts network and platform into the numbers of the engine. Also returns the memory limits of
/// hosts. Adds diagnostics about the places of memory rules to `found`. `slots` are the slots of
/// the OS processes.
///
/// # Errors
/// [`codes::WEIGHTS`] if a number of the request is invalid, if weights or distances are too large,
/// or if there is no OS process.
fn numbers<'a>(
    network: &'a Verified,
    platform: &'a Platform,
    request: &Request<'_>,
    slots: Vec<Slot>,
    found: &mut Diagnostics,
) -> Result<(Numbers<'a>, Vec<(Constraint, Span)>), Diagnostics> {
    check_request(request)?;
    Weights::check(network)?;
    let extra = extra_weights(network, request);
    let weights = Weights::of(network, platform, &extra).map_err(|e| of_mapping(&e))?;
    let placement = Placement::of(
        platform,
        slots,
        request.named_hosts,
        network.processes.len(),
    );
    let (memory, hosts) = placement.memory(request.rules, found);
    let machine = machine(&placement, &memory, weights.distance).map_err(|e| of_mapping(&e))?;
    let numbers = Numbers {
        network,
        weights,
        placement,
        machine,
    };
    Ok((numbers, hosts))
}

/// Checks that the imbalance, the traffic of preferred modules and the price of moves are valid:
/// the imbalance from 0 to 1000, and the others finite and at least 0.
///
/// # Errors
/// [`codes::WEIGHTS`] for the first number that is not in its range.
fn check_request(request: &Request<'_>) -> Result<(), Diagnostics> {
    let prefer = match request.modules {
        Modules::Prefer(traffic) => traffic,
        Modules::Ignore | Modules::Atom => 0.0,
    };
    let migration = request.previous.map_or(0.0, |previous| previous.migration);
    for (what, number, most) in [
        ("imbalance", request.imbalance, MOST_IMBALANCE),
        ("modules: prefer", prefer, f64::MAX),
        ("migration", migration, f64::MAX),
    ] {
        // The range also rejects NaN.
        if !(0.0..=most).contains(&number) {
            let message = format!("`{what}` of the request is {number}");
            let help = match most {
                f64::MAX => "use a finite number of at least 0".to_owned(),
                most => format!("use a number from 0 to {most}"),
            };
            let diagnostic = Diagnostic::error(codes::WEIGHTS, message);
            return Err(diagnostic.help(help).into());
        }
    }
    Ok(())
}

/// Maps a network onto a platform, and also returns warnings.
///
/// Blocks until the search and the strategies for comparison have ended. If the options have a
/// watch, sets its unit.
///
/// # Errors
/// - [`codes::WEIGHTS`] if a number of the request is invalid, if weights or distances are too
///   large for the engine, or if the network has no processes.
/// - [`codes::NOBODY`], [`codes::UNKNOWN_HOST`] and [`codes::NO_OS_PROCESS`] for names that do not
///   exist. [`codes::BAD_RULE`] if the places of a constraint of the graph cannot be read. All of
///   these are returned together, with the warnings.
/// - [`codes::PREVIOUS`] if the previous mapping is for another network.
/// - [`codes::INFEASIBLE`] if no mapping was found that keeps the rules. If the request is strict,
///   also if none was found that keeps the balance limit.
/// - [`codes::SOLVER`] if a solver or the caller's own strategy fails.
/// - The errors of the mapper, if the request has one. [`codes::NOT_A_MAPPING`],
///   [`codes::BAD_BINDING`] and [`codes::BREAKS_RULE`] if its mapping does not fit, uses hosts or
///   cores that do not exist, or breaks a rule. If the request is strict, breaking the balance
///   limit counts as breaking a rule. [`PROGRAMS_TOGETHER`](graphmap_kpn::codes::PROGRAMS_TOGETHER)
///   if a mapping that was known before puts processes of different programs into one OS process.
/// - The errors of the mappers in `compared`, and [`codes::NOT_A_MAPPING`] and
///   [`codes::BAD_BINDING`] for their mappings.
///
/// # Panics
/// Panics if the caller's own strategy or mapper panics.
pub fn plan(
    network: &Verified,
    platform: &Platform,
    request: &Request<'_>,
) -> Result<(Plan, Diagnostics), Diagnostics> {
    let mut found = Diagnostics::new();
    let boxes = boxes::of(network, request.rules, &mut found);
    let (n, warnings) = os_processes(network, platform, request, &boxes);
    found.extend(warnings);
    if found.has_errors() {
        return Err(found);
    }
    let mut request = request.clone();
    if is_even(&request, &boxes) {
        request.options.strategy = even_strategy().clone();
    }
    if !boxes.is_empty() || request.options.strategy.name == even_strategy().name {
        // The numbers of processes are more important than their loads.
        request.imbalance = MOST_IMBALANCE;
    }
    let request = &request;
    let slots = platform.slots_for(n);
    let mut usual = Diagnostics::new();
    let (numbers, hosts) = numbers(network, platform, request, slots, &mut usual)?;
    let rules = divided_rules(&numbers, request, &boxes, hosts, &mut usual)?;
    // If a known mapping has hosts, the usual ones do not count.
    let is_known = request.has_mapping();
    let unused = match is_known {
        true => Some(usual),
        false => {
            found.extend(usual);
            None
        }
    };
    if found.has_errors() {
        return Err(found);
    }
    let Some(mapper) = request.mapper else {
        return permuted(&numbers, &rules, request, &boxes, None, found);
    };
    let moves = Moves::of(&numbers, &rules, request)?;
    let problem = moves.problem(&numbers, &rules, request);
    let proposed = ask(mapper, &numbers, &rules, &problem, request, &mut found);
    let proposed = match proposed {
        Ok(proposed) => proposed,
        Err(wrong) => {
            found.extend(wrong);
            return Err(found);
        }
    };
    let Some(bindings) = &proposed.bindings else {
        found.extend(unused.unwrap_or_default());
        if found.has_errors() {
            return Err(found);
        }
        return permuted(&numbers, &rules, request, &boxes, Some(&proposed), found);
    };
    // The rules hold for other blocks if OS processes are on other hosts. Warnings are the same.
    let slots = bindings.slots.clone();
    let mut again = Diagnostics::new();
    let (numbers, hosts) = self::numbers(network, platform, request, slots, &mut again)?;
    let rules = divided_rules(&numbers, request, &boxes, hosts, &mut again)?;
    if is_known {
        found.extend(again);
    } else if again.has_errors() {
        found.extend(again.filter_map(|one| on_chosen_hosts(one, proposed.name)));
    }
    if found.has_errors() {
        return Err(found);
    }
    permuted(&numbers, &rules, request, &boxes, Some(&proposed), found)
}

/// Returns the error of a rule that holds for the usual hosts, but not for the hosts that a mapper
/// with this name chose. Returns `None` for a warning.
fn on_chosen_hosts(mut error: Diagnostic, name: &str) -> Option<Diagnostic> {
    if error.severity != Severity::Error {
        return None;
    }
    error.code = codes::BREAKS_RULE;
    error.notes = vec![format!("the strategy `{name}` chose the hosts")];
    error.help = vec!["correct the strategy, or change the rule".to_owned()];
    Some(error)
}

/// Returns the rules of a request, with the division of the OS processes among the programs of the
/// network. Adds errors to `found`.
///
/// # Errors
/// Returns an error if the previous mapping is for another network.
fn divided_rules<'a>(
    numbers: &'a Numbers<'a>,
    request: &Request<'_>,
    boxes: &[Boxes],
    hosts: Vec<(Constraint, Span)>,
    found: &mut Diagnostics,
) -> Result<Rules<'a>, Diagnostics> {
    let mut rules = Rules::of(numbers, request, boxes, hosts, found);
    // A known mapping divides the OS processes.
    if !found.has_errors() && !request.has_mapping() {
        let previous = request.previous.map(|p| p.previous_blocks(numbers));
        let previous = previous.transpose()?;
        rules.divided = programs::divide(
            numbers.network,
            &numbers.placement,
            &mut rules,
            previous.as_deref(),
            found,
        );
    }
    Ok(rules)
}

/// The previous mapping in terms of blocks, and the prices of moves.
struct Moves {
    previous_blocks: Option<Vec<Option<u32>>>,
    prices: Vec<u64>,
}

impl Moves {
    /// Returns the previous mapping of a request. The prices are empty without one.
    ///
    /// # Errors
    /// [`codes::PREVIOUS`] if the previous mapping is for another network.
    fn of(
        numbers: &Numbers<'_>,
        rules: &Rules<'_>,
        request: &Request<'_>,
    ) -> Result<Moves, Diagnostics> {
        let previous_blocks = request
            .previous
            .map(|p| p.previous_blocks(numbers))
            .transpose()?;
        let migration = request.previous.map_or(0.0, |p| p.migration);
        let price = |said: &Option<f64>| numbers.weights.traffic.units(said.unwrap_or(migration));
        Ok(Moves {
            previous_blocks,
            prices: rules.prices.iter().map(price).collect(),
        })
    }

    fn problem<'p>(
        &'p self,
        numbers: &'p Numbers<'_>,
        rules: &'p Rules<'_>,
        request: &Request<'_>,
    ) -> Problem<'p> {
        Problem {
            graph: &numbers.weights.graph,
            machine: &numbers.machine,
            constraints: &rules.constraints,
            objective: request.objective,
            imbalance: request.imbalance,
            migration: self.previous_blocks.as_ref().map(|block_of| Migration {
                block_of,
                cost: &self.prices,
            }),
        }
    }
}

/// Returns the options of the engine that make it return the mapping of a mapper.
///
/// # Errors
/// [`codes::BREAKS_RULE`] if the mapping breaks a rule. If the request is strict, also if it
/// exceeds the balance limit.
fn options_of(
    proposed: &Proposed<'_>,
    problem: &Problem<'_>,
    reporter: &Reporter<'_>,
    options: &Options,
) -> Result<Options, Diagnostics> {
    let placement = &reporter.numbers.placement;
    let block = |o: &OsProcessId| placement.block_of[o.index()];
    let block_of: Vec<u32> = proposed.os_process.iter().map(block).collect();
    let judged = evaluate(problem, &block_of).map_err(|error| reporter.failure(&error))?;
    let mut parts = judged.broken;
    if options.strict_balance {
        parts.extend(judged.over.into_iter().map(Part::Balance));
    }
    if !parts.is_empty() {
        let origin = match proposed.is_given {
            _ if proposed.is_permuted => Origin::Permuted,
            true => Origin::Known,
            false => Origin::Search,
        };
        let broken = reporter.broken(proposed.name, origin, &parts);
        return Err(broken.into());
    }
    let known = move |_: &Problem<'_>, _: &SearchLimits| Ok(block_of.clone());
    Ok(Options {
        strategy: Strategy::new(proposed.name.to_owned(), "", known),
        ..options.clone()
    })
}

/// Returns the plan for the rules, as [`planned`] does, after the permutations of the request.
fn permuted(
    numbers: &Numbers<'_>,
    rules: &Rules<'_>,
    request: &Request<'_>,
    boxes: &[Boxes],
    proposed: Option<&Proposed<'_>>,
    found: Diagnostics,
) -> Result<(Plan, Diagnostics), Diagnostics> {
    let (plan, mut found) = planned(numbers, rules, request, boxes, proposed, found)?;
    let mut os_process = plan.mapped.mapping().os_process.clone();
    if !rules.permute(request, &mut os_process, &mut found) {
        return Ok((plan, found));
    }
    if found.has_errors() {
        return Err(found);
    }
    let given = proposed.filter(|proposed| proposed.is_given);
    let proposed = Proposed {
        name: given.map_or(&*request.options.strategy.name, |given| given.name),
        is_given: given.is_some(),
        is_permuted: true,
        os_process,
        bindings: None,
    };
    // The warnings about the search stay.
    planned(numbers, rules, request, boxes, Some(&proposed), found)
}

/// Returns the plan for the rules, with the mapping of a mapper if there is one, and otherwise with
/// the mapping that the strategy of the request finds.
fn planned(
    numbers: &Numbers<'_>,
    rules: &Rules<'_>,
    request: &Request<'_>,
    boxes: &[Boxes],
    proposed: Option<&Proposed<'_>>,
    mut found: Diagnostics,
) -> Result<(Plan, Diagnostics), Diagnostics> {
    let Numbers {
        network,
        weights,
        placement,
        ..
    } = numbers;
    let (network, platform, n) = (*network, placement.platform, placement.slots.len());
    let moves = Moves::of(numbers, rules, request)?;
    let problem = moves.problem(numbers, rules, request);
    if let Some(watch) = &request.options.watch {
        watch.set_unit(match request.objective {
            Objective::RemoteChannels => 1.0,
            _ => weights.traffic.factor * weights.distance,
        });
    }
    let reporter = Reporter { rules, numbers };
    let options = match proposed {
        Some(proposed) => &options_of(proposed, &problem, &reporter, &request.options)?,
        None => &request.options,
    };
    let solution = solve(&problem, options).map_err(|error| reporter.failure(&error))?;
    if solution.raised.is_some() {
        let diagnostic = raised(&solution, request.imbalance, ("mapping", "OS process"));
        found.push(reporter.why_raised(diagnostic, &problem, &solution));
    }
    for warning in &solution.warnings {
        let mut diagnostic = Diagnostic::warning(codes::UNFINISHED, warning.clone());
        if options.strategy.kind == Kind::Program {
            diagnostic =
                diagnostic.help("use more `--time`, or `--strategy auto`, which needs no solver");
        }
        found.push(diagnostic);
    }
    let judged = &solution.evaluation;
    let blocks = solution.block_of.iter();
    let os_process: Vec<OsProcessId> = blocks
        .map(|&b| placement.os_process_of[b as usize])
        .collect();
    let mut loads = vec![0.0; n];
    for (process, o) in network.processes.values().zip(&os_process) {
        loads[o.index()] += process.load;
    }
    let previous_blocks = moves.previous_blocks.as_ref();
    let since =
        previous_blocks.map(|was| Since::of(numbers, was, &solution.block_of, judged.migration));
    let mut bindings: Arena<OsProcessId, Binding> = placement.bindings();
    if let Some(chosen) = proposed.and_then(|p| p.bindings.as_ref()) {
        for (binding, cores) in bindings.values_mut().zip(&chosen.cores) {
            if !cores.is_empty() {
                binding.cores.clone_from(cores);
            }
        }
    }
    let given = proposed.filter(|p| p.is_given).map(|p| p.name);
    let mapping = Mapping {
        os_process,
        bindings,
        strategy: given
            .map_or(&*options.strategy.name, |_| OF_FILE)
            .to_owned(),
    };
    if given.is_some() {
        of_os_processes(network, &mapping).map_err(|error| *error)?;
    }
    let (traffic, traffic_of) = traffic_by_class(network, &mapping.os_process, &placement.slots);
    let mapped = Mapped::new(network.clone(), mapping)
        .expect("a block for each process, an OS process for each block");
    let mut others = simple(&problem, options, numbers, &solution);
    for mapper in request.compared {
        let own = (numbers, rules);
        let raised = solution.raised;
        others.push(compared(*mapper, own, request, boxes, raised, &mut found)?);
    }
    let limits = solution.limits.allowed(problem.graph, &solution.block_of);
    let (shares, allowed) = shares(&loads, &limits, &problem, placement);
    let prefer = |constraint: &Constraint| matches!(constraint, Constraint::Prefer { .. });
    let preferences = problem.constraints.iter().any(prefer)
        || previous_blocks.is_some() && moves.prices.iter().any(|&price| price > 0);
    let in_users_units = |sum: u64| match request.objective {
        Objective::RemoteChannels => sum as f64,
        _ => weights.cost(sum),
    };
    let mut plan = Plan {
        cost: weights.cost(judged.cost),
        minimized: in_users_units(solution.minimised),
        preferences,
        lower_bound: in_users_units(solution.lower_bound),
        gap: solution.gap.min(1.0),
        proved: solution.proved && proposed.is_none() && !rules.divided,
        proposed: proposed.is_some(),
        given: given.map(str::to_owned),
        divided: rules.divided,
        feasible: solution.admits(problem.graph, &solution.block_of, judged),
        fillable: is_fillable(&problem, &solution.block_of),
        rounded: weights.rounded,
        balance: judged.balance,
        levels: Level::of(platform, &traffic),
        traffic,
        traffic_of,
        loads,
        shares,
        allowed,
        imbalance: request.imbalance,
        narrows: solution.narrows,
        objective: request.objective,
        raised: solution.raised,
        unavoidable: solution.unavoidable,
        bottleneck: judged.bottleneck as f64 / weights.traffic.factor,
        remote_channels: judged.remote_channels,
        since,
        others,
        hosts: placement.hosts(),
        log: solution.log,
        mapped,
    };
    if plan.rounded.cost > 0.0 && plan.objective == Objective::Cost {
        let pulls = weights.cost(judged.preference + judged.migration);
        plan.correct(&platform.distances().as_array(), pulls);
    }
    Ok((plan, found))
}

/// Returns true if a mapping leaves no block empty, or if another mapping was found that leaves
/// none empty and keeps all constraints and capacities. The balance limit is ignored. A result of
/// false does not prove that there is no such mapping.
fn is_fillable(problem: &Problem<'_>, block_of: &[u32]) -> bool {
    let blocks = 0..problem.machine.len() as u32;
    let mut empty = vec![true; blocks.len()];
    block_of.iter().for_each(|&b| empty[b as usize] = false);
    if !empty.contains(&true) {
        return true;
    }
    let mut constraints = problem.constraints.to_vec();
    constraints.push(Constraint::Count {
        vertices: (0..block_of.len() as u32).collect(),
        places: blocks.map(|b| vec![b]).collect(),
        least: 1,
        most: u32::MAX,
    });
    is_packable(&Problem {
        constraints: &constraints,
        ..*problem
    })
}

/// Returns the results of the simple strategies for the same problem. A strategy that fails is
/// omitted. Blocks until all have ended.
fn simple(
    problem: &Problem<'_>,
    options: &Options,
    numbers: &Numbers<'_>,
    solution: &Solution,
) -> Vec<Other> {
    let rules = strategies().filter(|s| s.kind == Kind::Rule);
    let others = rules.filter_map(|rule| {
        let options = Options {
            strategy: rule.clone(),
            // If the mapping of a strategy breaks a constraint, its repair runs after this time.
            time: options.time.map(|t| t / COMPARISON_DIVISOR),
            ..options.clone()
        };
        let (block_of, judged) = evaluate_strategy(problem, &options).ok()?;
        let feasible = solution.admits(problem.graph, &block_of, &judged);
        Some(other(
            rule.name.clone(),
            numbers,
            &block_of,
            &judged,
            feasible,
        ))
    });
    others.collect()
}

/// Returns the result of another strategy or mapping, from its blocks and their evaluation.
fn other(
    name: Cow<'static, str>,
    numbers: &Numbers<'_>,
    block_of: &[u32],
    judged: &Evaluation,
    feasible: bool,
) -> Other {
    let Numbers {
        network,
        weights,
        placement,
        ..
    } = numbers;
    let blocks = block_of.iter();
    let os_process: Vec<OsProcessId> = blocks
        .map(|&b| placement.os_process_of[b as usize])
        .collect();
    let (traffic, _) = traffic_by_class(network, &os_process, &placement.slots);
    Other {
        strategy: name,
        given: false,
        levels: Level::of(placement.platform, &traffic),
        cost: weights.cost(judged.cost),
        minimized: weights.cost(judged.cost + judged.preference + judged.migration),
        feasible,
        balance: judged.balance,
        bottleneck: judged.bottleneck as f64 / weights.traffic.factor,
        remote_channels: judged.remote_channels,
    }
}

/// Returns the result of the mapping of a mapper, on its own hosts if it has any. `numbers` and
/// `rules` belong to the plan. Diagnostics of the mapper are added to `found`.
///
/// # Errors
/// As for [`ask`], and as for [`numbers`](self::numbers) on the hosts of the mapping.
fn compared(
    mapper: &(dyn Mapper + Sync),
    (numbers, rules): (&Numbers<'_>, &Rules<'_>),
    request: &Request<'_>,
    boxes: &[Boxes],
    raised: Option<f64>,
    found: &mut Diagnostics,
) -> Result<Other, Diagnostics> {
    let moves = Moves::of(numbers, rules, request)?;
    let problem = moves.problem(numbers, rules, request);
    let proposed = ask(mapper, numbers, rules, &problem, request, found)?;
    let slots = match &proposed.bindings {
        Some(bindings) => bindings.slots.clone(),
        None => numbers.placement.slots.clone(),
    };
    let (network, platform) = (numbers.network, numbers.placement.platform);
    // The mapping need not spread the kinds evenly.
    let request = &Request {
        mapper: Some(mapper),
        ..request.clone()
    };
    let mut again = Diagnostics::new();
    let (numbers, hosts) = self::numbers(network, platform, request, slots, &mut again)?;
    // The mapping itself divides the OS processes among the programs.
    let rules = Rules::of(&numbers, request, boxes, hosts, &mut again);
    let moves = Moves::of(&numbers, &rules, request)?;
    let problem = moves.problem(&numbers, &rules, request);
    let block = |o: &OsProcessId| numbers.placement.block_of[o.index()];
    let block_of: Vec<u32> = proposed.os_process.iter().map(block).collect();
    let judged = evaluate(&problem, &block_of).map_err(|error| of_mapping(&error))?;
    let mapping = Mapping {
        os_process: proposed.os_process,
        bindings: numbers.placement.bindings(),
        strategy: String::new(),
    };
    let within = |raised: f64| {
        let mut loads = judged.loads.iter().zip(problem.load_bounds());
        loads.all(|(load, bound)| *load as f64 <= bound as f64 * raised * (1.0 + 1e-9))
    };
    let feasible = !again.has_errors()
        && judged.allowed()
        && within(raised.unwrap_or(1.0))
        && of_os_processes(network, &mapping).is_ok();
    let name = Cow::Owned(proposed.name.to_owned());
    Ok(Other {
        given: proposed.is_given,
        ..other(name, &numbers, &block_of, &judged, feasible)
    })
}

/// Returns two values for each OS process: its load relative to its even share, and its largest
/// allowed load in the units of the graph.
///
/// `loads` contains the load of each OS process in the units of the graph. `limits` contains the
/// allowed load of each block in the units of the engine. All results are 0 if there is no load.
/// Panics if `loads` has fewer entries than there are OS processes.
fn shares(
    loads: &[f64],
    limits: &[u64],
    problem: &Problem<'_>,
    placement: &Placement<'_>,
) -> (Vec<f64>, Vec<f64>) {
    let total: f64 = loads.iter().sum();
    let scaled = problem.graph.total_load();
    let mut allowed = vec![0.0; loads.len()];
    for (bound, o) in limits.iter().zip(&placement.os_process_of) {
        if scaled > 0 {
            allowed[o.index()] = total * *bound as f64 / scaled as f64;
        }
    }
    let shares = relative(problem.machine, &placement.os_process_of, total, loads);
    (shares, allowed)
}

impl Plan {
    /// Replaces a rounded cost by the exact one, and corrects the lower bound and the gap by the
    /// rounding error. The mapping then no longer counts as proved to be optimal. `distances`
    /// contains the distance of each class, and `pulls` is the cost of preferences and moves.
    fn correct(&mut self, distances: &[f64; Class::ALL.len()], pulls: f64) {
        let error = self.rounded.cost;
        let costs = self
            .traffic
            .iter()
            .map(|(class, t)| t * distances[*class as usize]);
        self.cost = costs.sum();
        self.minimized = self.cost + pulls;
        self.lower_bound = (self.lower_bound - error).clamp(0.0, self.minimized);
        self.gap = (self.gap + error / self.minimized.max(f64::MIN_POSITIVE)).min(1.0);
        self.proved = false;
    }
}

/// Returns the traffic by class of distance, closest first: in total, and for each OS process a row
/// with the same classes. Classes without traffic are omitted, except [`Class::Collocated`]. A
/// channel between two OS processes counts in both rows.
fn traffic_by_class(
    network: &Network,
    os_process: &[OsProcessId],
    slots: &[Slot],
) -> (Vec<(Class, f64)>, Vec<Vec<f64>>) {
    const NONE: [f64; Class::ALL.len()] = [0.0; Class::ALL.len()];
    let (mut sums, mut of) = (NONE, vec![NONE; slots.len()]);
    for (id, channel) in network.channels.iter() {
        let ends = [network.writer(id), network.reader(id)];
        let [a, b] = ends.map(|process| os_process[process.index()].index());
        let class = match a == b {
            true => Class::Collocated,
            false => slots[a].class(&slots[b]),
        };
        sums[class as usize] += channel.traffic;
        of[a][class as usize] += channel.traffic;
        if a != b {
            of[b][class as usize] += channel.traffic;
        }
    }
    let mut used = Class::ALL.to_vec();
    used.retain(|&class| sums[class as usize] > 0.0 || class == Class::Collocated);
    let row = |sums: &[f64; Class::ALL.len()]| used.iter().map(|&c| sums[c as usize]).collect();
    let of = of.iter().map(row).collect();
    let all = used.iter().map(|&class| (class, sums[class as usize]));
    (all.collect(), of)
}
