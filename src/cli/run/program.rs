//! Builds and starts the program of a project, and interprets its outcome.

use super::args::RunArgs;
use super::shared_build;
use crate::cli::check::plural;
use crate::cli::child::End;
use crate::cli::exit::Exit;
use crate::cli::paths::{shown, word};
use crate::cli::session::{Outcome, Session};
use crate::cli::supervised::Supervised;
use crate::cli::talk;
use crate::codes;
use crate::program::{Build, Failed, PassedMapping, PassedTables};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::mapping::Mapping;
use graphmap_kpn::network::Verified;
use graphmap_wiring::doubts::Doubt;
use graphmap_wiring::project::Project;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Duration of a build after which `--dev` is suggested.
const LONG: Duration = Duration::from_secs(4);

/// Builds the program of a project, reports the diagnostics of the build, and returns the path of
/// the program. `mpi` is the compiler and the target folder of a build for MPI. Blocks until the
/// build ends.
///
/// # Errors
/// Returns [`Exit::Graph`] if the code does not compile, [`Exit::Usage`] if Cargo fails, and the
/// exit status of the signal if a signal interrupted the build.
pub(crate) fn build(
    args: &RunArgs,
    session: &mut Session<'_>,
    network: &Verified,
    project: &Project,
    doubts: Vec<Doubt>,
    mpi: Option<(&str, &Path)>,
) -> Outcome<PathBuf> {
    let root = &*project.root;
    // A build for MPI has its own folder, because Cargo does not notice another MPI.
    let shared = match mpi {
        Some(_) => None,
        None => shared_build::claim(session, project, args.optimised()),
    };
    let build = Build {
        project,
        release: args.optimised(),
        mpi,
        build_folder: shared.as_ref().map(|shared| &*shared.folder),
        talk: session.may_talk(),
        progress: match session.prints_messages() {
            true => |text| talk::say(&format!("graphmap: {text}\n")),
            false => |_| (),
        },
        building: &format!("building {}", shown(root)),
        supervise: &Supervised,
    };
    let rebuilt = root.join("target/release").is_dir();
    let start = Instant::now();
    let (found, built) = session.timed("build", |s| build.run(network, doubts, &mut s.sources));
    // A hint for repeated builds.
    if session.may_talk() && build.release && !args.release && rebuilt && start.elapsed() > LONG {
        session.print("graphmap: `--dev` builds faster, but the program runs slower\n");
    }
    session.report_all(found);
    built.map_err(|failed| match failed {
        Failed::Interrupted(signal) => Exit::signal(signal),
        Failed::Cargo => Exit::Usage,
        Failed::Code => Exit::Graph,
    })
}

/// Returns a mapping in the form that the runtime reads, in a temporary file.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the file cannot be written.
pub(crate) fn passed_mapping(
    session: &mut Session<'_>,
    mapping: &Mapping,
) -> Outcome<PassedMapping> {
    PassedMapping::new(mapping).or_else(|error| {
        let message = format!("the mapping cannot be passed to the program: {error}");
        session.fail(Exit::Usage, Diagnostic::error(codes::CANNOT_WRITE, message))
    })
}

/// Returns tables in the form that the runtime reads, in a temporary file.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the file cannot be written.
pub(crate) fn passed_tables(session: &mut Session<'_>, tables: &str) -> Outcome<PassedTables> {
    PassedTables::new(tables).or_else(|error| {
        let message = format!("the tables cannot be passed to the program: {error}");
        session.fail(Exit::Usage, Diagnostic::error(codes::CANNOT_WRITE, message))
    })
}

/// Returns the mapping of a file for a run. Its number of OS processes must be that of `-n`, if
/// `-n` is set. Without a graph (`has_graph`), a mapping that was made for another network is not
/// reported.
///
/// # Errors
/// As for [`Session::mapping_file`], and [`Exit::Usage`] if `-n` states another number.
pub(crate) fn mapping_of_file(
    args: &RunArgs,
    session: &mut Session<'_>,
    path: &Path,
    network: &Verified,
    has_graph: bool,
) -> Outcome<Mapping> {
    let mapping = match has_graph {
        true => session.mapping_file(path, network)?,
        false => session.mapping_of_ranks(path, network)?,
    };
    let (count, file) = (mapping.bindings.len(), word(&args.file));
    match args.os_processes {
        Some(asked) if asked.get() as usize != count => {
            let path = path.display();
            let message = format!("`-n {asked}` and `--mapping {path}` disagree");
            let there = plural(count, "OS process");
            let diagnostic = Diagnostic::error(codes::USAGE, message)
                .with_note(format!("the mapping has {there}"))
                .help("omit `-n` to use the number of the mapping")
                .help(format!(
                    "or map onto {asked} with `graphmap partition {file} -n {asked} -o DIR`"
                ));
            session.fail(Exit::Usage, diagnostic)
        }
        _ => Ok(mapping),
    }
}

/// Number of SIGPIPE.
const BROKEN_PIPE: i32 = 13;

/// Converts the outcome of a program to the exit status. Other exit codes than 0 and 6 stay as they
/// are, modulo 256. If a signal asked graphmap to end, returns its status without an error. The
/// same holds for SIGPIPE if the reader of the output has closed the pipe.
///
/// # Errors
/// Reports an error and returns the exit status if another signal ended the program, or
/// [`Exit::Usage`] if the program cannot be run.
pub(crate) fn ended(
    session: &mut Session<'_>,
    program: &Path,
    result: io::Result<End>,
) -> Outcome<Exit> {
    match result {
        Ok(End::Code(0)) => Ok(Exit::Ok),
        Ok(End::Code(6)) => Ok(Exit::Blocked),
        // As in other Unix programs, a reader that closes the pipe is not an error.
        Ok(End::Signal(signal)) if signal == BROKEN_PIPE && talk::is_unread() => {
            Ok(Exit::signal(signal))
        }
        // A shell sees the low eight bits of the code.
        Ok(End::Code(code)) => Ok(Exit::Program(code as u8)),
        Ok(End::Interrupted(signal)) => Ok(Exit::signal(signal)),
        Ok(End::Signal(signal)) => {
            let name = signal_hook::low_level::signal_name(signal);
            let name = name.map_or_else(String::new, |name| format!(" ({name})"));
            let message = format!("signal {signal}{name} ended the program");
            session.fail(
                Exit::signal(signal),
                Diagnostic::error(codes::PROGRAM, message),
            )
        }
        Err(error) => {
            let message = format!("`{}` cannot be run: {error}", program.display());
            session.fail(Exit::Usage, Diagnostic::error(codes::PROGRAM, message))
        }
    }
}
