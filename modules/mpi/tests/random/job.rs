//! A rank of a job that runs many programs, as starting a job is what costs.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

use super::program::{Program, Spec};

/// What is asked for buffered sends: some messages of all lengths.
pub(crate) const BUFFER: usize = 8 << 20;

/// The whole of a rank's `main` in a job of many programs: `PROGRAM RANKS DIRECTORY SPECIFICATION` writes what each rank has
/// seen to `DIRECTORY/RANK.log`.
pub(crate) fn rank() {
    let mut universe = mpi::initialize().expect("the first to initialize");
    universe.set_buffer_size(BUFFER);
    let world = universe.world();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ranks, directory, specs] = &arguments[..] else {
        panic!("RANKS DIRECTORY SPECIFICATION, not {arguments:?}");
    };
    assert_eq!(world.size().to_string(), *ranks, "ranks of the job");
    let specs = Spec::parse(specs).unwrap_or_else(|| panic!("no programs: {specs}"));
    let path = Path::new(directory).join(format!("{}.log", world.rank()));
    let created = File::create(&path);
    let mut file = created.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    programs(&world, &specs, |line| {
        // At once: where a job hangs, the last lines tell in what.
        writeln!(file, "{line}").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    });
}

/// Runs programs one after the other.
pub(crate) fn programs(world: &SimpleCommunicator, specs: &[Spec], mut tell: impl FnMut(&str)) {
    for spec in specs {
        tell(&format!("program {spec}"));
        Program::new(spec).run(world, &mut tell);
        // What is buffered is bounded by what one program sends, and none sees another's messages.
        world.barrier();
    }
    tell("end");
}
