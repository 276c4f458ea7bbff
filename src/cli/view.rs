//! `graphmap view`: shows a network as a table, as JSON or as a picture.

use super::args::{File, GraphArgs, is_standard};
use super::cargo;
use super::exit::Exit;
use super::session::{Outcome, Session};
use super::summary::Summary;
use super::{output, paths};
use crate::codes;
use crate::visible;
use clap::ValueEnum;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::emit::Files;
use graphmap_kpn::network::Network;
use graphmap_view::picture::Picture;
use graphmap_view::{MOST_FOLDED, draw};
use std::ffi::OsString;
use std::io;
use std::path::Path;

const INSTALL: &str = "install it with `cargo install --path modules/render` in graphmap's sources";

/// Returns the format in which Graphviz writes a picture for a path: its extension if that is a
/// known format, and otherwise `png`.
fn drawn_as(path: &Path) -> &str {
    let known = ["ps", "jpg", "gif", "webp"];
    let extension = path.extension().and_then(|end| end.to_str());
    extension.filter(|end| known.contains(end)).unwrap_or("png")
}

/// Show a network as a table, as JSON, or as a picture
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap view farm.dot                          kinds, ports, and traffic between kinds
  graphmap view farm.dot -o farm.svg              a picture, without Graphviz
  graphmap view farm.dot -o farm.pdf              the same, by the tool graphmap-render
  graphmap view farm.dot -o farm.svg --detail nodes
                                                  the nodes of the file, before expansion
  graphmap view farm.dot --json | jq '.kinds[].name'
  graphmap farm.dot -n 4 --emit farm.svg          a picture of the mapping")]
pub(crate) struct ViewArgs {
    /// Graph file; `-` is standard input [default: `file` in graphmap.toml, or the only graph file
    /// here]
    #[arg(value_name = "FILE", required = false)]
    file: File,
    /// Output file; `-` is standard output. Its extension selects the format: .svg (a picture),
    /// .png or .pdf (by the tool graphmap-render), .json, or .txt (a table, also the format of
    /// standard output)
    #[arg(short, long, value_name = "PATH", default_value = "-")]
    output: File,
    /// Write a picture
    #[arg(long, conflicts_with = "json")]
    svg: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Elements that a picture or a text shows [default: processes; above 200 of them, folded in a
    /// picture; above 24 of them, kinds in a text]
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "json")]
    detail: Option<Detail>,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Detail {
    /// Each process
    Processes,
    /// Samples of repeated modules and processes
    Folded,
    /// Each kind of process
    Kinds,
    /// Each node of the graph file, before expansion (also for graphs with errors)
    #[value(alias = "drawing")]
    Nodes,
}

/// Maximum number of processes that a text shows one by one, unless `--detail` is set.
const MOST_LISTED: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Svg,
    /// A picture that the tool `graphmap-render` converts to this format.
    Rendered(&'static str),
}

pub(crate) fn run(args: &ViewArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let form = form(args, session)?;
    let content = if args.detail == Some(Detail::Nodes) {
        // Nodes can be shown even if the network has errors.
        let declared = session.declared_for_picture(&args.file, &args.graph)?;
        session.timed("draw", |_| show(&Picture::of_graph(&declared), form))
    } else {
        let network = session.verified(&args.file, &args.graph)?;
        match form {
            Form::Json => Summary::of(&network).json(&network),
            Form::Text => visible::text(&text(&network, args.detail)).into_owned(),
            Form::Svg | Form::Rendered(_) => session.timed("draw", |_| {
                let picture = picture(&network, args.detail);
                show(&picture, form)
            }),
        }
    };
    let content = match form {
        Form::Rendered(format) => rendered(&content, format, session)?,
        Form::Text | Form::Json | Form::Svg => content.into_bytes(),
    };
    let mut files = Files::new();
    files.generated(&args.output, content);
    output::write_generated(session, &files)?;
    Ok(Exit::Ok)
}

fn form(args: &ViewArgs, session: &mut Session<'_>) -> Outcome<Form> {
    let ending = args.output.extension().map(|e| e.to_string_lossy());
    let ending = ending.map(|ending| ending.to_ascii_lowercase());
    let told = match (args.svg, args.json) {
        (true, _) => Form::Svg,
        (_, true) => Form::Json,
        _ if is_standard(&args.output) => Form::Text,
        _ => match ending.as_deref() {
            Some("svg") => Form::Svg,
            Some("png") => Form::Rendered("png"),
            Some("pdf") => Form::Rendered("pdf"),
            Some("json") if args.detail.is_none() => Form::Json,
            None | Some("txt" | "text" | "md") => Form::Text,
            Some(_) => {
                let message = format!(
                    "`view` does not write files like `{}`",
                    args.output.display()
                );
                let (path, file) = (paths::word(&args.output), paths::word(&args.file));
                let other = match ending.as_deref() {
                    Some("dot" | "gv") => {
                        format!("`graphmap expand {file} > {path}` writes a graph")
                    }
                    _ => format!(
                        "Graphviz writes other formats: `graphmap expand {file} | dot -T{} -o {path}`",
                        drawn_as(&args.output)
                    ),
                };
                let diagnostic = Diagnostic::error(codes::USAGE, message)
                    .help("the extensions are `.svg`, `.png` and `.pdf` (pictures), `.json` (without `--detail`) and `.txt`")
                    .help(other);
                return session.fail(Exit::Usage, diagnostic);
            }
        },
    };
    Ok(told)
}

/// Returns a picture of the elements `detail`. If it is `None`, these are all processes, or samples
/// if there are many.
fn picture(network: &Network, detail: Option<Detail>) -> Picture {
    match detail {
        Some(Detail::Kinds) => Picture::of_kinds(network),
        Some(Detail::Folded) => Picture::folded(network, MOST_FOLDED),
        Some(_) => Picture::of_processes(network),
        None => Picture::of_network(network),
    }
}

fn show(picture: &Picture, form: Form) -> String {
    match form {
        Form::Svg | Form::Rendered(_) => draw(picture),
        Form::Text | Form::Json => visible::text(&picture.text()).into_owned(),
    }
}

/// Converts a picture by the tool `graphmap-render`, and returns its output. The tool is separate
/// because renderers take long to compile, and few users need them.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the tool does not exist, cannot be run or
/// rejects its input, and [`Exit::Plugin`] if it fails. Returns the exit status of the signal if a
/// signal asked graphmap to end.
fn rendered(svg: &str, format: &str, session: &mut Session<'_>) -> Outcome<Vec<u8>> {
    let Some(tool) = graphmap_plugin::find("graphmap-", "render") else {
        let message = format!(
            "a picture as {} needs the tool `graphmap-render`, which is not on PATH",
            format.to_uppercase()
        );
        let missing = Diagnostic::error(codes::NO_RENDER, message)
            .help(INSTALL)
            .help("or write a picture as `.svg`, which browsers show");
        return session.fail(Exit::Usage, missing);
    };
    let arguments = ["-", "-o", "-", "--format", format].map(OsString::from);
    let cannot_run = |error: &io::Error| {
        let message = format!("`{}` cannot be run: {error}", tool.display());
        Diagnostic::error(codes::NO_RENDER, message).help(INSTALL)
    };
    let output = session.timed("graphmap-render", |s| {
        cargo::output(tool.as_os_str(), &arguments, svg.as_bytes(), &cannot_run, s)
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim_end();
    let with_output = |diagnostic: Diagnostic| match said {
        "" => diagnostic,
        _ => diagnostic.with_note(format!("its output:\n{said}")),
    };
    if !output.status.success() {
        let message = format!("`{}` failed ({})", tool.display(), output.status);
        let exit = match output.status.code() {
            Some(2) => Exit::Usage,
            _ => Exit::Plugin,
        };
        let failed = Diagnostic::error(codes::NO_RENDER, message);
        return session.fail(exit, with_output(failed));
    }
    if !said.is_empty() {
        let message = "the picture may differ from the SVG";
        let warning = Diagnostic::warning(codes::NO_RENDER, message);
        session.report(with_output(warning));
        session.unless_denied()?;
    }
    Ok(output.stdout)
}

/// Returns the summary. Appends the channels of each process if there are at most [`MOST_LISTED`]
/// processes, or if `detail` requests it.
fn text(network: &Network, detail: Option<Detail>) -> String {
    let text = Summary::of(network).text(network);
    if detail.is_none() && network.processes.len() > MOST_LISTED || detail == Some(Detail::Kinds) {
        return text;
    }
    format!("{text}\n{}", Picture::of_processes(network).text())
}
