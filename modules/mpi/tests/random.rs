//! Random MPI programs, which run in several ways, and a comparison of the logs of all their ranks.
//! This crate runs them on one scheduler, on several, in several OS processes, and with endpoints
//! as ranks. The reference is rsmpi 0.8.2 over MPICH.
//!
//! `GRAPHMAP_RANDOM_PROGRAMS=FIRST..LAST` runs these seeds at each number of ranks. `SEED-3-5` runs
//! one program, without its steps 3 and 5.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use graphmap_testing::{Need, build_cheaply, skip};
use mpi::endpoint::{self, Endpoints};
use mpi::traits::*;

#[path = "random/mod.rs"]
mod random;

use random::job::{JOB, job};
use random::program::{Program, Spec};

/// Numbers of ranks, and the seeds of their programs. A rank of MPICH occupies a core while it
/// waits. If there are more ranks than cores, a program takes a tenth of a second.
const PROGRAMS: [(usize, &str); 3] = [(2, "0..60"), (3, "1000..1015"), (4, "2000..2010")];

/// Runs the ranks of a job as coroutines, where `mpiexec` would start OS processes. The other tests
/// start it, because a job is a whole program.
#[test]
#[ignore = "run by `ranks_see_the_same_wherever_they_are` and the other, as a job"]
fn ranks_of_a_job() {
    let ranks = job().0;
    let asked = std::env::var(ENDPOINTS).ok();
    let ended = match asked.and_then(|asked| asked.parse::<usize>().ok()) {
        None => mpi::main(ranks, random::job::rank),
        Some(owners) => mpi::main(owners, move || {
            let universe = mpi::initialize().expect("the first to initialize");
            let me = universe.world().rank() as usize;
            let own = ranks / owners + usize::from(me < ranks % owners);
            endpoint::each(universe.world().endpoints(own), |mine| {
                random::job::of(&mine)
            });
        }),
    };
    assert!(ended == ExitCode::SUCCESS);
}

/// Variable with the number of ranks that create the ranks of the job as their endpoints.
const ENDPOINTS: &str = "GRAPHMAP_RANDOM_ENDPOINTS";

/// Way to run a job.
#[derive(Clone)]
enum Means {
    /// Coroutines, with these environment variables.
    Ours(&'static [(&'static str, &'static str)]),
    /// This program, which is linked to rsmpi.
    Mpich(PathBuf),
}

impl Means {
    fn command(&self, ranks: usize) -> Command {
        match self {
            Means::Ours(variables) => {
                let mut command = Command::new(std::env::current_exe().expect("this program"));
                command.args(["--ignored", "--exact", "--nocapture", "ranks_of_a_job"]);
                command.envs(variables.iter().copied());
                command
            }
            Means::Mpich(program) => {
                let mut command = Command::new("mpiexec.mpich");
                command.args(["-n", &ranks.to_string()]).arg(program);
                command
            }
        }
    }
}

/// Logs of the ranks of a job, and the reason if it failed.
struct Seen {
    logs: Vec<Vec<String>>,
    failed: Option<String>,
}

fn run(means: &Means, ranks: usize, specs: &str) -> Seen {
    let directory = tempfile::tempdir().expect("a directory for logs");
    let job = format!("{ranks} {} {specs}", directory.path().display());
    let said = |name: &str| directory.path().join(name);
    let file = |name: &str| fs::File::create(said(name)).expect("a file can be made");
    let mut command = means.command(ranks);
    command.env(JOB, job).env("RUST_BACKTRACE", "0");
    command
        .stdin(Stdio::null())
        .stdout(file("out"))
        .stderr(file("err"));
    let mut child = command.spawn().expect("the job can be started");
    let programs = Spec::parse(specs).map_or(0, |specs| specs.len());
    // Longer than on a loaded machine, where ranks of MPICH wait for each other.
    let limit = Duration::from_secs(200 + 5 * programs as u64);
    let begun = Instant::now();
    let ended = loop {
        match child.try_wait().expect("the job can be waited for") {
            Some(status) if status.success() => break None,
            Some(status) => break Some(format!("{status}")),
            None if begun.elapsed() > limit => {
                child.kill().expect("the job can be ended");
                child.wait().expect("it ends");
                break Some(format!("it does not end within {limit:?}"));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let read =
        |path: PathBuf| fs::read(path).map(|text| String::from_utf8_lossy(&text).into_owned());
    let log = |rank: usize| {
        let text = read(said(&format!("{rank}.log"))).unwrap_or_default();
        text.lines().map(str::to_string).collect()
    };
    let all = |why: String| format!("{why}\n{}", read(said("err")).unwrap_or_default());
    Seen {
        logs: (0..ranks).map(log).collect(),
        failed: ended.map(all),
    }
}

/// Returns the first difference between two jobs: the specification of the program, and a
/// description.
fn difference(first: &Seen, second: &Seen) -> Option<(String, String)> {
    // For a failed job, report the last line of the rank that made the least progress.
    for (seen, name) in [(first, "the first"), (second, "the second")] {
        if let Some(failed) = &seen.failed {
            let of = |log: &Vec<String>| {
                log.iter()
                    .filter(|line| line.starts_with("program "))
                    .count()
            };
            let log = seen
                .logs
                .iter()
                .min_by_key(|log| of(log))
                .expect("there are ranks");
            let last = log.last().map_or("nothing", String::as_str);
            return Some((
                program_at(log, log.len()),
                format!("{name} failed, {failed}after {last}"),
            ));
        }
    }
    for (rank, (one, other)) in first.logs.iter().zip(&second.logs).enumerate() {
        let same = one
            .iter()
            .zip(other)
            .take_while(|(one, other)| one == other)
            .count();
        if same < one.len().max(other.len()) {
            let line = |log: &[String]| log.get(same).cloned().unwrap_or_default();
            let told = format!(
                "rank {rank}\n  first:  {}\n  second: {}",
                line(one),
                line(other)
            );
            return Some((program_at(one, same), told));
        }
    }
    None
}

/// Returns the specification of the program to which a line of a log belongs.
fn program_at(log: &[String], line: usize) -> String {
    let before = log[..log.len().min(line + 1)].iter().rev();
    let mut begun = before.filter_map(|line| line.strip_prefix("program "));
    begun.next().unwrap_or_default().to_string()
}

/// Runs programs in a second way, and compares the logs with `seen`. Returns the number of
/// programs.
///
/// # Errors
///
/// Returns a report of the first program that differs, reduced to as few steps as possible.
fn compare(
    (first, seen): (&Means, &Seen),
    second: &Means,
    ranks: usize,
    specs: &str,
) -> Result<usize, String> {
    let Some((program, mut told)) = difference(seen, &run(second, ranks, specs)) else {
        return Ok(Spec::parse(specs).map_or(0, |specs| specs.len()));
    };
    let differs = |specs: &str| difference(&run(first, ranks, specs), &run(second, ranks, specs));
    let mut least = Spec::parse(&program).and_then(|specs| specs.into_iter().next());
    if let Some(spec) = &mut least {
        let steps: Vec<usize> = Program::new(spec).steps().collect();
        for step in steps.into_iter().rev() {
            spec.without.push(step);
            match differs(&spec.to_string()) {
                Some((_, now)) => told = now,
                None => drop(spec.without.pop()),
            }
        }
    }
    let shown = least.map(|spec| format!("{spec}: {}", Program::new(&spec)));
    Err(format!(
        "at {ranks} ranks, program {}{told}",
        shown.unwrap_or_default()
    ))
}

fn programs() -> Vec<(usize, String)> {
    let asked = std::env::var("GRAPHMAP_RANDOM_PROGRAMS").ok();
    if let Some(asked) = &asked {
        assert!(
            Spec::parse(asked).is_some(),
            "GRAPHMAP_RANDOM_PROGRAMS is FIRST..LAST or SEED-STEP-STEP, not {asked:?}"
        );
    }
    let of = |(ranks, specs): (usize, &str)| (ranks, asked.clone().unwrap_or(specs.to_string()));
    PROGRAMS.map(of).into()
}

/// One scheduler, which polls the ranks in a fixed order.
const ALONE: Means = Means::Ours(&[("GRAPHMAP_SCHEDULERS", "1")]);

/// Two OS processes. Without `GRAPHMAP_LINK`, they would be threads of one.
const SHM: [(&str, &str); 2] = [("GRAPHMAP_LINK", "shm"), ("GRAPHMAP_OS_PROCESSES", "2")];

#[test]
fn ranks_see_the_same_wherever_they_are() {
    let others = [
        Means::Ours(&[("GRAPHMAP_SCHEDULERS", "1"), ("GRAPHMAP_SHUFFLE", "1")]),
        Means::Ours(&[("GRAPHMAP_SCHEDULERS", "2"), ("GRAPHMAP_SHUFFLE", "2")]),
        Means::Ours(&[("GRAPHMAP_SCHEDULERS", "4"), ("GRAPHMAP_SHUFFLE", "3")]),
        Means::Ours(&SHM),
        Means::Ours(&[SHM[0], SHM[1], ("GRAPHMAP_SCHEDULERS", "2")]),
        Means::Ours(&[(ENDPOINTS, "1")]),
        Means::Ours(&[(ENDPOINTS, "2"), ("GRAPHMAP_SHUFFLE", "4")]),
        Means::Ours(&[SHM[0], SHM[1], (ENDPOINTS, "2")]),
    ];
    for (ranks, specs) in programs() {
        let alone = run(&ALONE, ranks, &specs);
        for other in &others {
            if let Err(told) = compare((&ALONE, &alone), other, ranks, &specs) {
                let Means::Ours(variables) = other else {
                    continue;
                };
                panic!("{variables:?}: {told}");
            }
        }
    }
}

/// Builds the programs with rsmpi, and returns their path. They have a workspace of their own,
/// because one workspace cannot have two crates named `mpi`.
fn reference() -> Option<PathBuf> {
    let version = |program: &str| Command::new(program).arg("--version").output();
    for program in ["mpicc.mpich", "mpiexec.mpich"] {
        if let Err(error) = version(program) {
            skip(Need::Mpich, format!("{program}: {error}"));
            return None;
        }
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("networks-mpich");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/Cargo.toml");
    let mut command = Command::new(env!("CARGO"));
    build_cheaply(&mut command)
        .args(["build", "--quiet", "--locked", "--manifest-path"])
        .arg(manifest)
        .env("MPICC", "mpicc.mpich")
        .env("CARGO_TARGET_DIR", &target);
    let built = command.output().expect("cargo can be run");
    let told = String::from_utf8_lossy(&built.stderr);
    if !built.status.success() && told.contains("Unable to find libclang") {
        skip(Need::Mpich, "rsmpi cannot be built without libclang");
        return None;
    }
    assert!(built.status.success(), "rsmpi does not build: {told}");
    Some(target.join("debug/graphmap-mpi-reference"))
}

#[test]
fn rsmpi_over_mpich_sees_the_same() {
    let Some(reference) = reference() else { return };
    let reference = Means::Mpich(reference);
    for (ranks, specs) in programs() {
        let seen = run(&reference, ranks, &specs);
        match compare((&reference, &seen), &ALONE, ranks, &specs) {
            Ok(count) => graphmap_testing::print_line(&format!(
                "{count} programs at {ranks} ranks are the same"
            )),
            Err(told) => panic!("first rsmpi over MPICH, then ours: {told}"),
        }
    }
}
