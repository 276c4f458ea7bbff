//! Cases that run in one OS process, with several schedulers and random orders, and in two OS
//! processes. A file of tests defines its cases by `crate::all`.

use std::process::{Command, ExitCode};

use mpi::topology::SimpleCommunicator;

/// Environment variable with the name of the case to run, because arguments belong to the test
/// harness.
const CASE: &str = "GRAPHMAP_TEST_CASE";

/// Function that each of a number of ranks calls with the world communicator.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) ranks: usize,
    pub(crate) rank: fn(SimpleCommunicator),
    /// Parts of the error of the run. If there are none, the run must succeed.
    pub(crate) told: &'static [&'static str],
}

pub(crate) const fn case(name: &'static str, ranks: usize, rank: fn(SimpleCommunicator)) -> Case {
    Case {
        name,
        ranks,
        rank,
        told: &[],
    }
}

/// Returns the function that each rank of a case calls.
fn rank(case: &'static Case) -> impl Fn() + Send + Sync + 'static {
    move || {
        let universe = mpi::initialize().unwrap();
        (case.rank)(universe.world());
    }
}

fn check(case: &Case, place: &str, failed: Option<&str>) {
    let told = failed.unwrap_or_default();
    let all = case.told.iter().all(|part| told.contains(part));
    let as_wanted = failed.is_some() != case.told.is_empty() && all;
    assert!(as_wanted, "{}, {place}: {failed:?}", case.name);
}

/// Runs one case as a job. The other test starts it, because a job is a whole program.
#[test]
#[ignore = "run by `cases_over_shared_memory`, as a job"]
fn a_case_of_a_job() {
    let name = std::env::var(CASE).unwrap_or_default();
    let case = crate::all().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("{CASE} names no case: {name:?}"));
    assert!(mpi::main(case.ranks, rank(case)) == ExitCode::SUCCESS);
}

#[test]
fn cases_over_shared_memory() {
    for case in crate::all() {
        for schedulers in ["1", "2"] {
            let mut command = Command::new(std::env::current_exe().unwrap());
            let job = concat!(module_path!(), "::a_case_of_a_job");
            let (_, job) = job.split_once("::").unwrap();
            command.args(["--ignored", "--exact", "--nocapture", job]);
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
    for case in crate::all() {
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
