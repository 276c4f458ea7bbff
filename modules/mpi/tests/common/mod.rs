//! What the tests share.

use mpi::topology::SimpleCommunicator;

/// So many ranks on so many schedulers, each of which calls `rank` with the communicator of all.
pub(crate) fn ranks_on(
    schedulers: usize,
    count: usize,
    rank: impl Fn(SimpleCommunicator) + Send + Sync + 'static,
) {
    // In another order each time.
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
