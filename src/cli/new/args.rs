//! The command line of `graphmap new`.

use crate::cli::args::{File, GraphArgs};
use crate::cli::skeletons::SkeletonArgs;
use std::path::PathBuf;

/// Make a project for a graph: generated wiring, and a file for the function of each kind
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap new farm --from graphs/farm.dot     the project farm, with a copy of the graph
  graphmap new graphs/farm --from graphs/farm.dot
                                               beside the graph, which stays in place
  graphmap new hello                           with a small sample graph
  graphmap new farm --from farm.dot --link mpi to run on several hosts, under mpiexec
  graphmap new ring --family mpi               a program of ranks for rsmpi, without a graph; ranks run as
                                               coroutines, or as OS processes of MPI
  graphmap new farm --from farm.dot --skeletons mine --family go
                                               in another language, with your own skeletons
  graphmap new farm --update --link mpi        add the MPI link to the project farm

The files of functions are yours: graphmap writes them once. `graphmap run` updates the generated files
if the graph has changed. `.graphmap` in the project is a link to the sources of the runtime. All projects
share one copy of these, in $GRAPHMAP_DATA [default: ~/.local/share/graphmap]. In a fresh clone of the
project, `graphmap setup` or `graphmap run` makes the link.")]
pub(crate) struct NewArgs {
    /// Folder of the project; its last component is the name of the project
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Graph file [default: `file` in graphmap.toml, the only graph file here, or the one with the
    /// name of the folder; otherwise a small sample]. Not for a project of ranks
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<File>,
    /// Family of skeletons for the project [default: rust]; `mpi` is a program of ranks for rsmpi
    #[arg(long, value_name = "NAME", help_heading = "Skeletons")]
    pub(crate) family: Option<String>,
    /// Update an existing project. A project in Rust gets the current dependencies on the runtime,
    /// and `--link` and `--vendor` if they are given. A project of another family (`--family NAME`)
    /// gets its generated files again. Other files stay unchanged
    #[arg(long)]
    pub(crate) update: bool,
    #[command(flatten)]
    pub(crate) skeletons: SkeletonArgs,
    /// Copy the sources of the runtime, and of its dependencies for Linux, into the project, so
    /// that it builds without graphmap and without network
    #[arg(long, conflicts_with_all = ["runtime", "member"])]
    pub(crate) vendor: bool,
    /// Use the runtime in this folder; the path is relative to the project
    #[arg(long, value_name = "PATH")]
    pub(crate) runtime: Option<String>,
    /// Add the MPI link, so that `mpiexec` can start the program as several OS processes, on one or
    /// several hosts. Building then needs an MPI (`mpicc`) and libclang. Every project has the
    /// links `threads` and `shm`
    #[arg(long, value_name = "LINK")]
    pub(crate) link: Option<Link>,
    /// Make the project a member of the workspace around its folder, instead of a workspace of its
    /// own. The command prints the line to add to the manifest of that workspace
    #[arg(long)]
    pub(crate) member: bool,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
}

/// The transports between OS processes that a project can have.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Link {
    Mpi,
    // Every project has these two links.
    #[value(hide = true)]
    Threads,
    #[value(hide = true)]
    Shm,
}
