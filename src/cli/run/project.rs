//! Finds and updates the project of a graph for a run.

use super::args::RunArgs;
use super::outputs;
use crate::cli::exit::Exit;
use crate::cli::paths::{shown, word};
use crate::cli::ranks_graph::GENERATED_FROM_PROFILE;
use crate::cli::session::{Outcome, Session};
use crate::cli::{gitignore, output, skeletons, tables};
use crate::codes;
use crate::program::{self, no_project as no_project_of};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::Files;
use graphmap_kpn::network::Verified;
use graphmap_wiring::doubts::Doubt;
use graphmap_wiring::project::{Project, RANKS_GRAPH, Regenerated};
use std::path::{Path, PathBuf};

/// A project that is ready to be built.
pub(crate) struct Ready {
    pub(crate) project: Project,
    /// Doubts about the user's code, which may no longer fit the graph.
    pub(crate) doubts: Vec<Doubt>,
    /// Network that the program is built for, if the command line sets sizes of the graph.
    pub(crate) built: Option<Verified>,
    /// Tables of the network to run. `None` if the program is built for that network.
    pub(crate) tables: Option<String>,
}

/// Returns the project of the graph, or `ranks_project`, after updating its generated files. They
/// depend on the sizes in the graph, not on sizes of the command line. `network` is the one to run.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the command line sets sizes or arguments for
/// a project of ranks. Also fails as [`tables::built`] and [`tables::tables`] do.
///
/// Reports the diagnostics and returns [`Exit::Usage`] if there is no project, or if it cannot be
/// read, linked or written. Returns [`Exit::Plugin`] if its wiring cannot be made, and
/// [`Exit::Graph`] if a level made a diagnostic an error. Also fails as [`skeletons::read`] and
/// [`outputs::check_in`] do.
pub(crate) fn find_project(
    args: &RunArgs,
    session: &mut Session<'_>,
    ranks_project: Option<Project>,
    network: &Verified,
) -> Outcome<Ready> {
    let file = &args.file;
    let is_changed = !args.graph.sizes.is_empty() || !args.graph.arguments.is_empty();
    if ranks_project.is_some() && is_changed {
        let message = "`-D` and `-A` change a graph, but a project of ranks has no graph";
        let error = Diagnostic::error(codes::USAGE, message);
        return session.fail(Exit::Usage, error.help("omit them"));
    }
    let project =
        match ranks_project.map_or_else(|| Project::find(file), |project| Ok(Some(project))) {
            Ok(Some(project)) => project,
            Ok(None) => return no_project(session, file),
            Err(failed) => {
                session.report_all(failed);
                return Err(Exit::Usage);
            }
        };
    let mut options = Session::options(&args.graph);
    args.skeletons.add_to(&mut options);
    let folder = skeletons::folder(&options).or(project.skeletons.as_deref());
    let skeletons = skeletons::read(session, folder)?;
    outputs::check_in(args, session, &project)?;
    link(session, &project)?;
    let built = tables::built(session, file, &args.graph)?;
    let tables = tables::tables(session, network, built.as_ref(), &skeletons)?;
    let mut found = Diagnostics::new();
    let regenerated = session.timed("wiring", |_| {
        project.regenerate(built.as_ref().unwrap_or(network), &skeletons, &mut found)
    });
    session.report_all(found);
    let Regenerated { files, doubts } = regenerated.map_err(|failed| {
        session.report_all(failed);
        Exit::Plugin
    })?;
    session.unless_denied()?;
    for (word, path) in output::write_quietly(session, &files)? {
        if word != "unchanged" && path != project.fitting() {
            session.print(&format!("graphmap: {word} {}\n", shown(&path)));
        }
    }
    Ok(Ready {
        project,
        doubts,
        built,
        tables,
    })
}

/// Links a project to the sources of the runtime, adds the link to `.gitignore` if it is new, and
/// completes the lock file.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the project requires another version of the
/// runtime, or if a file cannot be written.
pub(crate) fn link(session: &mut Session<'_>, project: &Project) -> Outcome<()> {
    let linked = match program::link(project) {
        Ok(linked) => linked,
        Err(wrong) => return session.fail(Exit::Usage, *wrong),
    };
    report_changed(session, linked.changed.as_deref());
    output::write_changes(session, &project.lock())?;
    let Some(link) = linked.made else {
        return Ok(());
    };
    session.print(&format!("graphmap: linked {}\n", shown(&link)));
    if link.parent() != Some(&*project.root) {
        return Ok(());
    }
    let mut files = Files::new();
    gitignore::put(&project.root, true, &mut files);
    output::write_changes(session, &files)
}

/// Prints that the sources of the runtime had been changed, if `changed` names their new folder.
pub(crate) fn report_changed(session: &mut Session<'_>, changed: Option<&Path>) {
    if let Some(changed) = changed {
        session.print(&format!(
            "graphmap: the sources of the runtime were changed, and are unpacked again; \
             the changed sources are in {}\n",
            shown(changed)
        ));
    }
}

pub(crate) fn no_project<T>(session: &mut Session<'_>, file: &Path) -> Outcome<T> {
    let (mut error, other) = no_project_of(file);
    let of_ranks = is_of_ranks(session, file);
    if of_ranks {
        error = error
            .with_note("it is a graph of ranks, which must be in the project of their program");
        error = match projects_of_ranks(file).as_slice() {
            [] => error.help(format!(
                "move it to `{RANKS_GRAPH}` in the folder of that project, or set `graph = \"PATH\"` in \
                 `[package.metadata.graphmap]` of its Cargo.toml"
            )),
            [project, ..] => error.help(format!(
                "the project {} expects it at {}: move it there",
                shown(&project.root),
                word(&project.graph)
            )),
        };
        return session.fail(Exit::Usage, error);
    }
    let help = match other {
        Some(graph) => format!(
            "run that graph with `graphmap run {}`, or rename this graph to give it a project of its own",
            word(&graph)
        ),
        None => format!(
            "make a project with a file for each function: `graphmap new {} --from {}`",
            word(&file.with_extension("")),
            word(file)
        ),
    };
    session.fail(Exit::Usage, error.help(help))
}

/// Returns true if `graphmap import` wrote the graph file from a profile. The text is the one that
/// the session has read. Returns false if it has not read the file.
fn is_of_ranks(session: &Session<'_>, file: &Path) -> bool {
    let name = Session::display(file);
    let mut sources = session.sources.sources();
    let source = sources.find(|source| source.name() == name);
    source.is_some_and(|source| source.text().starts_with(GENERATED_FROM_PROFILE))
}

/// Returns the projects of ranks whose graph file does not exist, in the folder of `file` and in
/// its direct subfolders. The project in the folder itself comes first, the others follow in order
/// of name.
fn projects_of_ranks(file: &Path) -> Vec<Project> {
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // Without `./`, as a user would write it.
    let inside = entries.map(|entry| file.with_file_name(entry.file_name()));
    let mut folders: Vec<PathBuf> = inside.collect();
    folders.sort();
    folders.insert(0, folder.to_owned());
    let projects = folders
        .iter()
        .filter_map(|folder| Project::open(folder).ok().flatten());
    projects
        .filter(|project| project.ranks && !project.graph.exists())
        .collect()
}

/// Checks that the manifest lets `mpiexec` start the program of a project as several OS processes
/// of one run.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the project has no MPI link, or replaces
/// `mpi-sys`.
pub(crate) fn has_link(session: &mut Session<'_>, project: &Project) -> Outcome<()> {
    let root = shown(&project.root);
    if !project.mpi {
        let message = format!("the project {root} has no MPI link");
        let error = link_helps(Diagnostic::error(codes::NO_LINK, message), project);
        return session.fail(Exit::Usage, error);
    }
    if project.patches_mpi_sys {
        let message = format!("the MPI link of the project {root} cannot reach MPI");
        let error = Diagnostic::error(codes::NO_LINK, message)
            .with_note("it calls MPI through `mpi-sys`, which `[patch.crates-io]` in Cargo.toml replaces")
            .help("remove `mpi-sys` from that section; a library that calls `mpi-sys` directly runs on one host only");
        return session.fail(Exit::Usage, error);
    }
    Ok(())
}

/// Adds help about how a project gets an MPI link.
pub(crate) fn link_helps(diagnostic: Diagnostic, project: &Project) -> Diagnostic {
    let folder = match project.root.file_name() {
        Some(_) => word(&project.root),
        None => ".".to_owned(),
    };
    let update = format!("add it with `graphmap new {folder} --update --link mpi`");
    link_lines(diagnostic.help(update), project)
}

/// Adds help about the manual changes for an MPI link.
pub(crate) fn link_lines(diagnostic: Diagnostic, project: &Project) -> Diagnostic {
    let (old, new) = match project.ranks {
        true => (
            "mpi::main(ranks, rank)",
            "graphmap_link_mpi::main(|| mpi::network(ranks, rank))",
        ),
        false => ("graphmap_runtime::main", "graphmap_link_mpi::main"),
    };
    diagnostic.help(format!(
            "or add `graphmap-link-mpi = {{ path = \".graphmap/graphmap-link-mpi\" }}` to the dependencies in Cargo.toml, \
             and call `{new}` in src/main.rs instead of `{old}`"
        ))
}

/// Reports doubts about the user's code that no build will check. Doubts that only the compiler can
/// confirm get a help with the command for that.
pub(crate) fn unasked(args: &RunArgs, session: &mut Session<'_>, doubts: Vec<Doubt>) {
    let asks = format!(
        "check with the compiler: `graphmap run {} --no-run`",
        word(&args.file)
    );
    for doubt in doubts {
        session.report(match doubt.certain {
            true => doubt.if_unchecked,
            false => doubt.if_unchecked.help(asks.as_str()),
        });
    }
}
