//! `graphmap import`: lists the formats of graph files, or writes a graph from the profile of a
//! program of ranks.

use super::args::is_standard;
use super::exit::Exit;
use super::output;
use super::ranks_graph::{Load, Traffic, graph_of_profile};
use super::session::{Outcome, Session};
use crate::codes;
use graphmap_kpn::emit::Files;
use graphmap_kpn::input::{self, Limit};
use graphmap_plugin as plugin;
use std::path::{Path, PathBuf};

/// List the formats of graph files, or write a graph from the profile of a program of ranks
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Every verb that takes a graph file accepts all listed formats. The file extension or `--format` selects
the format. An executable `graphmap-read-NAME` on PATH reads the format NAME, only with `--format NAME`
or `format` in graphmap.toml.

PROFILE is the profile of a program of ranks (GRAPHMAP_PROFILE=PROFILE). The graph has a process for each
rank, and a channel from each rank to each rank that it sent messages to, with that traffic. `graphmap
partition` maps the graph; `graphmap run` in the project of the ranks runs them with that mapping.

Examples:
  graphmap check - --format json < net.json
  graphmap import
  graphmap import profile.json -o ranks.dot
  graphmap import profile.json --traffic messages --load equal > ranks.dot")]
pub(crate) struct ImportArgs {
    /// Profile of a program of ranks
    #[arg(value_name = "PROFILE")]
    profile: Option<PathBuf>,
    /// Write the graph to this file [default: standard output]
    #[arg(short, long, value_name = "PATH", requires = "profile")]
    output: Option<PathBuf>,
    /// Unit of the traffic
    #[arg(
        long,
        value_name = "UNIT",
        default_value = "bytes",
        requires = "profile"
    )]
    traffic: Traffic,
    /// Load of a rank; use `equal` if all ranks do the same work and the measured differences are
    /// noise
    #[arg(
        long,
        value_name = "LOAD",
        default_value = "measured",
        requires = "profile"
    )]
    load: Load,
}

pub(crate) fn run(args: &ImportArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    match &args.profile {
        Some(profile) => import_profile(profile, args, session),
        None => formats(session),
    }
}

fn formats(session: &mut Session<'_>) -> Outcome<Exit> {
    let mut text = String::from("Formats of graph files:\n");
    for front_end in session.registry.front_ends() {
        text += &format!("  {:<12} {}\n", front_end.name(), front_end.about());
    }
    for found in plugin::on_path(plugin::FRONT_END) {
        let path = found.path.display();
        text += &format!("  {:<12} external: {path}\n", found.name);
    }
    session.show(&text)?;
    Ok(Exit::Ok)
}

fn import_profile(profile: &Path, args: &ImportArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let bytes = session.read_bytes(profile, Limit::NETWORK)?;
    let name = Session::display(profile);
    let text = input::decode(bytes).or_else(|why| {
        let diagnostic = codes::cannot_read(&name, &why);
        session.fail(Exit::Usage, diagnostic)
    })?;
    let graph = graph_of_profile(&name, &text, args.traffic, args.load);
    let graph = graph.or_else(|diagnostic| session.fail(Exit::Graph, diagnostic))?;
    match &args.output {
        Some(path) if !is_standard(path) => {
            let mut files = Files::new();
            files.generated(path, graph);
            output::write_generated(session, &files)?;
        }
        _ => session.put(graph.as_bytes())?,
    }
    Ok(Exit::Ok)
}
