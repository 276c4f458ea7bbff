//! `graphmap run`: builds the program of a graph and runs it.

mod copy;
mod fit;
pub(crate) mod hosts;

use super::args::{File, GraphArgs};
use super::check::plural;
use super::exit::Exit;
use super::identity::Identity;
use super::mapping::{self, MappingArgs};
use super::output;
use super::paths::{shown, word};
use super::session::{Outcome, Session};
use super::skeletons::{self, SkeletonArgs};
use super::talk;
use crate::cli::child::{self, End};
use crate::cli::supervised::Supervised;
use crate::cli::supervisor::{self, Bound};
use crate::codes;
use crate::program::{Build, Failed, Handed, no_project as no_project_of};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::Mapping;
use graphmap_kpn::network::Verified;
use graphmap_kpn::size;
use graphmap_wiring::doubts::Doubt;
use graphmap_wiring::project::{Project, Regenerated};
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Build the program of a graph and run it
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap run graphs/farm.dot
  graphmap run graphs/farm.dot -n 4 --stats
  graphmap run graphs/farm.dot -n 4 --link shm         in four OS processes
  graphmap run farm.dot --hosts hostfile               on several hosts, under mpiexec
  graphmap run graphs/farm.dot --shuffle 7 -- 1000     what follows -- is the program's

The code of graphs/farm.dot is the project graphs/farm, which `graphmap new` makes. Ends as the
program ends: with 6 when the network blocked, with 7 when one of its OS processes was lost, with 8 when
channels would have to grow beyond --memory.")]
pub(crate) struct RunArgs {
    /// Graph file. Left out: that of graphmap.toml, or the only drawing here
    #[arg(value_name = "FILE", required = false)]
    file: File,
    /// Number of OS processes
    #[arg(short = 'n', long, value_name = "N", value_parser = mapping::number, allow_negative_numbers = true, help_heading = "Run")]
    os_processes: Option<NonZeroU32>,
    /// Number of schedulers in each OS process, each on a thread of its own
    #[arg(long, value_name = "N", value_parser = mapping::number, allow_negative_numbers = true, conflicts_with = "hosts", help_heading = "Run")]
    schedulers: Option<NonZeroU32>,
    /// What joins the OS processes: `threads` of one, shared memory (`shm`), or MPI (`mpi`, of a project
    /// that was made with `--link mpi`)
    #[arg(long, value_name = "LINK", help_heading = "Run")]
    link: Option<Link>,
    /// Where each process runs: a mapping.json, as `graphmap partition -o DIR` writes it
    #[arg(long, value_name = "PATH", help_heading = "Run")]
    mapping: Option<PathBuf>,
    /// Place processes by this strategy (see `graphmap partition`); else blocks of neighbours
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "mapping",
        help_heading = "Run"
    )]
    strategy: Option<String>,
    /// Run on these hosts, under mpiexec: a hostfile or other description (see `graphmap partition`);
    /// `--set launcher=openmpi` for another MPI
    #[arg(long, value_name = "HOSTS", help_heading = "Run")]
    hosts: Option<String>,
    /// Copy the program to hosts that do not have it, or have another, by ssh or what `--set agent=` names
    #[arg(long, requires = "hosts", help_heading = "Run")]
    copy: bool,
    /// Most memory that channels may grow by to resolve blocks, such as 512MiB or 2G; else there is no bound
    #[arg(long, value_name = "SIZE", value_parser = bytes, allow_hyphen_values = true, help_heading = "Run")]
    memory: Option<u64>,
    /// Begin each line of output with the number of its OS process
    #[arg(long, help_heading = "Run")]
    prefix: bool,
    /// Leave OS processes on whatever cores they are, instead of one for each
    #[arg(long, help_heading = "Run")]
    no_pin: bool,
    /// Under mpiexec: write what it reads, and show the command instead of running it
    #[arg(long, help_heading = "Run")]
    print: bool,
    /// After the run, show what each kind of processes did
    #[arg(long, help_heading = "Run")]
    stats: bool,
    /// Run processes in a random order that the seed decides
    #[arg(long, value_name = "SEED", value_parser = mapping::seed, allow_negative_numbers = true, help_heading = "Run")]
    shuffle: Option<u64>,
    /// Write the measured load of each process and traffic of each channel
    #[arg(long, value_name = "PATH", help_heading = "Run")]
    profile: Option<PathBuf>,
    /// Write what each process did when, as a trace for Perfetto (https://ui.perfetto.dev)
    #[arg(long, value_name = "PATH", help_heading = "Run")]
    trace: Option<PathBuf>,
    /// How many events of the trace each scheduler keeps: its last [default: 65536]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1 << 24),
        allow_negative_numbers = true,
        requires = "trace",
        help_heading = "Run"
    )]
    trace_events: Option<u32>,
    /// Build without optimisation: quicker to build, slower to run
    #[arg(long, conflicts_with = "release", help_heading = "Build")]
    dev: bool,
    /// Build with optimisation (the default)
    #[arg(long, help_heading = "Build")]
    release: bool,
    /// Build, but do not run
    #[arg(long, help_heading = "Build")]
    no_run: bool,
    /// Write what is generated anew (on hosts, what the launcher reads too), but do not build
    #[arg(long, conflicts_with = "no_run", help_heading = "Build")]
    no_build: bool,
    #[command(flatten)]
    skeletons: SkeletonArgs,
    #[command(flatten)]
    graph: GraphArgs,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<std::ffi::OsString>,
}

impl RunArgs {
    /// Whether the program is built with optimisation.
    fn optimised(&self) -> bool {
        self.release || !self.dev
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
enum Link {
    Threads,
    Shm,
    Mpi,
}

pub(crate) fn run(args: &RunArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    match (&args.hosts, args.link) {
        (_, Some(Link::Mpi)) | (Some(_), None) => return hosts::run(args, session),
        (Some(_), Some(_)) => {
            let message =
                "`--hosts` runs a network under mpiexec, and `--link` names something else";
            let diagnostic = Diagnostic::error(codes::USAGE, message)
                .help("leave `--link` out: MPI joins OS processes on several hosts");
            return session.fail(Exit::Usage, diagnostic);
        }
        (None, _) if args.print => {
            let message = "`--print` shows the command of a launcher, and none is asked for";
            let diagnostic = Diagnostic::error(codes::USAGE, message)
                .help("say on which hosts, `--hosts`, or `--link mpi` for this one");
            return session.fail(Exit::Usage, diagnostic);
        }
        (None, _) => {}
    }
    let strategy = args.strategy.as_deref();
    let how = MappingArgs {
        os_processes: args.os_processes,
        mapping: args.mapping.clone(),
        ..MappingArgs::simple(NonZeroU32::MIN, strategy.unwrap_or("auto"))
    };
    let asked = strategy.is_some() || !args.graph.passes.pass.is_empty();
    let (network, platform) = match asked {
        true => {
            let (network, target) = session.verified_for(&args.file, &args.graph, &how)?;
            (network, Some(target.platform))
        }
        false => {
            let mapping = args.mapping.as_deref();
            let network = session.verified_with(&args.file, &args.graph, mapping)?;
            (network, None)
        }
    };
    let mapping = match (&args.mapping, platform) {
        (Some(path), _) => Some(obeyed(args, session, path, &network)?),
        (None, Some(platform)) if strategy.is_some() => {
            let plan = session.plan(&network, &platform, &how, false)?;
            Some(plan.mapped.mapping().clone())
        }
        _ => None,
    };
    // A mapping says how many OS processes there are, those included in which nothing runs.
    let os_processes = match (args.os_processes, &mapping) {
        (Some(said), _) => Some(said.to_string()),
        (None, Some(mapping)) => Some(mapping.places.len().to_string()),
        (None, None) => None,
    };
    let mapping = match mapping {
        Some(mapping) => Some(handed(session, &mapping)?),
        None => None,
    };
    for path in args.profile.iter().chain(&args.trace) {
        // The program writes it, and knows nothing of what we have read.
        output::not_an_input(session, path, &Identity::of_output(path))?;
    }
    if let (Some(profile), Some(trace)) = (&args.profile, &args.trace)
        && Identity::of_output(profile) == Identity::of_output(trace)
    {
        return output::written_twice(session, profile, trace);
    }
    let (project, doubts) = find_project(args, session, &network)?;
    if args.no_build {
        unasked(args, session, doubts);
        return Ok(Exit::Ok);
    }
    let program = build(args, session, &network, &project, doubts, None)?;
    session.unless_denied()?;
    if args.no_run {
        return Ok(Exit::Ok);
    }
    // The program speaks next: what is to be said of the graph is said before.
    session.flush();
    let mut command = match supervisor::command(program.as_os_str(), Bound::Program) {
        Ok(command) => command,
        Err(error) => return ended(session, &program, Err(error)),
    };
    command.args(&args.args);
    let mut set = |name: &str, value: Option<std::ffi::OsString>| {
        // What the user's shell has set holds where the command line says nothing.
        if let Some(value) = value {
            command.env(name, value);
        }
    };
    set("GRAPHMAP_OS_PROCESSES", os_processes.map(Into::into));
    set(
        "GRAPHMAP_SCHEDULERS",
        args.schedulers.map(|n| n.to_string().into()),
    );
    set(
        "GRAPHMAP_MEMORY",
        args.memory.map(|bytes| bytes.to_string().into()),
    );
    set("GRAPHMAP_PREFIX", args.prefix.then(|| "1".into()));
    set("GRAPHMAP_PIN", args.no_pin.then(|| "0".into()));
    let link = args.link.map(|link| match link {
        Link::Threads => "threads",
        Link::Shm => "shm",
        Link::Mpi => "mpi",
    });
    set("GRAPHMAP_LINK", link.map(Into::into));
    set(
        "GRAPHMAP_SHUFFLE",
        args.shuffle.map(|seed| seed.to_string().into()),
    );
    let folder = std::path::absolute(&project.root).ok();
    set("GRAPHMAP_PROJECT", folder.map(Into::into));
    set("GRAPHMAP_STATS", args.stats.then(|| "1".into()));
    set("GRAPHMAP_PROFILE", args.profile.clone().map(Into::into));
    set("GRAPHMAP_TRACE", args.trace.clone().map(Into::into));
    set(
        "GRAPHMAP_TRACE_EVENTS",
        args.trace_events.map(|count| count.to_string().into()),
    );
    if let Some(handed) = &mapping {
        handed.tell(&mut command);
    }
    let result = session.timed("run", |_| child::run(&mut command));
    ended(session, &program, result)
}

/// The mapping that a run obeys, which has to be one of as many OS processes as are asked for.
fn obeyed(
    args: &RunArgs,
    session: &mut Session<'_>,
    path: &Path,
    network: &Verified,
) -> Outcome<Mapping> {
    let mapping = session.mapping_file(path, network)?;
    let (count, file) = (mapping.places.len(), word(&args.file));
    match args.os_processes {
        Some(asked) if asked.get() as usize != count => {
            let path = path.display();
            let message = format!("`-n {asked}` and `--mapping {path}` disagree");
            let there = plural(count, "OS process");
            let diagnostic = Diagnostic::error(codes::USAGE, message)
                .with_note(format!("the mapping is onto {there}"))
                .help("leave `-n` out to run as the mapping says")
                .help(format!(
                    "`graphmap partition {file} -n {asked} -o DIR` makes a mapping onto {asked}"
                ));
            session.fail(Exit::Usage, diagnostic)
        }
        _ => Ok(mapping),
    }
}

/// What comes of how the program ended.
fn ended(session: &mut Session<'_>, program: &Path, result: io::Result<End>) -> Outcome<Exit> {
    match result {
        Ok(End::Code(0)) => Ok(Exit::Ok),
        Ok(End::Code(6)) => Ok(Exit::Blocked),
        // What the program ended with, in the eight bits that a shell sees.
        Ok(End::Code(code)) => Ok(Exit::Program(code as u8)),
        Ok(End::Interrupted(signal)) => Ok(Exit::signal(signal)),
        Ok(End::Signal(signal)) => {
            let name = signal_hook::low_level::signal_name(signal);
            let name = name.map_or_else(String::new, |name| format!(" ({name})"));
            let message = format!("the program of the network was ended by signal {signal}{name}");
            session.fail(
                Exit::signal(signal),
                Diagnostic::error(codes::PROGRAM, message),
            )
        }
        Err(error) => {
            let message = format!("`{}` cannot be run: {error}", program.display());
            session.fail(Exit::Usage, Diagnostic::error(codes::PROGRAM, message))
        }
    }
}

/// A project whose program mpiexec would start several times, each for itself.
fn no_link<T>(session: &mut Session<'_>, project: &Project) -> Outcome<T> {
    let message = format!("the project {} has no MPI link", shown(&project.root));
    session.fail(
        Exit::Usage,
        link_helps(Diagnostic::error(codes::NO_LINK, message)),
    )
}

/// How a project gets an MPI link.
pub(crate) fn link_helps(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic
        .help("`graphmap new FOLDER --from FILE --link mpi` makes a project that has it")
        .help(
            "or copy its vendor/graphmap-link-mpi, add `graphmap-link-mpi = { path = \
             \"vendor/graphmap-link-mpi\" }` to the dependencies in Cargo.toml, and call \
             `graphmap_link_mpi::main` in src/main.rs instead of `graphmap_runtime::main`",
        )
}

/// What may not fit, where the compiler is not asked.
fn unasked(args: &RunArgs, session: &mut Session<'_>, doubts: Vec<Doubt>) {
    let asks = format!(
        "`graphmap run {} --no-run` asks the compiler",
        word(&args.file)
    );
    for doubt in doubts {
        session.find(match doubt.certain {
            true => doubt.unasked,
            false => doubt.unasked.help(asks.as_str()),
        });
    }
}

/// A build that takes longer than this is waited for.
const LONG: Duration = Duration::from_secs(4);

fn build(
    args: &RunArgs,
    session: &mut Session<'_>,
    network: &Verified,
    project: &Project,
    doubts: Vec<Doubt>,
    mpi: Option<(&str, &Path)>,
) -> Outcome<PathBuf> {
    let root = &*project.root;
    let build = Build {
        project,
        release: args.optimised(),
        mpi,
        talk: session.may_talk(),
        tells: match session.may_tell() {
            true => |text| talk::say(&format!("graphmap: {text}\n")),
            false => |_| (),
        },
        building: &format!("building {}", shown(root)),
        supervise: &Supervised,
    };
    let rebuilt = root.join("target/release").is_dir();
    let start = Instant::now();
    let (found, built) = session.timed("build", |s| build.run(network, doubts, &mut s.sources));
    // For who sits there and tries again and again.
    if session.may_talk() && build.release && !args.release && rebuilt && start.elapsed() > LONG {
        session
            .tell("graphmap: `--dev` builds in less time, for a program that then runs slower\n");
    }
    session.find_all(found);
    built.map_err(|failed| match failed {
        Failed::Interrupted(signal) => Exit::signal(signal),
        Failed::Cargo => Exit::Usage,
        Failed::Code => Exit::Graph,
    })
}

/// A mapping, as the runtime reads it.
fn handed(session: &mut Session<'_>, mapping: &Mapping) -> Outcome<Handed> {
    Handed::new(mapping).or_else(|error| {
        let message = format!("the mapping cannot be handed to the program: {error}");
        session.fail(Exit::Usage, Diagnostic::error(codes::CANNOT_WRITE, message))
    })
}

/// The project of a graph, with what is generated in it as the graph is now, and what may not fit.
fn find_project(
    args: &RunArgs,
    session: &mut Session<'_>,
    network: &Verified,
) -> Outcome<(Project, Vec<Doubt>)> {
    let file = &args.file;
    let project = match Project::find(file) {
        Ok(Some(project)) => project,
        Ok(None) => return no_project(session, file),
        Err(failed) => {
            session.find_all(failed);
            return Err(Exit::Usage);
        }
    };
    let mut options = Session::options(&args.graph);
    args.skeletons.add_to(&mut options);
    let folder = skeletons::folder(&options).or(project.skeletons.as_deref());
    let skeletons = skeletons::read(session, folder)?;
    let mut found = Diagnostics::new();
    let regenerated = session.timed("wiring", |_| {
        project.regenerate(network, &skeletons, &mut found)
    });
    session.find_all(found);
    let Regenerated { files, doubts } = regenerated.map_err(|failed| {
        session.find_all(failed);
        Exit::Plugin
    })?;
    session.unless_denied()?;
    for (word, path) in output::write_quietly(session, &files)? {
        if word != "unchanged" && path != project.fitting() {
            session.tell(&format!("graphmap: {word} {}\n", shown(&path)));
        }
    }
    Ok((project, doubts))
}

fn no_project<T>(session: &mut Session<'_>, file: &Path) -> Outcome<T> {
    let beside = file.with_extension("");
    let diagnostic = no_project_of(file).help(format!(
        "`graphmap new {} --from {}` makes a project for it, with a file for each function",
        word(&beside),
        word(file)
    ));
    session.fail(Exit::Usage, diagnostic)
}
