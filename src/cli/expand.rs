//! `graphmap expand`: writes a graph with all abstract declarations expanded.

use super::args::{File, GraphArgs};
use super::exit::Exit;
use super::output;
use super::session::{Outcome, Session};
use crate::to_dot;
use clap::ValueEnum;
use graphmap_dot::write;
use graphmap_exchange::{graphml, node_link};
use graphmap_kpn::emit::Files;
use graphmap_kpn::json;

/// Write the graph with all abstract declarations expanded, as DOT, JSON, GraphML or CPA
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap expand grid.dot
  graphmap expand grid.dot | dot -Tsvg > grid.svg
  graphmap expand grid.dot -o grid.json
  graphmap expand grid.dot --to graphml > grid.graphml
  graphmap expand prime.cpa --to cpa -D numprimes=50
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
    /// Format to write [default: by the extension of the path of -o; dot for `-`]
    #[arg(long, value_name = "FORMAT")]
    to: Option<To>,
    /// Same as `--to json`
    #[arg(long, conflicts_with = "to")]
    json: bool,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// Graphviz DOT
    Dot,
    /// A network as JSON
    Json,
    /// GraphML
    Graphml,
    /// Node-link JSON of NetworkX
    NodeLink,
    /// The notation of (CM)2PI
    Cpa,
}

pub(crate) fn run(args: &ExpandArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let network = session.verified(&args.file, &args.graph)?;
    let ends_with = |ending: &str| args.output.extension().is_some_and(|e| e == ending);
    let to = args.to.unwrap_or(match () {
        () if args.json || ends_with("json") => To::Json,
        () if ends_with("graphml") => To::Graphml,
        () if ends_with("cpa") => To::Cpa,
        () => To::Dot,
    });
    let error = match to {
        To::Json | To::Cpa => None,
        To::Dot => write::check(&network).or_else(|| write::unnamed(&network)),
        To::NodeLink | To::Graphml => write::check(&network),
    };
    if let Some(error) = error {
        session.report(error);
        return Err(Exit::Usage);
    }
    if !matches!(to, To::Json | To::Cpa)
        && let Some(warning) = write::lost(&network)
    {
        session.report(warning);
    }
    let text = match to {
        To::Dot => to_dot(&network),
        To::Json => json::write(&network, None) + "\n",
        To::NodeLink => node_link::write(&network),
        To::Graphml | To::Cpa => {
            let written = match to {
                To::Cpa => graphmap_cpa::write(&network),
                _ => graphml::write(&network),
            };
            match written {
                Ok(text) => text,
                Err(errors) => {
                    session.report_all(errors);
                    return Err(Exit::Usage);
                }
            }
        }
    };
    let mut files = Files::new();
    files.generated(&args.output, text);
    output::write_generated(session, &files)?;
    Ok(Exit::Ok)
}
