//! `graphmap new`: a project with the code of a graph.

use super::args::{File, GraphArgs, is_standard};
use super::exit::Exit;
use super::output;
use super::session::{Outcome, Session};
use crate::codes;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::Files;
use graphmap_wiring::project::{self, NewProject, Runtime};
use graphmap_wiring::skeleton::Skeletons;
use std::path::{Path, PathBuf};

/// Make a project for a graph: generated wiring, and a file for the function of each kind
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap new farm --from graphs/farm.dot     the project farm, with a copy of the graph
  graphmap new graphs/farm --from graphs/farm.dot
                                               beside the graph, which stays where it is
  graphmap new hello                           with a small graph to begin with

The project builds with cargo alone. Files of functions are yours: they are written once. `graphmap
run` writes what is generated anew when the graph has changed.")]
pub(crate) struct NewArgs {
    /// Folder of the project; its last part is the project's name
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Graph file; without it, a small graph is written to begin with
    #[arg(long, value_name = "FILE")]
    from: Option<File>,
    /// Use the runtime from this folder, as seen from the project's, instead of a copy of it
    #[arg(long, value_name = "PATH")]
    runtime: Option<String>,
    /// Make it a member of the workspace that it lies in, not one of its own
    #[arg(long)]
    member: bool,
    #[command(flatten)]
    graph: GraphArgs,
}

/// The graph of a project that is made from none.
const FIRST_GRAPH: &str = "\
// A first network: numbers are made, squared by four workers, and added up.
digraph NAME {
    numbers;
    worker [replicas=4];
    sum;
    numbers -> worker [type=u64 bundle=share capacity=16];
    worker -> sum [type=u64 bundle=select capacity=16];
}
";

pub(crate) fn run(args: &NewArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let folder = &args.folder;
    let Some(name) = folder.file_name().and_then(|n| n.to_str()) else {
        let message = format!(
            "`{}` does not end in a name for a project",
            folder.display()
        );
        return session.fail(Exit::Usage, Diagnostic::error(codes::USAGE, message));
    };
    if folder.join("Cargo.toml").exists() {
        let message = format!("there is a project in `{}` already", folder.display());
        let diagnostic = Diagnostic::error(codes::USAGE, message)
            .help("`graphmap run` writes what is generated anew when the graph has changed");
        return session.fail(Exit::Usage, diagnostic);
    }
    let (network, graph_path, text) = match &args.from {
        Some(file) if is_standard(file) => {
            let diagnostic =
                Diagnostic::error(codes::USAGE, "a project needs the file of its graph")
                    .help("write it to a file and name that");
            return session.fail(Exit::Usage, diagnostic);
        }
        Some(file) => {
            let network = session.verified(file, &args.graph)?;
            match seen_from(folder, file) {
                Some(path) => (network, path, None),
                None => {
                    let name = file.file_name().unwrap_or_default().to_string_lossy();
                    let text = session
                        .sources
                        .sources()
                        .next()
                        .map(|s| s.text().to_owned());
                    (network, name.into_owned(), text)
                }
            }
        }
        None => {
            let text = FIRST_GRAPH.replace("NAME", &format!("{name:?}"));
            let network = session.verified_text(&format!("{name}.dot"), &text)?;
            (network, format!("{name}.dot"), Some(text))
        }
    };
    let skeletons = skeletons(session, &args.graph)?;
    let new = NewProject {
        name,
        graph_path: &graph_path,
        graph_text: text.as_deref(),
        runtime: match &args.runtime {
            Some(path) => Runtime::Path(path.clone()),
            None => Runtime::Vendored,
        },
        alone: !args.member,
    };
    let mut found = Diagnostics::new();
    let created = project::create(&network, &skeletons, &new, &mut found);
    session.find_all(found);
    let created = created.map_err(|failed| {
        session.find_all(failed);
        Exit::Graph
    })?;
    let mut files = Files::new();
    for (path, file) in created.iter() {
        files.put(folder.join(path), file.clone());
    }
    output::write_quietly(session, &files)?;
    let graph = folder.join(&graph_path);
    let functions = folder.join("src/processes");
    session.tell(&format!(
        "graphmap: made the project {}\n  the graph      {}\n  the functions  {}\n  \
         run it with    graphmap run {}\n",
        folder.display(),
        plain(&graph).display(),
        functions.display(),
        plain(&graph).display(),
    ));
    Ok(Exit::Ok)
}

/// The skeletons of the command line: ours, with those of `--set skeletons=FOLDER` before them.
pub(crate) fn skeletons(session: &mut Session<'_>, graph: &GraphArgs) -> Outcome<Skeletons> {
    let options = Session::options(graph);
    let folder = options.get(graphmap_wiring::emitters::SKELETONS_OPTION);
    match folder.map(|folder| Skeletons::with_folder(Path::new(folder))) {
        None => Ok(Skeletons::built_in()),
        Some(Ok(skeletons)) => Ok(skeletons),
        Some(Err(failed)) => {
            session.find_all(failed);
            Err(Exit::Plugin)
        }
    }
}

/// The path of a graph as seen from a project's folder, where it is where `graphmap run` looks for
/// the project of a graph: beside the folder and named as it is, or in it.
fn seen_from(folder: &Path, file: &Path) -> Option<String> {
    let absolute = |path: &Path| -> Option<PathBuf> {
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        Some(std::fs::canonicalize(parent).ok()?.join(path.file_name()?))
    };
    let (folder, file) = (absolute(folder)?, absolute(file)?);
    let name = file.file_name()?.to_str()?;
    if file.parent()? == folder {
        Some(name.to_owned())
    } else if file.with_extension("") == folder {
        Some(format!("../{name}"))
    } else {
        None
    }
}

/// `graphs/farm/../farm.dot` as `graphs/farm.dot`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir && plain.file_name().is_some() {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}
