//! Runs of compiled programs: `graphmap run ./a.out` and `graphmap mpiexec`.

use super::{is_program, library};
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
use std::path::{Path, PathBuf};

/// Run a compiled MPI program, with the options of other launchers
#[derive(clap::Args, Debug)]
#[command(after_help = "\
For build systems that name a launcher. `graphmap run` has more options.

Examples:
  graphmap mpiexec -n 4 ./a.out
  cmake -DMPIEXEC_EXECUTABLE=\"$(graphmap cc -show-bin)/mpiexec\" ..")]
pub(crate) struct MpiexecArgs {
    /// Number of ranks
    #[arg(short = 'n', long = "np", visible_short_alias = 'c', value_name = "N", default_value = "1", value_parser = crate::cli::mapping::number, allow_negative_numbers = true)]
    ranks: NonZeroU32,
    /// Begin each line of output with the rank
    #[arg(short = 'l', long)]
    prepend_rank: bool,
    /// Program
    #[arg(value_name = "PROGRAM")]
    program: PathBuf,
    /// Arguments of the program
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    args: Vec<OsString>,
}

/// What a run of a compiled program needs.
struct Start<'a> {
    program: &'a Path,
    ranks: NonZeroU32,
    arguments: &'a [OsString],
    variables: Vec<(&'static str, OsString)>,
    mapping: Option<PassedMapping>,
}

/// Runs a compiled program. Blocks until it ends.
fn start(start: Start<'_>, session: &mut Session<'_>) -> Outcome<Exit> {
    let host = library::find(session)?.host();
    let result = supervisor::command(host.as_os_str(), Bound::Program).and_then(|mut command| {
        command
            .arg(start.ranks.to_string())
            .arg(start.program)
            .args(start.arguments);
        command.envs(start.variables);
        if let Some(mapping) = &start.mapping {
            mapping.set_environment(&mut command);
        }
        session.timed("run", |_| child::run(&mut command))
    });
    program_ended(session, start.program, result)
}

pub(crate) fn mpiexec(args: &MpiexecArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let program = found(&args.program);
    if !is_program(&program) {
        let message = format!(
            "`{}` is not a compiled program",
            paths::shown(&args.program)
        );
        let error = Diagnostic::error(codes::PROGRAM, message)
            .help("compile it with `graphmap cc` or `graphmap cxx`");
        return session.fail(Exit::Usage, error);
    }
    let mut variables = Vec::new();
    if args.prepend_rank {
        variables.push((PREFIX, "1".into()));
    }
    let arguments = &args.args;
    start(
        Start {
            program: &program,
            ranks: args.ranks,
            arguments,
            variables,
            mapping: None,
        },
        session,
    )
}

/// Variables of the host program.
const PREFIX: &str = "GRAPHMAP_PREFIX";
const PRIVATE: &str = "GRAPHMAP_PRIVATE";

/// Returns the path of a program, which is searched on PATH if it has no `/`.
fn found(program: &Path) -> PathBuf {
    let is_name = program.components().count() == 1 && !program.exists();
    let path = std::env::var_os("PATH").filter(|_| is_name);
    let folders = path.iter().flat_map(std::env::split_paths);
    let mut paths = folders.map(|folder| folder.join(program));
    paths
        .find(|path| path.is_file())
        .unwrap_or_else(|| program.to_owned())
}

/// Runs the compiled program that `graphmap run` names.
pub(crate) fn run(args: &RunArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let file = paths::shown(&args.file);
    let others = [
        ("--hosts", args.hosts.is_some()),
        ("--link", args.link.is_some()),
        ("--strategy", args.strategy.is_some()),
        ("--copy", args.copy),
        ("--dry-run", args.dry_run),
        ("--dev", args.dev),
        ("--release", args.release),
        ("--no-run", args.no_run),
        ("--no-build", args.no_build),
        ("--size", !args.graph.sizes.is_empty()),
    ];
    if let Some((option, _)) = others.iter().find(|(_, is_given)| *is_given) {
        let message = format!("`{option}` does not apply to `{file}`, which is a compiled program");
        let error = Diagnostic::error(codes::USAGE, message)
            .help("its options are `--ranks`, `--schedulers`, `--mapping`, `--private`, `--prefix`, `--stats`, `--profile` and `--trace`");
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
    let mut variables = args.variables();
    if args.prefix {
        variables.push((PREFIX, "1".into()));
    }
    if !args.private.is_empty() {
        variables.push((PRIVATE, args.private.join(":").into()));
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
        os_processes: args.os_processes,
        mapping: args.mapping.clone(),
        ..MappingArgs::simple(NonZeroU32::MIN, "auto")
    };
    let target = target_of_ranks(session, &how)?;
    let network = session.verified_ranks(ranks.get(), graph, &target)?;
    mapping_for_ranks(args, session, path, &network)
}
