//! Networks that consist only of ranks, at each place.

use std::any::type_name;

use graphmap_runtime as rt;
use rt::mpi::{self, Communicator, Error};
use rt::{Exit, Names, Network, Options, Report, RunError};

use super::places::{Place, RANKS, run_all_as};

/// Ports of a process that has none.
pub struct NoPorts;

impl rt::Ports for NoPorts {
    fn connect(_: &mut rt::Ends<'_>) -> Self {
        NoPorts
    }
}

/// Returns a network of `count` ranks, each of which runs `rank`.
pub fn network<F: Future<Output = Result<(), Error>> + 'static>(
    count: usize,
    rank: impl Fn(Communicator) -> F + Clone + Send + Sync + 'static,
) -> Network {
    let mut net = Network::new("ranks", "ranks.dot");
    let all = format!("0+1*{count}");
    let process = move |_: NoPorts| {
        let rank = rank.clone();
        async move { rank(mpi::world()?).await }
    };
    net.kind("rank", Names::Numbered("rank", &all), &all, &[], process);
    net
}

/// Runs a number of ranks at a place.
pub fn run_at<F: Future<Output = Result<(), Error>> + 'static>(
    place: Place,
    count: usize,
    seed: u64,
    rank: impl Fn(Communicator) -> F + Clone + Send + Sync + 'static,
) -> Result<Report, RunError> {
    place.run(seed, &Options::new().shuffle(seed), || {
        network(count, rank.clone())
    })
}

/// Runs a number of ranks at each place of the test's own OS process.
///
/// # Panics
///
/// If a run fails.
pub fn everywhere<F: Future<Output = Result<(), Error>> + 'static>(
    count: usize,
    seed: u64,
    rank: impl Fn(Communicator) -> F + Clone + Send + Sync + 'static,
) {
    for place in RANKS {
        if let Err(error) = run_at(place, count, seed, rank.clone()) {
            panic!("{place:?}, seed {seed}: {error}");
        }
    }
}

/// Runs ranks in OS processes that share memory, with one and with two schedulers each. Returns the
/// standard error of each run. `rank` must be a closure of the test.
///
/// # Panics
///
/// If the exit code of a run is not `exit`.
pub fn in_os_processes<F, R>(count: usize, exit: Exit, rank: R) -> Vec<String>
where
    F: Future<Output = Result<(), Error>> + 'static,
    R: Fn(Communicator) -> F + Clone + Send + Sync + 'static,
{
    let places = [Place::Shared(3, 1), Place::Shared(2, 2)];
    let make = |_, _| network(count, rank.clone());
    let mut errors = Vec::new();
    run_all_as(
        type_name::<R>(),
        &places,
        0,
        &Options::new(),
        make,
        |place, outcome| {
            assert_eq!(outcome.exit, exit, "{place:?}: {}", outcome.error);
            errors.push(outcome.error);
        },
    );
    errors
}
