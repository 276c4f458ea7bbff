//! `graphmap fmt`: formats graph files.

use super::args::{File, STANDARD, is_standard};
use super::exit::Exit;
use super::output;
use super::paths::shown;
use super::session::{Outcome, Session};
use graphmap_kpn::emit::Files;

/// Format graph files: one statement per line, current spellings, comments kept
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap fmt graphs/*.dot
  graphmap fmt --check graphs/*.dot      writes nothing; exits with status 3 if a file would change
  graphmap fmt - < farm.dot              from standard input to standard output

A file with errors stays unchanged; the others are formatted.")]
pub(crate) struct FmtArgs {
    /// Graph files; `-` is standard input [default: `file` in graphmap.toml, or the only graph file
    /// here]
    #[arg(required = false, value_name = "FILE")]
    files: Vec<File>,
    /// Write nothing; exit with status 3 if a file would change
    #[arg(long)]
    check: bool,
    /// Format of the graph files (see `graphmap import`) [default: by file extension; dot for `-`]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
}

pub(crate) fn run(args: &FmtArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let mut files = Files::new();
    let mut worst = Exit::Ok;
    for file in &args.files {
        match session.formatted(file, args.format.as_deref()) {
            Ok(text) if args.check && is_standard(file) => {
                worst = worse(worst, output::check_standard(session, &text));
            }
            Ok(text) if is_standard(file) => files.generated(STANDARD, text.after),
            Ok(text) => files.generated(file, text.after),
            Err(exit) => worst = worse(worst, exit),
        }
    }
    if args.check {
        let exit = output::check(session, &files)?;
        return Ok(worse(worst, exit));
    }
    for (word, path) in output::write_quietly(session, &files)? {
        if word != "unchanged" {
            session.print(&format!("graphmap: formatted {}\n", shown(&path)));
        }
    }
    Ok(worst)
}

/// Returns the more severe of two outcomes: an error takes precedence over a difference, and a
/// difference over success. Of two errors, returns the first.
fn worse(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::Ok, other) | (Exit::Difference, other) if other != Exit::Ok => other,
        (one, _) => one,
    }
}
