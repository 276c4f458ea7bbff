//! `graphmap import`: which languages networks can be read from.

use super::exit::Exit;
use super::session::{Outcome, Session};

/// Say which formats networks can be read from
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Every verb that takes a graph file takes one of any of these formats: the ending of the file tells
which, or `--format`.

Example:
  graphmap check - --format json < net.json")]
pub(crate) struct ImportArgs {}

pub(crate) fn run(_: &ImportArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let mut text = String::from("Formats that are read:\n");
    for front_end in session.registry.front_ends() {
        text += &format!("  {:<12} {}\n", front_end.name(), front_end.about());
    }
    session.show(&text)?;
    Ok(Exit::Ok)
}
