//! Runs the programs that `program=` names under a launcher. Nothing is built.

use super::args::RunArgs;
use super::hosts::{self, FOLDER, Launched};
use super::job::Job;
use super::mpi::Mpi;
use super::program::ended;
use super::{copy, cores, launcher, names};
use crate::cli::exit::Exit;
use crate::cli::output;
use crate::cli::paths::word;
use crate::cli::session::{Outcome, Session};
use crate::cli::tables;
use crate::codes;
use graphmap_binding::ranks;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::network::{Network, Verified};
use graphmap_kpn::programs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Maps the network and runs its programs under a launcher, in OS processes of their own. Blocks
/// until they end. With `--dry-run`, `--no-run` or `--no-build`, writes the launch files only.
///
/// # Errors
/// Reports an error (`G0478`) and returns [`Exit::Graph`] if a process has no `program=`. Otherwise
/// as for [`tables::no_arguments`] and [`hosts::run`].
pub(super) fn run(args: &RunArgs, session: &mut Session<'_>, launched: Launched) -> Outcome<Exit> {
    let Launched { network, onto, how } = launched;
    all_named(session, &network)?;
    tables::no_arguments(session, &args.graph)?;
    let mut options = Session::options(&args.graph);
    let mpi = Mpi::choose(session, options.get("launcher").map(String::as_str))?;
    options.insert("launcher".to_owned(), mpi.launcher.clone());
    let mapped = hosts::mapped(args, session, (network, true), (&onto.platform, &how))?;
    session.unless_denied()?;
    let is_started = !args.dry_run && !args.no_run && !args.no_build;
    let agent = options.get("agent").map(String::as_str);
    if is_started {
        let mapping = mapped.mapping();
        launcher::check(session, &mpi, &options)?;
        cores::check(session, mapping)?;
        names::check(session, mapping, &onto.platform, &mpi.launcher, agent)?;
    }
    if args.copy && is_started {
        for program in paths(mapped.network(), &options) {
            let onto = (mapped.mapping(), &onto.platform);
            copy::to_hosts(session, onto, Path::new(&program), agent, &mpi.launcher)?;
        }
    }
    let beside = args.file.parent().unwrap_or(Path::new(""));
    let folder = beside.join(FOLDER);
    let launched = (&mapped, None, onto.hardware.as_ref());
    let asked = (&options, &*folder);
    if is_started {
        let job = match Job::new(&folder, false) {
            Ok(job) => job,
            Err(error) => return ended(session, &folder, Err(error)),
        };
        let files = hosts::launch_files(args, session, launched, None, asked, Some(&job))?;
        output::write_quietly(session, &files)?;
        return hosts::start(session, &mpi, &job);
    }
    let files = hosts::launch_files(args, session, launched, None, asked, None)?;
    output::write_quietly(session, &files)?;
    if args.dry_run {
        session.show(&format!("sh {}\n", word(&folder.join(hosts::SCRIPT))))?;
    }
    Ok(Exit::Ok)
}

/// Returns the path of each program, as the launch files contain it.
fn paths(network: &Network, options: &BTreeMap<String, String>) -> BTreeSet<String> {
    let of = programs::of_processes(network).into_iter();
    let named: BTreeSet<&str> = of.filter_map(|program| program.name).collect();
    let path = |name: &str| ranks::executable(name, options);
    named.into_iter().map(path).collect()
}

/// Checks that all processes have a program.
///
/// # Errors
/// Reports an error and returns [`Exit::Graph`] if one has none.
fn all_named(session: &mut Session<'_>, network: &Verified) -> Outcome<()> {
    let of = programs::of_processes(network);
    let named = of.iter().find(|program| program.name.is_some());
    let mut unnamed = of.iter().zip(network.processes.ids());
    let unnamed = unnamed.find(|(program, _)| program.name.is_none());
    let (Some(named), Some((unnamed, process))) = (named, unnamed) else {
        return Ok(());
    };
    let kind = network.kind_name(process);
    let message = format!("kind `{kind}` has no `program=`, but other kinds have one");
    let diagnostic = Diagnostic::error(codes::PROGRAMS_OF_RUN, message)
        .at(unnamed.span, "would run in the program of the project")
        .also(named.span, "runs in another program")
        .with_note("graphmap's runtime joins OS processes of one program only")
        .help("set `program=` on all kinds, to run those programs without a project")
        .help("or remove `program=`, to run all processes in the program of the project")
        .help("`--emit mpiexec=launch.sh` writes files that start any programs");
    session.fail(Exit::Graph, diagnostic)
}

/// Reports that the programs of the network need a launcher (`G0478`), if it has any.
///
/// # Errors
/// Returns [`Exit::Graph`] in this case.
pub(super) fn need_a_launcher(session: &mut Session<'_>, network: &Verified) -> Outcome<()> {
    let of = programs::of_processes(network);
    let Some(named) = of.iter().find(|program| program.name.is_some()) else {
        return Ok(());
    };
    let diagnostic = Diagnostic::error(
        codes::PROGRAMS_OF_RUN,
        "`program=` needs a launcher, but this run has none",
    )
    .at(named.span, "")
    .help("use `--link mpi -n N` for this host, or `--hosts FILE`")
    .help("or remove `program=`, to run all processes in the program of the project");
    session.fail(Exit::Graph, diagnostic)
}
