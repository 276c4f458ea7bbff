//! Runs of compiled programs.

use super::library;
use crate::cli::args::GraphArgs;
use crate::cli::exit::Exit;
use crate::cli::mapping::MappingArgs;
use crate::cli::run::args::RunArgs;
use crate::cli::run::{mapping_for_ranks, program_ended, target_of_ranks};
use crate::cli::session::{Outcome, Session};
use crate::cli::supervisor::{self, Bound};
use crate::cli::{child, paths};
use crate::codes;
use crate::program::PassedMapping;
use graphmap_kpn::diagnostic::Diagnostic;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::Path;

/// What a run of a compiled program needs.
pub(super) struct Start<'a> {
    pub(super) program: &'a Path,
    pub(super) ranks: NonZeroU32,
    pub(super) arguments: &'a [OsString],
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) mapping: Option<PassedMapping>,
    /// Folder in which it runs, if it is another one.
    pub(super) folder: Option<&'a Path>,
}

/// Runs a compiled program. Blocks until it ends.
pub(super) fn start(start: Start<'_>, session: &mut Session<'_>) -> Outcome<Exit> {
    let host = library::find(session)?.host();
    let result = supervisor::command(host.as_os_str(), Bound::Program).and_then(|mut command| {
        command
            .arg(start.ranks.to_string())
            .arg(start.program)
            .args(start.arguments);
        command.envs(start.variables);
        if let Some(folder) = start.folder {
            command.current_dir(folder);
        }
        if let Some(mapping) = &start.mapping {
            mapping.set_environment(&mut command);
        }
        session.timed("run", |_| child::run(&mut command))
    });
    program_ended(session, start.program, result)
}

/// Variables of the host program.
pub(super) const PREFIX: &str = "GRAPHMAP_PREFIX";
const PRIVATE: &str = "GRAPHMAP_PRIVATE";

/// Runs the compiled program that `graphmap run` names.
pub(crate) fn run(args: &RunArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let file = paths::shown(&args.file);
    let others = [
        ("-n", args.os_processes.is_some()),
        ("--hosts", args.hosts.is_some()),
        ("--link", args.link.is_some()),
        ("--strategy", args.strategy.is_some()),
        ("--copy", args.copy),
        ("--memory", args.memory.is_some()),
        ("--no-pin", args.no_pin),
        ("--dry-run", args.dry_run),
        ("--dev", args.dev),
        ("--release", args.release),
        ("--no-run", args.no_run),
        ("--no-build", args.no_build),
        ("--skeletons", args.skeletons.skeletons.is_some()),
        ("--format", args.graph.format.is_some()),
        ("--size", !args.graph.sizes.is_empty()),
        ("--argument", !args.graph.arguments.is_empty()),
        ("--include", !args.graph.include.is_empty()),
        ("--pass", !args.graph.passes.pass.is_empty()),
        ("--weights", args.graph.passes.weights.is_some()),
        ("--set", !args.graph.passes.set.is_empty()),
    ];
    if let Some((option, _)) = others.iter().find(|(_, is_given)| *is_given) {
        let message = format!("`{option}` does not apply to `{file}`, which is a compiled program");
        let error = Diagnostic::error(codes::USAGE, message)
            .help("its options are `--ranks`, `--schedulers`, `--mapping`, `--private`, `--prefix`, `--shuffle`, `--stats`, `--profile` and `--trace`");
        return session.fail(Exit::Usage, error);
    }
    let Some(ranks) = args.ranks else {
        let message = format!("the number of ranks of `{file}` is missing");
        let error = Diagnostic::error(codes::USAGE, message).help(format!(
            "state it: `graphmap run {} --ranks 4`",
            paths::word(&args.file)
        ));
        return session.fail(Exit::Usage, error);
    };
    let variables = args.variables().into_iter();
    let mut variables: Vec<(OsString, OsString)> = variables
        .map(|(name, value)| (name.into(), value))
        .collect();
    if args.prefix {
        variables.push((PREFIX.into(), "1".into()));
    }
    if !args.private.is_empty() {
        variables.push((PRIVATE.into(), args.private.join(":").into()));
    }
    let mapping = match &args.mapping {
        Some(path) => Some(mapping(args, ranks, path, &args.graph, session)?),
        None => None,
    };
    start(
        Start {
            program: &args.file,
            ranks,
            arguments: &args.args,
            variables,
            mapping,
            folder: None,
        },
        session,
    )
}

/// Reads the mapping of a file for ranks.
fn mapping(
    args: &RunArgs,
    ranks: NonZeroU32,
    path: &Path,
    graph: &GraphArgs,
    session: &mut Session<'_>,
) -> Outcome<PassedMapping> {
    let how = MappingArgs {
        mapping: args.mapping.clone(),
        ..MappingArgs::simple(NonZeroU32::MIN, "auto")
    };
    let target = target_of_ranks(session, &how)?;
    let network = session.verified_ranks(ranks.get(), graph, &target)?;
    mapping_for_ranks(args, session, path, &network)
}
