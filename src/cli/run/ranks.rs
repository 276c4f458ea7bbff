//! Projects of ranks without a graph: finds the project, and determines the number of ranks.

use super::args::RunArgs;
use crate::cli::args::is_standard;
use crate::cli::exit::Exit;
use crate::cli::mapping::{MappingArgs, Target};
use crate::cli::paths::{plain, shown, word};
use crate::cli::session::{Outcome, Session};
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::expand::LIMIT;
use graphmap_kpn::network::Verified;
use graphmap_platform::Platform;
use graphmap_wiring::project::Project;
use std::path::{Path, PathBuf};

/// Strategy for ranks without a graph. It assigns blocks of consecutive ranks, as MPI launchers do.
pub(super) const IN_BLOCKS: &str = "stack";

/// Manifest in the folder of every Cargo project.
const MANIFEST: &str = "Cargo.toml";

/// Returns the project of ranks that the command line names by its folder or manifest. Returns
/// `None` if it names a graph, or a folder without a manifest.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the manifest cannot be read, or if it is not of
/// a project of ranks.
pub(super) fn project(args: &RunArgs, session: &mut Session<'_>) -> Outcome<Option<Project>> {
    let Some(folder) = folder(&args.file) else {
        return Ok(None);
    };
    let project = match Project::open(&folder) {
        Ok(Some(project)) => project,
        // A path without a project is reported later, as a graph that cannot be read.
        Ok(None) if !folder.join(MANIFEST).is_file() => return Ok(None),
        Ok(None) => {
            let name = shown(&args.file);
            let message = format!("`{name}` is not marked as a project of ranks");
            let error = Diagnostic::error(codes::NO_RANKS_SAID, message)
                .with_note(format!(
                    "`[package.metadata.graphmap]` of {} has neither `family` nor `graph`",
                    shown(&folder.join(MANIFEST))
                ))
                .help(
                    "add `family = \"mpi\"` to that section if the program uses rsmpi and its first argument is the \
                     number of ranks: `mpi::main(ranks, rank)`",
                )
                .help("for a network, name its graph file");
            return session.fail(Exit::Usage, error);
        }
        Err(failed) => {
            session.report_all(failed);
            return Err(Exit::Usage);
        }
    };
    if project.ranks {
        return Ok(Some(project));
    }
    let message = format!("`{}` is the project of a graph", shown(&args.file));
    let graph = plain(&project.graph);
    let error = Diagnostic::error(codes::NO_RANKS_SAID, message)
        .help(format!("name the graph: `graphmap run {}`", word(&graph)));
    session.fail(Exit::Usage, error)
}

/// Returns the folder that the command line names, directly or by its manifest. Returns `None` for
/// standard input and all other files.
fn folder(file: &Path) -> Option<PathBuf> {
    if is_standard(file) {
        return None;
    }
    if file.is_dir() {
        return Some(file.to_owned());
    }
    let is_manifest = file.file_name().is_some_and(|name| name == MANIFEST) && file.is_file();
    let parent = file.parent().filter(|_| is_manifest)?;
    Some(match parent == Path::new("") {
        true => PathBuf::from("."),
        false => parent.to_owned(),
    })
}

/// Returns the target of the mapping for ranks without a graph.
///
/// # Errors
/// As for [`Session::check_existence`] and [`Session::target`].
pub(super) fn target(session: &mut Session<'_>, how: &MappingArgs) -> Outcome<Target> {
    session.check_existence(how.files().into_iter())?;
    let (platform, hardware) = session.target(how)?;
    Ok(Target { platform, hardware })
}

/// Returns the number of OS processes: that of `-n`, or the number of slots, at most `u32::MAX`.
pub(super) fn os_processes(args: &RunArgs, platform: &Platform) -> u32 {
    let slots = || u32::try_from(platform.slot_count()).unwrap_or(u32::MAX);
    args.os_processes.map_or_else(slots, |said| said.get())
}

/// Returns the number of ranks without a graph. It is the first argument of the program, otherwise
/// the number of processes in the mapping of `--mapping`. Otherwise it is the number of OS
/// processes, if `--hosts`, `-n` or `--strategy` is set. Returns `None` if only the program knows
/// the number.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the first argument is not a number from 1 to the
/// limit. Also fails as [`Session::processes_of_mapping`] does.
pub(super) fn count(
    args: &RunArgs,
    session: &mut Session<'_>,
    platform: &Platform,
) -> Outcome<Option<u32>> {
    if let Some(first) = args.args.first() {
        let number = first.to_str().and_then(|text| text.parse::<u32>().ok());
        return match number.filter(|&number| number > 0 && u64::from(number) <= LIMIT) {
            Some(number) => Ok(Some(number)),
            None => {
                let message = format!("{first:?} is not a number of ranks");
                let error = Diagnostic::error(codes::USAGE, message)
                    .with_note("the first argument of a program of ranks is their number")
                    .help(format!("use a number from 1 to {LIMIT}, such as `-- 1000`"));
                session.fail(Exit::Usage, error)
            }
        };
    }
    if let Some(path) = &args.mapping {
        let count = session.processes_of_mapping(path)?;
        return Ok(u32::try_from(count).ok());
    }
    let is_said = args.hosts.is_some() || args.os_processes.is_some() || args.strategy.is_some();
    Ok(is_said.then(|| os_processes(args, platform)))
}

/// Returns the number of ranks as an argument for the program. A graph determines its number of
/// ranks. `known_ranks` is the number without a graph. Returns `None` if the project is not of
/// ranks, if the program has arguments already, or if the number is unknown.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the first argument and the graph state different
/// numbers.
pub(super) fn rank_argument(
    args: &RunArgs,
    session: &mut Session<'_>,
    project: &Project,
    network: &Verified,
    known_ranks: Option<u32>,
) -> Outcome<Option<String>> {
    let has_graph = folder(&args.file).is_none();
    if !project.ranks {
        return Ok(None);
    }
    let Some(first) = args.args.first() else {
        let ranks_of_graph = has_graph.then(|| network.processes.len().to_string());
        return Ok(ranks_of_graph.or(known_ranks.map(|count| count.to_string())));
    };
    let ranks_of_graph = network.processes.len();
    let number = first.to_str().and_then(|text| text.parse::<usize>().ok());
    match number {
        Some(number) if has_graph && number != ranks_of_graph => {
            let file = shown(&args.file);
            let message = format!("{number} ranks are requested, but {file} has {ranks_of_graph}");
            let error = Diagnostic::error(codes::USAGE, message)
                .help("omit the number to run the ranks of the graph")
                .help(format!(
                    "or run any number of ranks, in consecutive blocks: `graphmap run {}`",
                    word(&project.root)
                ));
            session.fail(Exit::Usage, error)
        }
        _ => Ok(None),
    }
}
