//! `graphmap run`: builds the program of a graph and runs it.

pub(crate) mod args;
mod copy;
mod cores;
mod fit;
pub(crate) mod hosts;
mod job;
mod launcher;
mod mpi;
mod names;
mod outputs;
mod prefix;
mod program;
mod programs;
pub(crate) mod project;
mod ranks;
mod shared_build;

use super::exit::Exit;
use super::mapping::{MappingArgs, Target};
use super::session::{Outcome, Session};
use crate::cli::child;
use crate::cli::supervisor::{self, Bound};
use crate::codes;
use crate::program::PassedMapping;
use args::{Link, RunArgs};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::mapping::Mapping;
use graphmap_kpn::network::{Network, Verified};
use graphmap_kpn::programs::has_any;
use graphmap_wiring::project::Project;
use prefix::Prefixed;
use program::{build, ended, mapping_of_file, passed_mapping, passed_tables};
use project::{Ready, find_project, unasked};
use std::num::NonZeroU32;
use std::path::Path;
use std::process::Command;

pub(crate) use program::ended as program_ended;

pub(crate) fn run(args: &RunArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    only_for_programs(args, session)?;
    let ranks_project = ranks::project(args, session)?;
    if is_under_launcher(args, session)? {
        let launched = hosts::launched(args, ranks_project.as_ref(), session)?;
        return match has_any(&launched.network) {
            true => programs::run(args, session, launched),
            false => hosts::run(args, ranks_project, session, launched),
        };
    }
    let Placed {
        network,
        mapping,
        ranks,
    } = placed(args, session, ranks_project.as_ref())?;
    programs::need_a_launcher(session, &network)?;
    // A mapping states the number of OS processes, including those in which nothing runs.
    let os_processes = match (args.os_processes, &mapping) {
        (Some(count), _) => Some(count.to_string()),
        (None, Some(mapping)) => Some(mapping.bindings.len().to_string()),
        (None, None) => None,
    };
    let passed_mapping = mapping
        .map(|mapping| passed_mapping(session, &mapping))
        .transpose()?;
    outputs::check(args, session)?;
    let Ready {
        project,
        doubts,
        built,
        tables,
    } = find_project(args, session, ranks_project, &network)?;
    let passed_tables = tables.map(|tables| passed_tables(session, &tables));
    let passed_tables = passed_tables.transpose()?;
    let ranks = ranks::rank_argument(args, session, &project, &network, ranks)?;
    if args.no_build {
        unasked(args, session, doubts);
        return Ok(Exit::Ok);
    }
    let program = build(
        args,
        session,
        built.as_ref().unwrap_or(&network),
        &project,
        doubts,
        None,
    )?;
    session.unless_denied()?;
    if args.no_run {
        return Ok(Exit::Ok);
    }
    // The diagnostics of the graph are shown before the program writes.
    session.flush();
    let mut command = match supervisor::command(program.as_os_str(), Bound::Program) {
        Ok(command) => command,
        Err(error) => return ended(session, &program, Err(error)),
    };
    command.args(&args.args);
    command.args(ranks);
    // Variables of the user's environment stay unless an option sets them.
    command.envs(unset(&network));
    let options = Session::options(&args.graph);
    command.envs(options.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("env.")?;
        Some((name, value))
    }));
    command.envs(args.variables());
    if let Some(count) = &os_processes {
        command.env("GRAPHMAP_OS_PROCESSES", count);
    }
    match args.link {
        Some(Link::Threads) => command.env("GRAPHMAP_LINK", "threads"),
        Some(Link::Shm) => command.env("GRAPHMAP_LINK", "shm"),
        Some(Link::Mpi) | None => &mut command,
    };
    if let Some(passed_mapping) = &passed_mapping {
        passed_mapping.set_environment(&mut command);
    }
    if let Some(passed_tables) = &passed_tables {
        passed_tables.set_environment(&mut command);
    }
    if args.prefix {
        let count = prefixed(args, os_processes.as_deref());
        return run_prefixed(session, &program, command, count);
    }
    let result = session.timed("run", |_| child::run(&mut command));
    ended(session, &program, result)
}

/// Checks that the options of compiled programs are not set.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if one is set.
fn only_for_programs(args: &RunArgs, session: &mut Session<'_>) -> Outcome<()> {
    let options = [
        ("--ranks", args.ranks.is_some()),
        ("--private", !args.private.is_empty()),
    ];
    let Some((option, _)) = options.iter().find(|(_, is_given)| *is_given) else {
        return Ok(());
    };
    let message = format!("`{option}` is for compiled MPI programs");
    let error = Diagnostic::error(codes::USAGE, message)
        .help("the number of ranks of a project is the first argument of its program: `-- 1000`");
    session.fail(Exit::Usage, error)
}

/// Returns the target of the mapping for ranks without a graph. The errors are those of
/// [`ranks::target`].
pub(crate) fn target_of_ranks(session: &mut Session<'_>, how: &MappingArgs) -> Outcome<Target> {
    ranks::target(session, how)
}

/// Returns the mapping of a file for ranks, in the form that the runtime reads. The errors are those
/// of [`mapping_of_file`] and [`passed_mapping`].
pub(crate) fn mapping_for_ranks(
    args: &RunArgs,
    session: &mut Session<'_>,
    path: &Path,
    network: &Verified,
) -> Outcome<PassedMapping> {
    let mapping = mapping_of_file(args, session, path, network, false)?;
    passed_mapping(session, &mapping)
}

/// Returns the variables of a network that the environment does not set.
fn unset(network: &Network) -> impl Iterator<Item = (&str, &str)> {
    let all = network
        .environment
        .iter()
        .map(|(name, value)| (&**name, &**value));
    all.filter(|(name, _)| std::env::var_os(name).is_none())
}

/// Returns true if the program is to be started by the launcher of an MPI: with `--hosts`, or
/// `--link mpi`.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if `--hosts` is combined with another link, or if
/// `--dry-run` is set without a launcher.
fn is_under_launcher(args: &RunArgs, session: &mut Session<'_>) -> Outcome<bool> {
    let (message, help) = match (&args.hosts, args.link) {
        (_, Some(Link::Mpi)) | (Some(_), None) => return Ok(true),
        (Some(_), Some(_)) => (
            "`--hosts` runs a program under mpiexec, so `--link` can only be `mpi`",
            "omit `--link`",
        ),
        (None, _) if args.dry_run => (
            "`--dry-run` prints the command of a launcher, but this run has no launcher",
            "name the hosts with `--hosts`, or use `--link mpi` for this host",
        ),
        (None, _) => return Ok(false),
    };
    let diagnostic = Diagnostic::error(codes::USAGE, message).help(help);
    session.fail(Exit::Usage, diagnostic)
}

/// A verified network and its mapping, ready to run.
struct Placed {
    network: Verified,
    /// The mapping, if the command line asks for one.
    mapping: Option<Mapping>,
    /// The number of ranks of a project without a graph file, if it is known before the program
    /// runs.
    ranks: Option<u32>,
}

/// Checks the network. Reads the mapping that the command line names, or searches for one, and then
/// blocks until the search ends.
///
/// # Errors
/// Reports the diagnostics and returns the exit status if the network or the mapping has errors.
fn placed(
    args: &RunArgs,
    session: &mut Session<'_>,
    ranks_project: Option<&Project>,
) -> Outcome<Placed> {
    let strategy = args.strategy.as_deref();
    let how = MappingArgs {
        os_processes: args.os_processes,
        mapping: args.mapping.clone(),
        ..MappingArgs::simple(NonZeroU32::MIN, strategy.unwrap_or("auto"))
    };
    let is_asked = strategy.is_some() || !args.graph.passes.pass.is_empty();
    let mut ranks = None;
    let (network, platform) = if ranks_project.is_some() {
        let target = ranks::target(session, &how)?;
        ranks = ranks::count(args, session, &target.platform)?;
        // The graph has all ranks only if they are mapped here. Otherwise the program makes them,
        // and it may be the only one that knows their number.
        let needed = ranks.filter(|_| is_asked || args.mapping.is_some());
        let network = session.verified_ranks(needed.unwrap_or(1), &args.graph, &target)?;
        (network, Some(target.platform))
    } else if is_asked {
        let (network, target) = session.verified_for(&args.file, &args.graph, &how)?;
        (network, Some(target.platform))
    } else {
        let mapping = args.mapping.as_deref();
        let network = session.verified_with(&args.file, &args.graph, mapping)?;
        let is_planned = mapping.is_none() && !network.boxes.is_empty();
        let platform = is_planned.then(|| session.target(&how)).transpose()?;
        (network, platform.map(|(platform, _)| platform))
    };
    let mapping = match (&args.mapping, platform) {
        (Some(path), _) => Some(mapping_of_file(
            args,
            session,
            path,
            &network,
            ranks_project.is_none(),
        )?),
        (None, Some(platform)) if strategy.is_some() || !network.boxes.is_empty() => {
            let plan = session.plan(&network, &platform, &args.graph, &how, false)?;
            Some(plan.mapped.mapping().clone())
        }
        _ => None,
    };
    Ok(Placed {
        network,
        mapping,
        ranks,
    })
}

/// Runs the program, and prints each line of output with the number of its OS process. `count` is
/// the number of OS processes. Blocks until the program has ended and its output is printed.
///
/// # Errors
/// As for [`ended`]. Also reports an error and returns [`Exit::Usage`] if the output cannot be
/// written.
fn run_prefixed(
    session: &mut Session<'_>,
    program: &Path,
    mut command: Command,
    count: usize,
) -> Outcome<Exit> {
    let prefixed = match Prefixed::begin(count, &mut command) {
        Ok(prefixed) => prefixed,
        Err(error) => return ended(session, program, Err(error)),
    };
    let result = session.timed("run", |_| child::run(&mut command));
    // The command has the write ends of the pipes.
    drop(command);
    if let Err(error) = prefixed.finish() {
        let message = format!("the output of the program cannot be written: {error}");
        let diagnostic = Diagnostic::error(codes::CANNOT_WRITE, message);
        return session.fail(Exit::Usage, diagnostic);
    }
    ended(session, program, result)
}

/// Returns the number of OS processes whose lines get a prefix. It is 1 unless shared memory joins
/// them, by `--link` or otherwise by `GRAPHMAP_LINK`. `os_processes` is their number; without it,
/// the variable `GRAPHMAP_OS_PROCESSES` counts. The result is 1 if that is not a number.
fn prefixed(args: &RunArgs, os_processes: Option<&str>) -> usize {
    let set = |name| std::env::var(name).unwrap_or_default();
    let is_shared = match args.link {
        Some(link) => matches!(link, Link::Shm),
        None => set("GRAPHMAP_LINK") == "shm",
    };
    let count = os_processes.map_or_else(|| set("GRAPHMAP_OS_PROCESSES"), str::to_owned);
    let count = count.parse().unwrap_or(1);
    if is_shared { count } else { 1 }
}
