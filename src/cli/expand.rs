//! `graphmap expand`: writes a graph with all abstract declarations expanded.

use super::args::{File, GraphArgs};
use super::exit::Exit;
use super::output;
use super::session::{Outcome, Session};
use crate::to_dot;
use graphmap_kpn::emit::Files;
use graphmap_kpn::json;

/// Write the graph with all abstract declarations expanded, as DOT or JSON
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap expand grid.dot
  graphmap expand grid.dot | dot -Tsvg > grid.svg
  graphmap expand grid.dot -o grid.json
  graphmap expand grid.dot --json | jq '.processes | length'

graphmap reads the output back as the same network.")]
pub(crate) struct ExpandArgs {
    /// Graph file; `-` is standard input [default: `file` in graphmap.toml, or the only graph file
    /// here]
    #[arg(value_name = "FILE", required = false)]
    file: File,
    /// Output file; `-` is standard output
    #[arg(short, long, value_name = "PATH", default_value = "-")]
    output: File,
    /// Write JSON instead of DOT [default: only if the path of -o ends in .json]
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
}

pub(crate) fn run(args: &ExpandArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let network = session.verified(&args.file, &args.graph)?;
    let json = args.json || args.output.extension().is_some_and(|e| e == "json");
    let text = if json {
        json::write(&network, None) + "\n"
    } else {
        to_dot(&network)
    };
    let mut files = Files::new();
    files.generated(&args.output, text);
    output::write_generated(session, &files)?;
    Ok(Exit::Ok)
}
