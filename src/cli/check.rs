//! `graphmap check`: is the graph sound?

use super::args::{File, GraphArgs};
use super::exit::Exit;
use super::levels::Lint;
use super::session::{Outcome, Session};
use super::visible;
use graphmap_kpn::diagnostic::{Diagnostics, Severity};
use graphmap_kpn::level::Level;
use graphmap_kpn::network::Network;
use graphmap_wiring::context::Model;

/// Check graphs: report all that is wrong with them
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap check farm.dot
  graphmap check graphs/*.dot --message-format json
  graphmap check farm.dot --deny warnings --allow G0314
  some-program | graphmap check - --format json

Ends with 0 when there are no errors, with 1 when there are.")]
pub(crate) struct CheckArgs {
    /// Graph files; `-` is standard input. Left out: that of graphmap.toml, or the only drawing here
    #[arg(required = false, value_name = "FILE")]
    files: Vec<File>,
    /// As `--deny warnings`
    #[arg(long, hide = true)]
    deny_warnings: bool,
    #[command(flatten)]
    graph: GraphArgs,
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
        match session.verified(file, &args.graph) {
            Ok(network) => {
                session.find_all(types(&network));
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
    session.tell(&sound);
    Ok(worst)
}

/// What will be wrong with the types of tokens once the program is written.
fn types(network: &Network) -> Diagnostics {
    let wrong = Model::wrong_types(network).into_iter().map(|mut finding| {
        finding.severity = Severity::Warning;
        finding.with_note("a program in Rust cannot be made from it; other targets take any text")
    });
    let mut found = Diagnostics::new();
    found.extend(wrong);
    found
}

/// `1 process`, `2 processes`.
pub(crate) fn plural(count: usize, one: &str) -> String {
    match (count, one.ends_with('s')) {
        (1, _) => format!("1 {one}"),
        (n, true) => format!("{n} {one}es"),
        (n, false) => format!("{n} {one}s"),
    }
}
