//! Endpoints: further ranks of ranks, each on a stack or thread of its own, wherever these are; and what is told of them when they wait for
//! ever, panic or are let go of.

#[path = "endpoints/cases.rs"]
mod cases;
#[path = "endpoints/ends.rs"]
mod ends;
#[path = "endpoints/failures.rs"]
mod failures;
#[path = "endpoints/threads.rs"]
mod threads;

use std::process::{Command, ExitCode};

use cases::{CASES, Case};
use failures::FAILURES;

/// Which case a program is, by the environment, as arguments are the test harness's.
const CASE: &str = "GRAPHMAP_ENDPOINTS_CASE";

fn all() -> impl Iterator<Item = &'static Case> {
    CASES.iter().chain(FAILURES)
}

/// A case, as a function that each of its ranks calls.
fn rank(case: &'static Case) -> impl Fn() + Send + Sync + 'static {
    move || {
        let universe = mpi::initialize().unwrap();
        (case.rank)(universe.world());
    }
}

/// What was told has to be in what a run says when it ends; nothing: it has to end well.
fn check(case: &Case, place: &str, failed: Option<&str>) {
    let told = failed.unwrap_or_default();
    let all = case.told.iter().all(|part| told.contains(part));
    let as_wanted = failed.is_some() != case.told.is_empty() && all;
    assert!(as_wanted, "{}, {place}: {failed:?}", case.name);
}

/// Each case as a program of its own: started by the other test, as a job is the whole of a program.
#[test]
#[ignore = "run by `cases_over_shared_memory`, as a job"]
fn a_case_of_a_job() {
    let name = std::env::var(CASE).unwrap_or_default();
    let case = all().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("{CASE} is none of the cases: {name:?}"));
    assert!(mpi::main(case.ranks, rank(case)) == ExitCode::SUCCESS);
}

#[test]
fn cases_over_shared_memory() {
    for case in all() {
        for schedulers in ["1", "2"] {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--ignored", "--exact", "--nocapture", "a_case_of_a_job"]);
            command.env(CASE, case.name).env("RUST_BACKTRACE", "0");
            command.env("GRAPHMAP_LINK", "shm");
            command.env("GRAPHMAP_OS_PROCESSES", "2");
            command.env("GRAPHMAP_SCHEDULERS", schedulers);
            let ended = command.output().unwrap();
            let told = String::from_utf8_lossy(&ended.stderr);
            let failed = (!ended.status.success()).then_some(&*told);
            check(case, "two OS processes", failed);
            let told = String::from_utf8_lossy(&ended.stdout);
            assert!(told.contains("running 1 test"), "{}: {told}", case.name);
        }
    }
}

#[test]
fn cases_in_one_os_process() {
    for case in all() {
        for (schedulers, seed) in [(1, None), (1, Some(1)), (2, Some(2)), (3, Some(3))] {
            let options = mpi::Options::new().schedulers(schedulers).threads(1);
            let options = match seed {
                Some(seed) => options.shuffle(seed),
                None => options,
            };
            let failed = mpi::run_with(&options, case.ranks, rank(case)).err();
            let failed = failed.map(|error| error.to_string());
            check(case, &format!("{schedulers} schedulers"), failed.as_deref());
        }
    }
}
