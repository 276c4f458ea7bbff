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
pub(crate) mod project;
mod ranks;
mod shared_build;

use super::exit::Exit;
use super::mapping::MappingArgs;
use super::session::{Outcome, Session};
use crate::cli::child;
use crate::cli::supervisor::{self, Bound};
use crate::codes;
use args::{Link, RunArgs};
use graphmap_kpn::diagnostic::Diagnostic;
use prefix::Prefixed;
use program::{build, ended, handed, obeyed};
use project::{find_project, unasked};
use std::num::NonZeroU32;

pub(crate) fn run(args: &RunArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let undrawn = ranks::project(args, session)?;
    match (&args.hosts, args.link) {
        (_, Some(Link::Mpi)) | (Some(_), None) => return hosts::run(args, undrawn, session),
        (Some(_), Some(_)) => {
            let message =
                "`--hosts` runs a network under mpiexec, and `--link` names something else";
            let diagnostic = Diagnostic::error(codes::USAGE, message)
                .help("leave `--link` out: MPI joins OS processes on several hosts");
            return session.fail(Exit::Usage, diagnostic);
        }
        (None, _) if args.print => {
            let message = "`--print` shows the command of a launcher, and none is asked for";
            let diagnostic = Diagnostic::error(codes::USAGE, message)
                .help("say on which hosts, `--hosts`, or `--link mpi` for this one");
            return session.fail(Exit::Usage, diagnostic);
        }
        (None, _) => {}
    }
    let strategy = args.strategy.as_deref();
    let how = MappingArgs {
        os_processes: args.os_processes,
        mapping: args.mapping.clone(),
        ..MappingArgs::simple(NonZeroU32::MIN, strategy.unwrap_or("auto"))
    };
    let asked = strategy.is_some() || !args.graph.passes.pass.is_empty();
    let mut ranks = None;
    let (network, platform) = match (&undrawn, asked) {
        (Some(_), _) => {
            let target = ranks::target(session, &how)?;
            ranks = ranks::count(args, session, &target.platform)?;
            // All are needed to map them alone; else the program makes them, and may be the only
            // one that knows how many.
            let needed = ranks.filter(|_| asked || args.mapping.is_some());
            let network = session.verified_ranks(needed.unwrap_or(1), &args.graph, &target)?;
            (network, Some(target.platform))
        }
        (None, true) => {
            let (network, target) = session.verified_for(&args.file, &args.graph, &how)?;
            (network, Some(target.platform))
        }
        (None, false) => {
            let mapping = args.mapping.as_deref();
            let network = session.verified_with(&args.file, &args.graph, mapping)?;
            (network, None)
        }
    };
    let mapping = match (&args.mapping, platform) {
        (Some(path), _) => Some(obeyed(args, session, path, &network, undrawn.is_none())?),
        (None, Some(platform)) if strategy.is_some() => {
            let plan = session.plan(&network, &platform, &how, false)?;
            Some(plan.mapped.mapping().clone())
        }
        _ => None,
    };
    // A mapping says how many OS processes there are, those included in which nothing runs.
    let os_processes = match (args.os_processes, &mapping) {
        (Some(said), _) => Some(said.to_string()),
        (None, Some(mapping)) => Some(mapping.bindings.len().to_string()),
        (None, None) => None,
    };
    let placed = match &mapping {
        Some(mapping) => Some(handed(session, mapping)?),
        None => None,
    };
    outputs::check(args, session)?;
    let (project, doubts) = find_project(args, session, undrawn, &network)?;
    let ranks = ranks::told(args, session, &project, &network, ranks)?;
    if args.no_build {
        unasked(args, session, doubts);
        return Ok(Exit::Ok);
    }
    let program = build(args, session, &network, &project, doubts, None)?;
    session.unless_denied()?;
    if args.no_run {
        return Ok(Exit::Ok);
    }
    // The program speaks next: what is to be said of the graph is said before.
    session.flush();
    let mut command = match supervisor::command(program.as_os_str(), Bound::Program) {
        Ok(command) => command,
        Err(error) => return ended(session, &program, Err(error)),
    };
    command.args(&args.args);
    command.args(ranks);
    // What the user's shell has set holds where the command line says nothing.
    command.envs(args.variables());
    if let Some(count) = &os_processes {
        command.env("GRAPHMAP_OS_PROCESSES", count);
    }
    match args.link {
        Some(Link::Threads) => command.env("GRAPHMAP_LINK", "threads"),
        Some(Link::Shm) => command.env("GRAPHMAP_LINK", "shm"),
        Some(Link::Mpi) | None => &mut command,
    };
    if let Some(handed) = &placed {
        handed.tell(&mut command);
    }
    if !args.prefix {
        let result = session.timed("run", |_| child::run(&mut command));
        return ended(session, &program, result);
    }
    let count = prefixed(args, os_processes.as_deref());
    let prefixed = match Prefixed::begin(count, &mut command) {
        Ok(prefixed) => prefixed,
        Err(error) => return ended(session, &program, Err(error)),
    };
    let result = session.timed("run", |_| child::run(&mut command));
    drop(command);
    if let Err(error) = prefixed.finish() {
        let message = format!("the output of the program cannot be written: {error}");
        let diagnostic = Diagnostic::error(codes::CANNOT_WRITE, message);
        return session.fail(Exit::Usage, diagnostic);
    }
    ended(session, &program, result)
}

/// Returns the number of OS processes whose lines get a prefix. Those joined by threads are one.
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
