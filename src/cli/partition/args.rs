//! Command line of `graphmap partition`.

use crate::cli::args::{File, GraphArgs};
use crate::cli::mapping::MappingArgs;
use std::path::PathBuf;

/// Map processes onto OS processes and hosts, and show the plan
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap partition farm.dot -n 4
  graphmap partition farm.dot --hosts hostfile --time 100ms -o plan
  graphmap partition farm.dot --hosts hosts=4:sockets=2:cores=8 --strategy metis
  graphmap partition farm.dot --hosts hostfile --pin 'manager=node1' --hold 'kind:worker=1-4'
  graphmap partition farm.dot -n 4 --pin 'worker*=1-3' --together source,sink --rules farm.rules
  graphmap run farm.dot --mapping plan/mapping.json
  graphmap partition farm.dot --mapping plan/mapping.json --compare old/mapping.json
  graphmap partition mesh.graph --format metis -n 8 -o parts

With -o the mapping is written as mapping.json and as a picture (mapped.svg, mapped.dot). With --hosts
there is also a script that starts the program, mpiexec.sh (`--set launcher=openmpi` selects another
launcher).
With --mapping there is no search. The table shows the loads, the cost by level of the machine, the
bound and the gap of that mapping, and a mapping that breaks a rule is an error. The hosts are those
of the mapping, unless --hosts describes them.
FILE may also be a graph without names, in the format of METIS (.graph) or Scotch (.grf). Then -o
writes the partition in their format (mesh.graph.part.8 or mesh.map), and options about processes are
errors.
Ctrl-C ends the search and uses the best mapping found so far; a second Ctrl-C ends the command.
Exits with status 4 if no mapping meets all constraints, or the one of --mapping does not.")]
pub(crate) struct PartitionArgs {
    /// Graph file; `-` is standard input [default: `file` in graphmap.toml, or the only graph file
    /// here]
    #[arg(value_name = "FILE", required = false)]
    pub(crate) file: File,
    /// Write the plan as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for the files of the mapping: mapping.json, pictures, and with --hosts launch files.
    /// It is created if it does not exist [default: no files are written]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Show another mapping.json as a column of the comparison; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) compare: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) mapping: MappingArgs,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
}
