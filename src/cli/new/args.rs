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
                                               beside the graph, which stays where it is
  graphmap new hello                           with a small graph to begin with
  graphmap new farm --from farm.dot --link mpi to run on several hosts, under mpiexec
  graphmap new ring --family mpi               a program of ranks for rsmpi, which has no graph: they are
                                               coroutines, or OS processes of MPI's
  graphmap new farm --from farm.dot --skeletons mine --family go
                                               in another language, by skeletons of your own
  graphmap new farm --update --link mpi        add the MPI link to the project farm

Files of functions are yours: they are written once. `graphmap run` updates generated files when the graph has
changed. The project has a link, `.graphmap`, to the sources of the runtime, which are kept once for all projects
in $GRAPHMAP_DATA [default: ~/.local/share/graphmap]; in a fresh clone of the project, `graphmap setup` or
`graphmap run` makes it.")]
pub(crate) struct NewArgs {
    /// Folder of the project; its last part is the project's name
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Graph file [default: `file` in graphmap.toml, the only graph file here, or the one named
    /// like the folder; otherwise a small sample]. A project of ranks has none
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<File>,
    /// Make a project of this family of skeletons, not in Rust; `mpi` is a program of ranks for
    /// rsmpi
    #[arg(long, value_name = "NAME", help_heading = "Skeletons")]
    pub(crate) family: Option<String>,
    /// Update the project in this folder: its dependencies on the runtime, and what `--link` and
    /// `--vendor` add; of another `--family`, its generated files. Other files stay as they are
    #[arg(long)]
    pub(crate) update: bool,
    #[command(flatten)]
    pub(crate) skeletons: SkeletonArgs,
    /// Copy the sources of the runtime and of its dependencies for Linux into the project, which
    /// then builds without graphmap and without network
    #[arg(long, conflicts_with_all = ["runtime", "member"])]
    pub(crate) vendor: bool,
    /// Use the runtime in this folder, relative to the project
    #[arg(long, value_name = "PATH")]
    pub(crate) runtime: Option<String>,
    /// Have `mpiexec` start it as several OS processes, on one host or many: needs an MPI to build
    /// with (`mpicc`), and libclang
    #[arg(long, value_name = "LINK")]
    pub(crate) link: Option<Link>,
    /// Make it a member of the workspace that its folder is in, instead of a workspace of its own
    #[arg(long)]
    pub(crate) member: bool,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
}

/// The transports between OS processes that a project can have.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Link {
    Mpi,
    // Every project has these two.
    #[value(hide = true)]
    Threads,
    #[value(hide = true)]
    Shm,
}
