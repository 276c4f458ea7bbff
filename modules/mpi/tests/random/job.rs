//! A rank of a job that runs many programs, as starting a job is what costs.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

use super::program::{Program, Spec};

/// What is asked for buffered sends: some messages of all lengths.
const BUFFER: usize = 8 << 20;

/// Which job a rank is of: `RANKS DIRECTORY SPECIFICATION`. By the environment, as arguments are the test harness's.
pub(crate) const JOB: &str = "GRAPHMAP_RANDOM_JOB";

/// How many ranks the job has, where they write, and what programs they run.
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

/// The whole of a rank's `main`: what it has seen is in `DIRECTORY/RANK.log`.
pub(crate) fn rank() {
    let mut universe = mpi::initialize().expect("the first to initialize");
    universe.set_buffer_size(BUFFER);
    of(&universe.world());
}

/// What a rank of a job does, which all ranks of this communicator are.
pub(crate) fn of(world: &SimpleCommunicator) {
    let (ranks, directory, specs) = job();
    assert_eq!(world.size() as usize, ranks, "ranks of the job");
    let path = directory.join(format!("{}.log", world.rank()));
    let created = File::create(&path);
    let mut file = created.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    programs(world, &specs, |line| {
        // At once: where a job hangs, the last lines tell in what.
        writeln!(file, "{line}").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    });
}

/// Runs programs one after the other.
fn programs(world: &SimpleCommunicator, specs: &[Spec], mut tell: impl FnMut(&str)) {
    for spec in specs {
        tell(&format!("program {spec}"));
        Program::new(spec).run(world, &mut tell);
        // What is buffered is bounded by what one program sends, and none sees another's messages.
        world.barrier();
    }
    tell("end");
}
