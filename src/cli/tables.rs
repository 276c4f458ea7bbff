//! Sizes and arguments of the command line (`-D`, `-A`) for a program that was built for the sizes
//! in the graph: the program reads other tables at start.

use super::args::GraphArgs;
use super::exit::Exit;
use super::session::{Outcome, Session};
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::network::Verified;
use graphmap_wiring::project::Project;
use graphmap_wiring::skeleton::Skeletons;
use graphmap_wiring::tables;
use std::path::Path;

/// Returns the network that the program of a graph is built for, if the command line sets sizes or
/// arguments of the graph, or if the number of OS processes determines its size. The sizes of
/// `graphmap.toml` stay. Otherwise returns `None`, because the program is then built for the
/// network of the run.
///
/// # Errors
/// Reports the errors, without warnings, and returns the exit status, as [`Session::verified`]
/// does.
pub(crate) fn built(
    session: &mut Session<'_>,
    file: &Path,
    graph: &GraphArgs,
) -> Outcome<Option<Verified>> {
    if graph.sizes.is_empty() && graph.arguments.is_empty() && !session.fitted {
        return Ok(None);
    }
    let unsized_graph = GraphArgs {
        sizes: Vec::new(),
        arguments: Vec::new(),
        ..graph.clone()
    };
    // The warnings were reported when the network of the run was read.
    let os_processes = session.os_processes.take();
    let network = session.only_errors(|s| s.verified(file, &unsized_graph));
    session.os_processes = os_processes;
    let network = network?;
    Ok(Some(network))
}

/// Returns the tables by which the program of `built` runs `network`. Returns `None` if `built` is
/// `None`.
///
/// # Errors
/// Reports the errors and returns [`Exit::Graph`] if the program cannot run this network.
pub(crate) fn tables(
    session: &mut Session<'_>,
    network: &Verified,
    built: Option<&Verified>,
    skeletons: &Skeletons,
) -> Outcome<Option<String>> {
    let Some(built) = built else {
        return Ok(None);
    };
    let tables = session.timed("tables", |_| tables::tables(network, built, skeletons));
    tables.map(Some).map_err(|failed| {
        session.report_all(failed);
        Exit::Graph
    })
}

/// Checks that the command line sets no arguments (`-A`), because the launch files that are written
/// do not pass them. The values are in the code of the program.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if it sets some.
pub(crate) fn no_arguments(session: &mut Session<'_>, graph: &GraphArgs) -> Outcome<()> {
    if graph.arguments.is_empty() {
        return Ok(());
    }
    let message = "`-A` has no effect, because launch files do not pass arguments to this program";
    let error = Diagnostic::error(codes::USAGE, message);
    let help = "write the code or the tables of the program with it: `graphmap GRAPH -A NAME.PARAMETER=VALUE --emit PATH`";
    session.fail(Exit::Usage, error.help(help))
}

/// Returns the tables as [`tables()`] does, for the project of a graph file. Returns `None` if
/// there is no project, or if the command line sets no sizes.
///
/// # Errors
/// As for [`built`], [`tables()`] and [`skeletons::read`](super::skeletons::read).
pub(crate) fn of_project(
    session: &mut Session<'_>,
    file: &Path,
    graph: &GraphArgs,
    network: &Verified,
    project: Option<&Project>,
) -> Outcome<Option<String>> {
    let Some(project) = project else {
        return Ok(None);
    };
    let built = built(session, file, graph)?;
    let skeletons = super::skeletons::read(session, project.skeletons.as_deref())?;
    tables(session, network, built.as_ref(), &skeletons)
}
