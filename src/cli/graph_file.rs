//! `graphmap partition` for graphs without names, in the file formats of METIS and Scotch.

use super::args::is_standard;
use super::exit::Exit;
use super::partition::args::PartitionArgs;
use super::progress::{Patience, Progress};
use super::session::{Outcome, Session};
use super::{output, shown_graph, talk};
use crate::codes;
use graphmap_graphfile::{Format, GraphFile, mapping, partition, read};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::Files;
use graphmap_kpn::input::Limit;
use graphmap_plan::{BarePlan, BareRequest, plan_bare};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(crate) fn run(
    format: Format,
    args: &PartitionArgs,
    session: &mut Session<'_>,
) -> Outcome<Exit> {
    only_what_a_graph_has(format, args, session)?;
    session.solver(&args.mapping)?;
    let file = graph(format, &args.file, session)?;
    let named = args.mapping.hosts.is_some();
    let (platform, _) = session.target(&args.mapping)?;
    let patience = args.mapping.patience(session.registry);
    let watch = patience.as_ref().map(Patience::watch);
    let request = BareRequest {
        platform: named.then_some(&platform),
        blocks: args.mapping.os_processes.map(|n| n.get() as usize),
        options: session.search_options(&args.mapping, watch)?,
        objective: args.mapping.objective(),
        imbalance: args.mapping.imbalance / 100.0,
    };
    let progress = Progress::start(
        session,
        "searching for a partition",
        watch,
        args.mapping.time,
    );
    let muffled = talk::Muffled::begin();
    let result = session.timed("map", |_| plan_bare(&file.graph, &request));
    drop((muffled, progress));
    let exit = result
        .as_ref()
        .err()
        .map_or(Exit::Ok, super::mapping::exit_of);
    let plan = session.take(exit, result)?;
    session.unless_denied()?;
    let name = Session::display(&args.file);
    let mut shown = match args.json {
        true => shown_graph::as_json(&name, format, &file, &plan),
        false => shown_graph::as_text(&name, &file, &plan, named),
    };
    if !named && args.mapping.os_processes.is_none() && !args.json {
        shown += "\nnote: all vertices are in one block; set the number with `-n` or `--hosts`\n";
    }
    if let Some(folder) = &args.output_dir {
        let mut files = Files::new();
        let (path, text) = written(format, &args.file, &file, &plan, folder);
        files.generated(path, text);
        output::write_generated(session, &files)?;
    }
    session.show(&shown)?;
    Ok(Exit::Ok)
}

/// Refuses options about processes, because the graph has none.
///
/// # Errors
/// Reports an error about the first such option and returns [`Exit::Usage`].
fn only_what_a_graph_has(
    format: Format,
    args: &PartitionArgs,
    session: &mut Session<'_>,
) -> Outcome<()> {
    let passes = &args.graph.passes;
    let options = [
        (args.mapping.mapping.is_some(), "mapping"),
        (!args.compare.is_empty(), "compare"),
        (args.mapping.uses_modules(), "modules"),
        (args.mapping.previous.is_some(), "previous"),
        (!passes.pass.is_empty(), "pass"),
        (passes.weights.is_some(), "weights"),
        (!passes.set.is_empty(), "set"),
    ];
    let mut said = options
        .iter()
        .filter(|(said, _)| *said)
        .map(|(_, name)| *name);
    let Some(option) = args.mapping.rules.first().or_else(|| said.next()) else {
        return Ok(());
    };
    let language = format.name();
    let message =
        format!("`--{option}` is for networks: vertices of a {language} graph have no names");
    let diagnostic = Diagnostic::error(codes::USAGE, message);
    session.fail(
        Exit::Usage,
        diagnostic.help("omit it, or write the network in DOT"),
    )
}

fn graph(format: Format, path: &Path, session: &mut Session<'_>) -> Outcome<GraphFile> {
    let source = session.text_file(path, Limit::NETWORK)?;
    let mut found = Diagnostics::new();
    let file = session.timed(format.name(), |_| read(&source, format, &mut found));
    session.report_all(found);
    file.ok_or(Exit::Graph)
}

/// Returns the path and the text of the partition, with the file name that METIS and Scotch would
/// use. The path is in `folder`, and its name begins with the name of the graph file `path`, or
/// with `graph` for standard input.
fn written(
    format: Format,
    path: &Path,
    file: &GraphFile,
    plan: &BarePlan,
    folder: &Path,
) -> (PathBuf, String) {
    // A path need not be Unicode.
    let mut name: OsString = match is_standard(path) {
        true => "graph".into(),
        false => path.file_name().unwrap_or_default().to_owned(),
    };
    match format {
        Format::Metis => {
            name.push(format!(".part.{}", plan.bindings.len()));
            (folder.join(name), partition(&plan.block_of))
        }
        Format::Scotch => {
            let bare = Path::new(&name);
            if bare.extension().is_some_and(|ending| ending == "grf") {
                name = bare.file_stem().unwrap_or_default().to_owned();
            }
            name.push(".map");
            (folder.join(name), mapping(file, &plan.block_of))
        }
    }
}
