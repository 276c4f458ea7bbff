//! Rank of a job. A job runs many programs, because starting a job is slow.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

use super::program::{Program, Spec};

/// Size of the buffer for buffered sends, which holds some messages of all lengths.
const BUFFER: usize = 8 << 20;

/// Variable that describes the job of a rank: `RANKS DIRECTORY SPECIFICATION`. Arguments belong to
/// the test harness.
pub(crate) const JOB: &str = "GRAPHMAP_RANDOM_JOB";

/// Returns the number of ranks of the job, the folder of their logs, and their programs.
pub(crate) fn job() -> (usize, PathBuf, Vec<Spec>) {
    let told = std::env::var(JOB).unwrap_or_default();
    let parts: Vec<&str> = told.split(' ').collect();
    let parsed = match &parts[..] {
        [ranks, directory, specs] => ranks
            .parse()
            .ok()
            .zip(Spec::parse(specs))
            .map(|(ranks, specs)| (ranks, directory.into(), specs)),
        _ => None,
    };
    parsed.unwrap_or_else(|| panic!("{JOB}=RANKS DIRECTORY SPECIFICATION, not {told:?}"))
}

/// Runs a rank from the start of `main` to its end. Writes its log to `DIRECTORY/RANK.log`.
pub(crate) fn rank() {
    let mut universe = mpi::initialize().expect("the first to initialize");
    universe.set_buffer_size(BUFFER);
    of(&universe.world());
}

/// Runs the programs of a job on a rank of this communicator.
pub(crate) fn of(world: &SimpleCommunicator) {
    let (ranks, directory, specs) = job();
    assert_eq!(world.size() as usize, ranks, "ranks of the job");
    let path = directory.join(format!("{}.log", world.rank()));
    let created = File::create(&path);
    let mut file = created.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    programs(world, &specs, |line| {
        // Written at once, so that the last line shows the place if a job hangs.
        writeln!(file, "{line}").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    });
}

/// Runs programs one after the other.
fn programs(world: &SimpleCommunicator, specs: &[Spec], mut tell: impl FnMut(&str)) {
    for spec in specs {
        tell(&format!("program {spec}"));
        Program::new(spec).run(world, &mut tell);
        // The barrier bounds the buffered data to one program, and separates the messages of
        // programs.
        world.barrier();
    }
    tell("end");
}
