//! Runs a program under an MPI launcher, on one or several hosts: builds it and writes the launch
//! files.

use super::args::RunArgs;
use super::job::{Job, SIGN};
use super::mpi::Mpi;
use super::program::{build, ended, mapping_of_file};
use super::project::{Ready, find_project, has_link, unasked};
use super::{copy, cores, fit, launcher, names, outputs, ranks};
use crate::cli::exit::Exit;
use crate::cli::mapping::{MappingArgs, Target};
use crate::cli::output;
use crate::cli::paths::{shown, word};
use crate::cli::session::{Outcome, Session};
use crate::cli::supervisor::{self, Bound};
use crate::codes;
use graphmap_binding::ranks::FIRST_RANK;
use graphmap_binding::shell_quoted;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Files};
use graphmap_kpn::hardware::Hardware;
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::network::Verified;
use graphmap_kpn::placed::processes_hash;
use graphmap_platform::Platform;
use graphmap_wiring::project::Project;
use graphmap_wiring::ranks_project;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

/// Folder of the launch files, in a project.
pub(super) const FOLDER: &str = "target/graphmap/hosts";
/// The launch file that is run.
pub(super) const SCRIPT: &str = "mpiexec.sh";
/// Maximum length of the variables with the placement and with the tables, in bytes. The limit of
/// Linux is 128 KiB.
const MOST: usize = 100_000;

/// Adds options about the program and its placement for launch files. Options about the program are
/// added only for a project with the link over MPI, and the options that exist stay.
///
/// If the placement or `tables` is too long for a variable, it is added to `files` as a file in
/// `folder`, which all hosts must be able to read. `tables` describe the network, if the program
/// was built for other sizes.
pub(crate) fn describe(
    options: &mut BTreeMap<String, String>,
    project: Option<&Project>,
    (mapped, tables): (&Mapped, Option<&str>),
    folder: &Path,
    files: &mut Files,
) {
    let launcher = options.get("launcher").map_or("mpich", String::as_str);
    if let Some(project) = project.filter(|project| project.mpi) {
        let program = Mpi::of_launcher(launcher).program(project, true);
        let program = std::path::absolute(&program).unwrap_or(program);
        let program = program.display().to_string();
        options.entry("program".to_owned()).or_insert(program);
        add_launcher_variables(options);
    }
    let count = mapped.network().processes.len();
    let placed = match project {
        // The names of ranks in a graph are arbitrary, so that only their number counts.
        Some(project) if project.ranks => {
            let args = options.entry("args".to_owned());
            args.or_insert_with(|| count.to_string());
            ranks_project::placed(count as u32)
        }
        _ => processes_hash(mapped.network()),
    };
    options.insert("env.GRAPHMAP_PLACED".to_owned(), placed);
    if let Some(tables) = tables {
        let value = match tables.len() <= MOST {
            // A launcher may read its arguments as lines. Words contain no line breaks.
            true => tables.replace('\n', " ").trim_end().to_owned(),
            false => file_for(folder, "tables", tables.to_owned(), files),
        };
        options.insert("env.GRAPHMAP_TABLES".to_owned(), value);
    }
    if options.get(FIRST_RANK).is_some_and(|first| first != "none") {
        // Each process is an OS process, and its rank determines its host.
        return;
    }
    let numbers: Vec<u32> = mapped.mapping().numbers().collect();
    let placement = graphmap_wiring::sequence::encode(&numbers);
    if placement.len() <= MOST {
        options.insert("env.GRAPHMAP_PLACEMENT".to_owned(), placement);
        return;
    }
    let file = file_for(folder, "placement", placement, files);
    options.insert("env.GRAPHMAP_MAPPING".to_owned(), file);
}

/// Adds a file in `folder` to `files`, and returns its absolute path.
fn file_for(folder: &Path, name: &str, text: String, files: &mut Files) -> String {
    let file = folder.join(name);
    let named = absolute(&file);
    files.generated(file, text);
    named
}

/// Adds variables by which Open MPI kills OS processes at once. Does nothing for other launchers,
/// or if the environment has one of these variables. Options that exist stay. One name is for Open
/// MPI 4, the other for 5.
///
/// When one OS process is lost, the others have no cleanup to do. By default, Open MPI gives them a
/// second, and the job lasts three or four seconds longer.
fn add_launcher_variables(options: &mut BTreeMap<String, String>) {
    const TIMEOUTS: [&str; 2] = [
        "OMPI_MCA_odls_base_sigkill_timeout",
        "PRTE_MCA_odls_base_sigkill_timeout",
    ];
    let is_set = |name: &&str| std::env::var_os(name).is_some();
    if options.get("launcher").is_none_or(|name| name != "openmpi") || TIMEOUTS.iter().any(is_set) {
        return;
    }
    for name in TIMEOUTS {
        let option = options.entry(format!("env.{name}"));
        option.or_insert_with(|| "0".to_owned());
    }
}

/// Returns the project of a graph file, or `None` if it does not exist or cannot be read.
pub(crate) fn project_of(file: &Path) -> Option<Project> {
    Project::find(file).ok().flatten()
}

/// A network that is to run under a launcher.
pub(super) struct Launched {
    pub(super) network: Verified,
    pub(super) onto: Target,
    pub(super) how: MappingArgs,
}

/// Returns the network, and how it is mapped. `project_of_ranks` is the project if the command line
/// names that and not a graph. Also checks the files that the program is to write.
///
/// # Errors
/// Reports the diagnostics and returns the exit status if the network has errors, if the hosts
/// cannot be read, or if an output of the program cannot be written.
pub(super) fn launched(
    args: &RunArgs,
    project_of_ranks: Option<&Project>,
    session: &mut Session<'_>,
) -> Outcome<Launched> {
    let has_graph = project_of_ranks.is_none();
    let how = how(args, has_graph);
    let (network, onto) = match has_graph {
        true => session.verified_for(&args.file, &args.graph, &how)?,
        false => {
            let target = ranks::target(session, &how)?;
            let count = ranks::count(args, session, &target.platform)?;
            let count = count.unwrap_or_else(|| ranks::os_processes(args, &target.platform));
            (session.verified_ranks(count, &args.graph, &target)?, target)
        }
    };
    outputs::check(args, session)?;
    Ok(Launched { network, onto, how })
}

/// Builds and runs the program under a launcher. `project_of_ranks` is the project if the command
/// line names that and not a graph. Blocks until the program ends. With `--dry-run`, `--no-run` or
/// `--no-build`, writes the launch files but does not run the program.
///
/// # Errors
/// Reports the diagnostics and returns the exit status if a check, the mapping, the build or the
/// start of the program fails.
pub(super) fn run(
    args: &RunArgs,
    project_of_ranks: Option<Project>,
    session: &mut Session<'_>,
    launched: Launched,
) -> Outcome<Exit> {
    let Launched { network, onto, how } = launched;
    let has_graph = project_of_ranks.is_none();
    let Ready {
        project,
        doubts,
        built,
        tables,
    } = find_project(args, session, project_of_ranks, &network)?;
    has_link(session, &project)?;
    ranks::rank_argument(args, session, &project, &network, None)?;
    let mut options = Session::options(&args.graph);
    let mpi = Mpi::choose(session, options.get("launcher").map(String::as_str))?;
    options.insert("launcher".to_owned(), mpi.launcher.clone());
    let mapped = mapped(args, session, (network, has_graph), (&onto.platform, &how))?;
    session.unless_denied()?;
    if !args.dry_run && !args.no_run && !args.no_build {
        let agent = options.get("agent").map(String::as_str);
        let mapping = mapped.mapping();
        launcher::check(session, &mpi, &options)?;
        cores::check(session, mapping)?;
        names::check(session, mapping, &onto.platform, &mpi.launcher, agent)?;
    }
    let folder = project.root.join(FOLDER);
    let mapped = (&mapped, tables.as_deref(), onto.hardware.as_ref());
    let asked = (&options, &*folder);
    // The launch files are rendered before the build, which may take minutes, so that their errors
    // are reported first.
    let expected = absolute(&mpi.program(&project, args.optimised()));
    let mut files = launch_files(
        args,
        session,
        mapped,
        Some((&project, &expected)),
        asked,
        None,
    )?;
    let target = mpi.target(&project);
    let build_for = Some((&*mpi.compiler, &*target));
    let program = match args.no_build {
        false => build(
            args,
            session,
            built.as_ref().unwrap_or(mapped.0.network()),
            &project,
            doubts,
            build_for,
        )?,
        true => {
            unasked(args, session, doubts);
            mpi.program(&project, args.optimised())
        }
    };
    session.unless_denied()?;
    let own = absolute(&program);
    if args.copy && !args.no_build && !args.no_run {
        let agent = options.get("agent").map(String::as_str);
        let onto = (mapped.0.mapping(), &onto.platform);
        copy::to_hosts(session, onto, &program, agent, &mpi.launcher)?;
    }
    if !args.dry_run && !args.no_run && !args.no_build {
        let job = match Job::new(&folder, is_reported(&project, mapped.0)) {
            Ok(job) => job,
            Err(error) => return ended(session, &folder, Err(error)),
        };
        let files = launch_files(
            args,
            session,
            mapped,
            Some((&project, &own)),
            asked,
            Some(&job),
        )?;
        output::write_quietly(session, &files)?;
        return start(session, &mpi, &job);
    }
    if own != expected {
        files = launch_files(args, session, mapped, Some((&project, &own)), asked, None)?;
    }
    output::write_quietly(session, &files)?;
    let script = folder.join(SCRIPT);
    if args.dry_run {
        if !program.is_file() {
            let built = format!("the program {} is not built yet\n", shown(&program));
            session.print(&format!("graphmap: {built}"));
        }
        session.show(&format!("sh {}\n", word(&script)))?;
    }
    Ok(Exit::Ok)
}

/// Returns true if OS process 0 runs on this host, and the link of the project writes the
/// [sign](Job::sign).
fn is_reported(project: &Project, mapped: &Mapped) -> bool {
    let first = mapped.mapping().bindings.values().next();
    let host = first.and_then(|first| first.host.as_deref());
    let is_here = host.is_none_or(|host| copy::is_here(host, &copy::this_host()));
    is_here && project.sources.is_some()
}

/// Runs a job to its end, and returns its exit status. Blocks until the launcher ends.
///
/// # Errors
/// As for [`Job::ended`].
pub(super) fn start(session: &mut Session<'_>, mpi: &Mpi, job: &Job) -> Outcome<Exit> {
    let script = job.folder().join(SCRIPT);
    session.flush();
    let mut command = match supervisor::command("sh".as_ref(), Bound::Tree) {
        Ok(command) => command,
        Err(error) => return ended(session, &script, Err(error)),
    };
    command.arg(&script);
    if let Some(mpiexec) = mpi.mpiexec() {
        command.env("MPIEXEC", mpiexec);
    }
    let result = session.timed("run", |_| crate::cli::child::run(&mut command));
    job.ended(session, result)
}

/// Returns the mapped network, with the mapping of the command line (`--mapping`) or a new one,
/// whose search may take long.
///
/// # Errors
/// Reports the diagnostics and returns the exit status if the mapping cannot be read or does not
/// fit, or as for [`Session::plan`].
pub(super) fn mapped(
    args: &RunArgs,
    session: &mut Session<'_>,
    (network, has_graph): (Verified, bool),
    (platform, how): (&Platform, &MappingArgs),
) -> Outcome<Mapped> {
    if let Some(path) = &args.mapping {
        let mut mapping = mapping_of_file(args, session, path, &network, has_graph)?;
        if args.hosts.is_some() {
            fit::onto(session, path, &mut mapping, platform)?;
        }
        return Mapped::new(network, mapping).or_else(|error| {
            session.fail(
                Exit::Usage,
                Diagnostic::error(codes::USAGE, error.to_string()),
            )
        });
    }
    Ok(session
        .plan(&network, platform, &args.graph, how, false)?
        .mapped)
}

/// Returns the options of the mapping. Without `--strategy`, the strategy is `auto` for a graph,
/// and blocks of consecutive ranks otherwise.
fn how(args: &RunArgs, has_graph: bool) -> MappingArgs {
    let usual = if has_graph { "auto" } else { ranks::IN_BLOCKS };
    let strategy = args.strategy.as_deref().unwrap_or(usual);
    MappingArgs {
        os_processes: args.os_processes,
        hosts: args.hosts.clone(),
        mapping: args.mapping.clone(),
        ..MappingArgs::simple(NonZeroU32::MIN, strategy)
    }
}

/// Returns an absolute path, which is valid in any working directory. Returns `path` itself if the
/// current folder is unknown.
fn absolute(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.display().to_string()
}

/// Returns the launch files that start the program. They are not written. `of_project` is the
/// project with the path of its program, or `None` if all programs are named in the graph.
///
/// # Errors
/// Reports the diagnostics and returns [`Exit::Usage`] if an argument is not UTF-8, and
/// [`Exit::Plugin`] if an emitter fails. Returns the status of [`Session::unless_denied`] if a
/// level makes a warning an error.
pub(super) fn launch_files(
    args: &RunArgs,
    session: &mut Session<'_>,
    (mapped, tables, platform): (&Mapped, Option<&str>, Option<&Hardware>),
    of_project: Option<(&Project, &str)>,
    (options, folder): (&BTreeMap<String, String>, &Path),
    job: Option<&Job>,
) -> Outcome<Files> {
    let own = job.map_or(folder, Job::folder);
    let mut files = Files::new();
    let mut options = options.clone();
    if let Some((_, program)) = of_project {
        options.insert("program".to_owned(), program.to_owned());
    }
    let mut words = Vec::new();
    for arg in &args.args {
        let Some(arg) = arg.to_str() else {
            let what = format!("the argument {arg:?} cannot be passed through a launcher");
            let error = Diagnostic::error(codes::USAGE, what)
                .with_note("it is not UTF-8, but launch files are")
                .help("pass it in a file");
            return session.fail(Exit::Usage, error);
        };
        // Quoted, because the option is split like a shell command. This keeps empty words and
        // spaces.
        words.push(shell_quoted(arg));
    }
    if !words.is_empty() {
        options.insert("args".to_owned(), words.join(" "));
    }
    let project = of_project.map(|(project, _)| project);
    let described = (mapped, tables);
    describe(&mut options, project, described, own, &mut files);
    if args.prefix {
        options.insert("label".to_owned(), "yes".to_owned());
    }
    let variables = args.variables().into_iter();
    let variables = variables.map(|(name, value)| (name, value.to_string_lossy().into_owned()));
    let sign = job.map(|job| (SIGN, absolute(&job.sign())));
    for (name, value) in variables.chain(sign) {
        options.insert(format!("env.{name}"), value);
    }
    let mut found = Diagnostics::new();
    for (name, path) in [
        // Stays after the run.
        ("mapping", folder.join("mapping.json")),
        ("mpiexec", own.join(SCRIPT)),
    ] {
        let Some(emitter) = session.registry.emitters().find(|e| e.name() == name) else {
            continue;
        };
        let mut context = EmitContext::new(&path, &options, &mut found);
        // mapping.json does not contain how hosts are reached. That matters only to a launch from
        // it.
        context.platform = platform.filter(|_| name != "mapping");
        if let Err(failed) = emitter.emit(mapped, &mut context, &mut files) {
            session.report_all(found);
            session.report_all(failed);
            return Err(Exit::Plugin);
        }
    }
    session.report_all(found);
    session.unless_denied()?;
    Ok(files)
}
