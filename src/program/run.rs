//! Runs the program of a network with a mapping.

use super::build::Build;
use super::passed_mapping::PassedMapping;
use super::passed_tables::PassedTables;
use super::sources;
use super::supervise::Unsupervised;
use crate::codes;
use crate::report::{Diagnosed, Error, Report};
use crate::skeletons::BUILT_IN;
use crate::write;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::network::Verified;
use graphmap_wiring::project::Project;
use graphmap_wiring::skeleton::Skeletons;
use graphmap_wiring::tables::tables;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Options to build and run a program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Run {
    /// Whether to build with optimization.
    pub release: bool,
    /// Arguments of the program.
    pub args: Vec<OsString>,
    /// Additional environment variables of the program. The options of `graphmap run` set
    /// `GRAPHMAP_STATS`, `GRAPHMAP_LINK` and others.
    pub environment: Vec<(OsString, OsString)>,
    /// Network that the program is built for, if the mapping is for the same graph with other
    /// sizes. The program then reads the other processes and channels at start, and neither changes
    /// nor is built again.
    pub built: Option<Verified>,
}

impl Default for Run {
    fn default() -> Run {
        Run {
            release: true,
            args: Vec::new(),
            environment: Vec::new(),
            built: None,
        }
    }
}

/// Updates the project of a graph file, builds it with cargo, and runs its program with a mapping.
/// Blocks until the program ends.
///
/// `graphmap new` makes the project. The mapping decides how many OS processes run, and which of
/// them runs each process. With [`Run::built`], the program is built for that network, and runs
/// another one of the same graph. The program inherits standard input, output and error.
///
/// The exit code of the program is 0 if the network ended, 6 if it was blocked, and 7 if an OS
/// process was lost. It is 8 if a channel would have grown beyond its limit. All other exit codes
/// come from the code of the project.
///
/// # Errors
/// Returns an error if there is no project or its `Cargo.toml` or skeletons cannot be read, if it
/// requires another version of the runtime, if it has no code for a process or port of the
/// mapping's network, if its files cannot be written, if it cannot be built, or if the program
/// cannot be started. Errors of the compiler have positions in the user's files if possible. A
/// program that fails is not an error: the result has its exit status.
pub fn run(
    graph: impl AsRef<Path>,
    mapped: &Mapped,
    how: &Run,
) -> Result<Diagnosed<ExitStatus>, Error> {
    let graph = graph.as_ref();
    let network = how.built.as_ref().unwrap_or(mapped.network());
    let mut sources = network.sources.clone();
    let fail = |found: Diagnostics| Error::new(found, &network.sources);
    let project = Project::find(graph)
        .map_err(fail)?
        .ok_or_else(|| fail(no_project(graph).0.into()))?;
    sources::link(&project).map_err(|wrong| fail((*wrong).into()))?;
    let skeletons = match &project.skeletons {
        Some(folder) => Skeletons::with_folder(&BUILT_IN, folder).map_err(fail)?,
        None => Skeletons::built_in(&BUILT_IN),
    };
    let tables = match &how.built {
        Some(built) => Some(
            tables(mapped.network(), built, &skeletons)
                .map_err(|failed| Error::new(failed, &mapped.network().sources))?,
        ),
        None => None,
    };
    let mut found = Diagnostics::new();
    let regenerated = project
        .regenerate(network, &skeletons, &mut found)
        .map_err(fail)?;
    let written = write::plan(regenerated.files.iter()).and_then(|plan| plan.replace());
    written.map_err(|failed| fail(failed.diagnostic().into()))?;
    let build = Build {
        project: &project,
        release: how.release,
        mpi: None,
        build_folder: None,
        talk: false,
        progress: |_| (),
        building: "",
        supervise: &Unsupervised,
    };
    let (more, built) = build.run(network, regenerated.doubts, &mut sources);
    found.append(more);
    let program = match built {
        Ok(program) => program,
        Err(_) => return Err(Error::new(found, &sources)),
    };
    let cannot = |error: std::io::Error| {
        let message = format!("`{}` cannot be run: {error}", program.display());
        fail(Diagnostic::error(codes::PROGRAM, message).into())
    };
    let passed_mapping = PassedMapping::new(mapped.mapping()).map_err(cannot)?;
    let mut command = Command::new(&program);
    let os_processes = mapped.mapping().bindings.len();
    command
        .args(&how.args)
        .env("GRAPHMAP_OS_PROCESSES", os_processes.to_string());
    passed_mapping.set_environment(&mut command);
    let passed_tables = tables.as_deref().map(PassedTables::new).transpose();
    let passed_tables = passed_tables.map_err(cannot)?;
    if let Some(passed_tables) = &passed_tables {
        passed_tables.set_environment(&mut command);
    }
    let own = network.environment.iter();
    command.envs(
        own.filter(|(name, _)| std::env::var_os(name).is_none())
            .cloned(),
    );
    let environment = how.environment.iter();
    command.envs(environment.map(|(name, value)| (name, value)));
    let status = command.status().map_err(cannot)?;
    Ok(Diagnosed {
        value: status,
        report: Report::new(found, sources),
    })
}

/// Returns the error that a graph has no project, and the graph that owns the project in its place,
/// if there is one.
pub(crate) fn no_project(graph: &Path) -> (Diagnostic, Option<PathBuf>) {
    let beside = graph.with_extension("");
    let manifest = beside.join("Cargo.toml");
    let message = format!("`{}` has no project to run", graph.display());
    let other = Project::open(&beside).ok().flatten();
    let other = other
        .map(|project| project.graph)
        .filter(|graph| graph.is_file());
    let manifest = manifest.display();
    let note = match &other {
        Some(graph) => {
            let graph = graph.display();
            format!("`{manifest}` is the project of another graph, `{graph}`")
        }
        None => format!("graphmap looked for `{manifest}`"),
    };
    let error = Diagnostic::error(codes::NO_PROJECT, message).with_note(note);
    (error, other)
}
