//! Networks of nothing but ranks, wherever these are.

use graphmap_runtime as rt;
use rt::mpi::{self, Communicator, Error};
use rt::{Names, Network, Options, Report, RunError};

use super::simulated::run_simulated;

/// Of a process that has none.
pub struct NoPorts;

impl rt::Ports for NoPorts {
    fn connect(_: &mut rt::Ends<'_>) -> Self {
        NoPorts
    }
}

/// A network of so many ranks, each as `rank` says.
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

/// Where ranks may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// On one scheduler.
    Together,
    /// On so many threads: in blocks, or in turn.
    Threads(usize),
    InTurn(usize),
    /// In so many OS processes, each of which is a thread of the test, in blocks or in turn: what is sent is late.
    Apart(usize),
    ApartInTurn(usize),
}

/// All of these with a few.
pub const EVERYWHERE: [Where; 6] = [
    Where::Together,
    Where::Threads(2),
    Where::InTurn(3),
    Where::Apart(2),
    Where::ApartInTurn(2),
    Where::ApartInTurn(3),
];

/// Runs so many ranks in such a place.
pub fn run_at<F: Future<Output = Result<(), Error>> + 'static>(
    place: Where,
    count: usize,
    seed: u64,
    rank: impl Fn(Communicator) -> F + Clone + Send + Sync + 'static,
) -> Result<Report, RunError> {
    run_network_at(place, count, seed, || network(count, rank.clone()))
}

/// Runs a network of so many processes in such a place.
pub fn run_network_at(
    place: Where,
    count: usize,
    seed: u64,
    make: impl Fn() -> Network + Sync,
) -> Result<Report, RunError> {
    let options = Options::new().shuffle(seed);
    let in_turn = |parts: usize| {
        let of: Vec<String> = (0..count).map(|rank| (rank % parts).to_string()).collect();
        of.join(" ").parse().unwrap()
    };
    match place {
        Where::Together => rt::run(make(), &options),
        Where::Threads(parts) => rt::run(make(), &options.os_processes(parts).threads(parts)),
        Where::InTurn(parts) => {
            let options = options.os_processes(parts).threads(parts);
            rt::run(make(), &options.mapping(in_turn(parts)))
        }
        Where::Apart(parts) => run_simulated(make, &options, parts, seed),
        Where::ApartInTurn(parts) => {
            run_simulated(make, &options.mapping(in_turn(parts)), parts, seed)
        }
    }
}

/// Runs them in all places.
pub fn everywhere<F: Future<Output = Result<(), Error>> + 'static>(
    count: usize,
    seed: u64,
    rank: impl Fn(Communicator) -> F + Clone + Send + Sync + 'static,
) {
    for place in EVERYWHERE {
        if let Err(error) = run_at(place, count, seed, rank.clone()) {
            panic!("{place:?}, seed {seed}: {error}");
        }
    }
}
