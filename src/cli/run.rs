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
            // All are needed to map them alone; else the program makes them, and may be the only one that knows how many.
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
    let mut set = |name: &str, value: Option<std::ffi::OsString>| {
        // What the user's shell has set holds where the command line says nothing.
        if let Some(value) = value {
            command.env(name, value);
        }
    };
    set("GRAPHMAP_OS_PROCESSES", os_processes.map(Into::into));
    set(
        "GRAPHMAP_SCHEDULERS",
        args.schedulers.map(|n| n.to_string().into()),
    );
    set(
        "GRAPHMAP_MEMORY",
        args.memory.map(|bytes| bytes.to_string().into()),
    );
    set("GRAPHMAP_PREFIX", args.prefix.then(|| "1".into()));
    set("GRAPHMAP_PIN", args.no_pin.then(|| "0".into()));
    let link = args.link.map(|link| match link {
        Link::Threads => "threads",
        Link::Shm => "shm",
        Link::Mpi => "mpi",
    });
    set("GRAPHMAP_LINK", link.map(Into::into));
    set(
        "GRAPHMAP_SHUFFLE",
        args.shuffle.map(|seed| seed.to_string().into()),
    );
    let folder = std::path::absolute(&project.root).ok();
    set("GRAPHMAP_PROJECT", folder.map(Into::into));
    set("GRAPHMAP_STATS", args.stats.then(|| "1".into()));
    set("GRAPHMAP_PROFILE", args.profile.clone().map(Into::into));
    set("GRAPHMAP_TRACE", args.trace.clone().map(Into::into));
    set(
        "GRAPHMAP_TRACE_EVENTS",
        args.trace_events.map(|count| count.to_string().into()),
    );
    if let Some(handed) = &placed {
        handed.tell(&mut command);
    }
    let result = session.timed("run", |_| child::run(&mut command));
    ended(session, &program, result)
}
