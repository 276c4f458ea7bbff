//! `graphmap check`: is the graph sound?

use super::args::{File, GraphArgs};
use super::exit::Exit;
use super::levels::Lint;
use super::session::{Outcome, Session};
use super::visible;
use graphmap_kpn::level::Level;

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

/// `1 process`, `2 processes`.
pub(crate) fn plural(count: usize, one: &str) -> String {
    match (count, one.ends_with('s')) {
        (1, _) => format!("1 {one}"),
        (n, true) => format!("{n} {one}es"),
        (n, false) => format!("{n} {one}s"),
    }
}
