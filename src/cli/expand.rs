//! `graphmap expand`: the graph with all that is repeated written out.

use super::args::{File, GraphArgs};
use super::exit::Exit;
use super::output;
use super::session::{Outcome, Session};
use graphmap_kpn::emit::Files;

/// Write the graph out with everything that is repeated, as JSON
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap expand grid.dot
  graphmap expand grid.dot -o grid.json
  graphmap expand grid.dot --pass weigh | jq '.processes | length'")]
pub(crate) struct ExpandArgs {
    /// Graph file; `-` is standard input
    #[arg(value_name = "FILE")]
    file: File,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "PATH", default_value = "-")]
    output: File,
    #[command(flatten)]
    graph: GraphArgs,
}

pub(crate) fn run(args: &ExpandArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let network = session.verified(&args.file, &args.graph)?;
    let mut files = Files::new();
    let text = graphmap_kpn::json::write(&network, None) + "\n";
    files.generated(&args.output, text);
    output::write(session, &files)?;
    Ok(Exit::Ok)
}
