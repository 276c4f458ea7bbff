//! Helpers of several test files.

use mpi::topology::SimpleCommunicator;

/// Runs ranks on a number of schedulers. Each calls `rank` with the world communicator.
pub(crate) fn ranks_on(
    schedulers: usize,
    count: usize,
    rank: impl Fn(SimpleCommunicator) + Send + Sync + 'static,
) {
    // The order of polls depends on the numbers of ranks and schedulers.
    let options = mpi::Options::new().schedulers(schedulers).threads(1);
    let options = options.shuffle((count * 31 + schedulers) as u64);
    let ended = mpi::run_with(&options, count, move || {
        let universe = mpi::initialize().unwrap();
        rank(universe.world());
    });
    if let Err(error) = ended {
        panic!("{error}");
    }
}
