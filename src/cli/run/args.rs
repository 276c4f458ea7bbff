//! Command line of `graphmap run`.

use crate::cli::args::{File, GraphArgs};
use crate::cli::mapping;
use crate::cli::skeletons::SkeletonArgs;
use clap::builder::NonEmptyStringValueParser;
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
  graphmap run ring --hosts hostfile -- 1000           a project of ranks, with 1000 ranks
  graphmap run ./a.out --ranks 1000 -- input.txt       a program in C or C++, see `graphmap cc`
  graphmap run graphs/farm.dot --shuffle 7 -- 1000     words after -- are arguments of the program

The code of graphs/farm.dot is the project graphs/farm, which `graphmap new` makes. The exit status is
that of the program: 6 if the network deadlocked, 7 if one of its OS processes was lost, 8 if channels
would have to grow beyond --memory. If a signal ends an OS process under mpiexec, the status is that of
mpiexec.")]
pub(crate) struct RunArgs {
    /// Graph file, the folder of a project of ranks (an MPI program in Rust, without a graph), or a
    /// compiled MPI program in C or C++ [default: `file` in graphmap.toml, or the only graph file or project of ranks here]
    #[arg(value_name = "FILE", required = false, index = 1)]
    pub(crate) file: File,
    /// Number of ranks of a compiled MPI program
    #[arg(long, value_name = "N", value_parser = mapping::number, allow_negative_numbers = true, help_heading = "Run")]
    pub(crate) ranks: Option<NonZeroU32>,
    /// Library of a compiled MPI program of which each rank gets its own copy, with its own globals;
    /// may be repeated
    #[arg(
        long,
        value_name = "LIBRARY",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Run"
    )]
    pub(crate) private: Vec<String>,
    /// Number of OS processes
    #[arg(short = 'n', long, value_name = "N", value_parser = mapping::number, allow_negative_numbers = true, help_heading = "Run")]
    pub(crate) os_processes: Option<NonZeroU32>,
    /// Number of schedulers in each OS process, each on a thread of its own
    #[arg(long, value_name = "N", value_parser = mapping::number, allow_negative_numbers = true, conflicts_with = "hosts", help_heading = "Run")]
    pub(crate) schedulers: Option<NonZeroU32>,
    /// Transport: `threads` (the OS processes of the mapping are threads of one OS process), shared
    /// memory (`shm`), or MPI (`mpi`, for a project made with `--link mpi`)
    #[arg(long, value_name = "LINK", help_heading = "Run")]
    pub(crate) link: Option<Link>,
    /// Mapping of the processes: a mapping.json, as `graphmap partition -o DIR` writes it
    #[arg(long, value_name = "PATH", help_heading = "Run")]
    pub(crate) mapping: Option<PathBuf>,
    /// Strategy to map processes, as for `graphmap partition` [default: each OS process gets a
    /// block of consecutive processes. If there is a graph, and --hosts or --link mpi: `auto`]
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "mapping",
        help_heading = "Run"
    )]
    pub(crate) strategy: Option<String>,
    /// Hosts on which `mpiexec` starts the program: a hostfile or another description, as for
    /// `graphmap partition`. The MPI is the one of `mpicc`, unless `--set launcher=openmpi` (or
    /// mpich) selects it
    #[arg(long, value_name = "HOSTS", help_heading = "Run")]
    pub(crate) hosts: Option<String>,
    /// Copy the program to hosts where it is missing or different, by ssh or by the program of
    /// `--set agent=PROGRAM`
    #[arg(long, requires = "hosts", help_heading = "Run")]
    pub(crate) copy: bool,
    /// Memory by which all channels together may grow to end artificial deadlocks, such as 512MiB
    /// or 2G [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = bytes, allow_hyphen_values = true, help_heading = "Run")]
    pub(crate) memory: Option<u64>,
    /// Begin each line of output with the number of its OS process, or with the rank in a compiled
    /// program
    #[arg(long, help_heading = "Run")]
    pub(crate) prefix: bool,
    /// Do not pin OS processes to cores of their own
    #[arg(long, help_heading = "Run")]
    pub(crate) no_pin: bool,
    /// With --hosts or --link mpi: build, write the launch files, and print the command of
    /// `mpiexec` instead of running it
    #[arg(long, alias = "print", help_heading = "Run")]
    pub(crate) dry_run: bool,
    /// After the run, print statistics of each kind of process
    #[arg(long, help_heading = "Run")]
    pub(crate) stats: bool,
    /// Run processes in a random order with this seed
    #[arg(long, value_name = "SEED", value_parser = mapping::seed, allow_negative_numbers = true, help_heading = "Run")]
    pub(crate) shuffle: Option<u64>,
    /// Write the measured load of each process and the traffic of each channel to this file
    #[arg(long, value_name = "PATH", help_heading = "Run")]
    pub(crate) profile: Option<PathBuf>,
    /// Write a trace of the run to this file, for Perfetto (https://ui.perfetto.dev)
    #[arg(long, value_name = "PATH", help_heading = "Run")]
    pub(crate) trace: Option<PathBuf>,
    /// Number of events that each scheduler keeps for the trace, the latest [default: 65536]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1 << 24),
        allow_negative_numbers = true,
        requires = "trace",
        help_heading = "Run"
    )]
    pub(crate) trace_events: Option<u32>,
    /// Build without optimisation: builds faster, runs slower
    #[arg(long, conflicts_with = "release", help_heading = "Build")]
    pub(crate) dev: bool,
    /// Build with optimisation (the default, unless graphmap.toml sets `dev`)
    #[arg(long, help_heading = "Build")]
    pub(crate) release: bool,
    /// Build, but do not run
    #[arg(long, help_heading = "Build")]
    pub(crate) no_run: bool,
    /// Only update the generated files (with --hosts or --link mpi, also the launch files): neither
    /// build nor run
    #[arg(long, conflicts_with = "no_run", help_heading = "Build")]
    pub(crate) no_build: bool,
    #[command(flatten)]
    pub(crate) skeletons: SkeletonArgs,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
    // Positional arguments have explicit indices, because `Command::mut_arg` moves `file` behind
    // this one when it sets a default.
    /// Arguments of the program; for a project of ranks, the first is the number of ranks
    #[arg(last = true, value_name = "ARGS", index = 2)]
    pub(crate) args: Vec<OsString>,
}

impl RunArgs {
    /// Returns true if the program is built with optimisation: with `--release`, or without
    /// `--dev`.
    pub(crate) fn optimised(&self) -> bool {
        self.release || !self.dev
    }

    /// Returns the environment variables of the program that the options set, with their values.
    /// Does not include the variables that depend on how the program is started. Paths are
    /// absolute.
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
        .ok_or_else(|| "expected a number of bytes such as 4096, 512MiB or 2G".into())
}

/// Transport between the OS processes of a run.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Link {
    Threads,
    Shm,
    Mpi,
}
