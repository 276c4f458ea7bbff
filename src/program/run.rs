//! Runs the program of a network under a mapping.

use super::build::Build;
use super::handed::Handed;
use super::sources;
use super::supervise::Unsupervised;
use crate::codes;
use crate::report::{Diagnosed, Error, Report};
use crate::skeletons::BUILT_IN;
use crate::write;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::Mapped;
use graphmap_wiring::project::Project;
use graphmap_wiring::skeleton::Skeletons;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// How a program is built and run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Run {
    /// Whether it is built with optimisation.
    pub release: bool,
    /// Arguments of the program.
    pub args: Vec<OsString>,
    /// Variables of the program's environment beside ours: `GRAPHMAP_STATS`, `GRAPHMAP_LINK` and others
    /// are what the options of `graphmap run` set.
    pub environment: Vec<(OsString, OsString)>,
}

impl Default for Run {
    fn default() -> Run {
        Run {
            release: true,
            args: Vec::new(),
            environment: Vec::new(),
        }
    }
}

/// Brings the project of a drawing up to date (`graphmap new` makes it), builds it with cargo, and runs it
/// to its end, each process where the mapping says, in as many OS processes as that has.
///
/// The program has our standard input, output and error. Its exit code is 0 when the network ended, 6 when it
/// blocked, 7 when an OS process was lost, 8 when channels would have had to grow beyond the ceiling; else its
/// own.
///
/// # Errors
/// When there is no project, when its code does not compile (shown where it can be mended), and when the program
/// cannot be started.
pub fn run(
    drawing: impl AsRef<Path>,
    mapped: &Mapped,
    how: &Run,
) -> Result<Diagnosed<ExitStatus>, Error> {
    let drawing = drawing.as_ref();
    let network = mapped.network();
    let mut sources = network.sources.clone();
    let fail = |found: Diagnostics| Error::new(found, &network.sources);
    let project = Project::find(drawing)
        .map_err(fail)?
        .ok_or_else(|| fail(no_project(drawing).0.into()))?;
    sources::link(&project).map_err(|wrong| fail((*wrong).into()))?;
    let skeletons = match &project.skeletons {
        Some(folder) => Skeletons::with_folder(&BUILT_IN, folder).map_err(fail)?,
        None => Skeletons::built_in(&BUILT_IN),
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
        tells: |_| (),
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
    let handed = Handed::new(mapped.mapping()).map_err(cannot)?;
    let mut command = Command::new(&program);
    let os_processes = mapped.mapping().bindings.len();
    command
        .args(&how.args)
        .env("GRAPHMAP_OS_PROCESSES", os_processes.to_string());
    handed.tell(&mut command);
    let environment = how.environment.iter();
    command.envs(environment.map(|(name, value)| (name, value)));
    let status = command.status().map_err(cannot)?;
    Ok(Diagnosed {
        value: status,
        report: Report::new(found, sources),
    })
}

/// That there is no project for a drawing; and the graph whose project is in its place, if one is.
pub(crate) fn no_project(drawing: &Path) -> (Diagnostic, Option<PathBuf>) {
    let beside = drawing.with_extension("");
    let manifest = beside.join("Cargo.toml");
    let message = format!("`{}` has no project to run", drawing.display());
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
