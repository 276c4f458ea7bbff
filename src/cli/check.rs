//! `graphmap check`: reports the errors of graphs.

use super::args::{File, GraphArgs};
use super::exit::Exit;
use super::session::{Outcome, Session};
use super::skeletons::{self, SkeletonArgs};
use crate::levels::Lint;
use crate::visible;
use graphmap_kpn::cycles;
use graphmap_kpn::diagnostic::{Diagnostics, Severity};
use graphmap_kpn::level::Level;
use graphmap_kpn::network::Network;
use graphmap_wiring::context::Model;
use graphmap_wiring::emitters::wrong_skeleton;
use graphmap_wiring::project::Project;
use std::path::Path;

/// Check graphs, and report all errors
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap check farm.dot
  graphmap check graphs/*.dot --message-format json
  graphmap check farm.dot --deny warnings --allow G0314
  graphmap check farm.dot --cycles
  some-program | graphmap check - --format json

Exits with status 0 if there are no errors, with 1 if a graph has errors, and with 2 if a file cannot
be read.")]
pub(crate) struct CheckArgs {
    /// Graph files; `-` is standard input [default: `file` in graphmap.toml, or the only graph file
    /// here]
    #[arg(required = false, value_name = "FILE")]
    files: Vec<File>,
    /// List a shortest cycle through the channels between each pair of ports, with capacities and
    /// initial tokens
    #[arg(long)]
    cycles: bool,
    /// Same as `--deny warnings`
    #[arg(long, hide = true)]
    deny_warnings: bool,
    #[command(flatten)]
    skeletons: SkeletonArgs,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
}

pub(crate) fn run(args: &CheckArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    session.show_notes = true;
    if args.deny_warnings {
        let all = (Level::Deny, Lint::Warnings);
        session.levels.command_line.push(all);
    }
    let mut worst = Exit::Ok;
    let mut sound = String::new();
    for file in &args.files {
        let errors = session.errors();
        let checked = session.verified(file, &args.graph).and_then(|network| {
            session.report_all(types(&network));
            if args.cycles {
                session.report_all(cycles::notes(&network));
            }
            skeleton(args, session, file, &network)?;
            // `--deny` may have made a diagnostic an error.
            match session.errors() > errors {
                true => Err(Exit::Graph),
                false => Ok(network),
            }
        });
        match checked {
            Ok(network) => {
                sound += &format!(
                    "{}: {} of {}, {}\n",
                    visible::name(&Session::display(file)),
                    plural(network.processes.len(), "process"),
                    plural(network.kinds.len(), "kind"),
                    plural(network.channels.len(), "channel"),
                );
            }
            Err(exit) if exit.code() > worst.code() => worst = exit,
            Err(_) => {}
        }
    }
    session.flush();
    session.print(&sound);
    Ok(worst)
}

/// Returns warnings about token types that a Rust program cannot use, and a note if only some
/// channels state their type.
fn types(network: &Network) -> Diagnostics {
    let wrong = Model::wrong_types(network)
        .into_iter()
        .map(|mut diagnostic| {
            diagnostic.severity = Severity::Warning;
            diagnostic.with_note(
            "no Rust program can be generated from it; targets in other languages accept any text",
        )
        });
    let mut found = Diagnostics::new();
    found.extend(wrong);
    found.extend(Model::partly_typed(network));
    found
}

/// Warns if no wiring code can be written with the skeleton that the graph names. Does nothing if
/// it names none.
///
/// # Errors
/// As for [`skeletons::read`].
fn skeleton(
    args: &CheckArgs,
    session: &mut Session<'_>,
    file: &Path,
    network: &Network,
) -> Outcome<()> {
    if network.skeleton.is_none() {
        return Ok(());
    }
    let mut options = Session::options(&args.graph);
    args.skeletons.add_to(&mut options);
    let project = Project::find(file).ok().flatten();
    let of_project = project.and_then(|project| project.skeletons);
    let folder = skeletons::folder(&options).or(of_project.as_deref());
    let skeletons = skeletons::read(session, folder)?;
    for mut diagnostic in wrong_skeleton(network, &skeletons).unwrap_or_default() {
        diagnostic.severity = Severity::Warning;
        session.report(diagnostic.with_note("no wiring can be generated from it"));
    }
    Ok(())
}

/// Returns a count with its noun: `1 process`, `2 processes`. The plural of `one` ends in `es` if
/// the noun ends in `s`, and otherwise in `s`.
pub(crate) fn plural(count: usize, one: &str) -> String {
    match (count, one.ends_with('s')) {
        (1, _) => format!("1 {one}"),
        (n, true) => format!("{n} {one}es"),
        (n, false) => format!("{n} {one}s"),
    }
}
