//! What `graphmap run` takes.

use crate::cli::args::{File, GraphArgs};
use crate::cli::mapping;
use crate::cli::skeletons::SkeletonArgs;
use graphmap_kpn::size;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Build the program of a graph and run it
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap run graphs/farm.dot
  graphmap run graphs/farm.dot -n 4 --stats
  graphmap run graphs/farm.dot -n 4 --link shm         in four OS processes
  graphmap run farm.dot --hosts hostfile               on several hosts, under mpiexec
  graphmap run ring --hosts hostfile -- 1000           a project of ranks, a thousand of them
  graphmap run graphs/farm.dot --shuffle 7 -- 1000     what follows -- is the program's

The code of graphs/farm.dot is the project graphs/farm, which `graphmap new` makes. Ends as the
program ends: with 6 when the network blocked, with 7 when one of its OS processes was lost, with 8 when
channels would have to grow beyond --memory. Over MPI, one that a signal has ended is told by
the launcher's own code.")]
pub(crate) struct RunArgs {
    /// Graph file, or the folder of a project of ranks. Left out: that of graphmap.toml, or the only
    /// drawing here
    #[arg(value_name = "FILE", required = false, index = 1)]
    pub(crate) file: File,
    /// Number of OS processes
    #[arg(short = 'n', long, value_name = "N", value_parser = mapping::number, allow_negative_numbers = true, help_heading = "Run")]
    pub(crate) os_processes: Option<NonZeroU32>,
    /// Number of schedulers in each OS process, each on a thread of its own
    #[arg(long, value_name = "N", value_parser = mapping::number, allow_negative_numbers = true, conflicts_with = "hosts", help_heading = "Run")]
    pub(crate) schedulers: Option<NonZeroU32>,
    /// What joins the OS processes: `threads` of one, shared memory (`shm`), or MPI (`mpi`, of a project
    /// that was made with `--link mpi`)
    #[arg(long, value_name = "LINK", help_heading = "Run")]
    pub(crate) link: Option<Link>,
    /// Where each process runs: a mapping.json, as `graphmap partition -o DIR` writes it
    #[arg(long, value_name = "PATH", help_heading = "Run")]
    pub(crate) mapping: Option<PathBuf>,
    /// Place processes by this strategy (see `graphmap partition`); else blocks of neighbours
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "mapping",
        help_heading = "Run"
    )]
    pub(crate) strategy: Option<String>,
    /// Run on these hosts, under mpiexec: a hostfile or other description (see `graphmap partition`);
    /// `--set launcher=openmpi` for another MPI
    #[arg(long, value_name = "HOSTS", help_heading = "Run")]
    pub(crate) hosts: Option<String>,
    /// Copy the program to hosts that do not have it, or have another, by ssh or what `--set agent=` names
    #[arg(long, requires = "hosts", help_heading = "Run")]
    pub(crate) copy: bool,
    /// Most memory that channels may grow by to resolve blocks, such as 512MiB or 2G; else there is no bound
    #[arg(long, value_name = "SIZE", value_parser = bytes, allow_hyphen_values = true, help_heading = "Run")]
    pub(crate) memory: Option<u64>,
    /// Begin each line of output with the number of its OS process
    #[arg(long, help_heading = "Run")]
    pub(crate) prefix: bool,
    /// Leave OS processes on whatever cores they are, instead of one for each
    #[arg(long, help_heading = "Run")]
    pub(crate) no_pin: bool,
    /// Under mpiexec: write what it reads, and show the command instead of running it
    #[arg(long, help_heading = "Run")]
    pub(crate) print: bool,
    /// After the run, show what each kind of processes did
    #[arg(long, help_heading = "Run")]
    pub(crate) stats: bool,
    /// Run processes in a random order that the seed decides
    #[arg(long, value_name = "SEED", value_parser = mapping::seed, allow_negative_numbers = true, help_heading = "Run")]
    pub(crate) shuffle: Option<u64>,
    /// Write the measured load of each process and traffic of each channel
    #[arg(long, value_name = "PATH", help_heading = "Run")]
    pub(crate) profile: Option<PathBuf>,
    /// Write what each process did when, as a trace for Perfetto (https://ui.perfetto.dev)
    #[arg(long, value_name = "PATH", help_heading = "Run")]
    pub(crate) trace: Option<PathBuf>,
    /// How many events of the trace each scheduler keeps: its last [default: 65536]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1 << 24),
        allow_negative_numbers = true,
        requires = "trace",
        help_heading = "Run"
    )]
    pub(crate) trace_events: Option<u32>,
    /// Build without optimisation: quicker to build, slower to run
    #[arg(long, conflicts_with = "release", help_heading = "Build")]
    pub(crate) dev: bool,
    /// Build with optimisation (the default)
    #[arg(long, help_heading = "Build")]
    pub(crate) release: bool,
    /// Build, but do not run
    #[arg(long, help_heading = "Build")]
    pub(crate) no_run: bool,
    /// Write what is generated anew (on hosts, what the launcher reads too), but do not build
    #[arg(long, conflicts_with = "no_run", help_heading = "Build")]
    pub(crate) no_build: bool,
    #[command(flatten)]
    pub(crate) skeletons: SkeletonArgs,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
    // Numbered, as the other is put behind it where it is given what is not typed.
    /// Arguments of the program; the first of one of ranks is how many there are
    #[arg(last = true, value_name = "ARGS", index = 2)]
    pub(crate) args: Vec<OsString>,
}

impl RunArgs {
    /// Whether the program is built with optimisation.
    pub(crate) fn optimised(&self) -> bool {
        self.release || !self.dev
    }

    /// Returns the variables of the program that the options set, except for those that depend on
    /// how it is started.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let number = |value: Option<u64>| value.map(|number| number.to_string().into());
        let file = |path: &Option<PathBuf>| {
            let path = path.as_deref()?;
            let absolute = std::path::absolute(path);
            Some(absolute.unwrap_or_else(|_| path.to_owned()).into())
        };
        let flag = |is_given: bool, value: &str| is_given.then(|| value.into());
        let all = [
            (
                "GRAPHMAP_SCHEDULERS",
                number(self.schedulers.map(|count| count.get().into())),
            ),
            ("GRAPHMAP_SHUFFLE", number(self.shuffle)),
            ("GRAPHMAP_MEMORY", number(self.memory)),
            ("GRAPHMAP_PIN", flag(self.no_pin, "0")),
            ("GRAPHMAP_STATS", flag(self.stats, "1")),
            ("GRAPHMAP_PROFILE", file(&self.profile)),
            ("GRAPHMAP_TRACE", file(&self.trace)),
            (
                "GRAPHMAP_TRACE_EVENTS",
                number(self.trace_events.map(u64::from)),
            ),
        ];
        let set = all.into_iter();
        set.filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = size::split(text.trim());
    let bytes = number.parse::<u64>().ok();
    bytes
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| "a number of bytes such as 4096, 512MiB or 2G is wanted".into())
}

/// What joins the OS processes of a run.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Link {
    Threads,
    Shm,
    Mpi,
}
