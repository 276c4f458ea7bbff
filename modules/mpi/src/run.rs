//! Starting ranks: each is a call of the same function on a stack of its own.

use std::process::{ExitCode, Termination};
use std::sync::Arc;

use graphmap_runtime::{Names, Network, Options, Report, RunError};

use crate::process::Process;

/// Runs so many ranks, each of which calls `main`, and waits until all have ended. They take turns on the calling thread: a rank
/// goes on until it has to wait for another. With `GRAPHMAP_SCHEDULERS=N` they take turns on N threads, in blocks of consecutive ranks.
///
/// ```
/// use mpi::traits::*;
///
/// fn main() {
///     mpi::run(3, rank).unwrap();
/// }
///
/// fn rank() {
///     let universe = mpi::initialize().unwrap();
///     let world = universe.world();
///     let mut sum = 0;
///     world.all_reduce_into(&world.rank(), &mut sum, mpi::collective::SystemOperation::sum());
///     assert_eq!(sum, 3);
/// }
/// ```
///
/// A stack is of 1 MiB of address space, or as many bytes as `GRAPHMAP_STACK` says; of memory it takes what it needs. Its guard
/// tells the rank that overflows it.
///
/// # Errors
/// [`RunError`]: a rank has panicked or returned a failure, or all ranks that are left wait for each other; or there are none.
pub fn run<T: Termination + 'static>(
    ranks: usize,
    main: impl Fn() -> T + Send + Sync + 'static,
) -> Result<Report, RunError> {
    run_with(&Options::from_env()?, ranks, main)
}

/// As [`run`], with these options instead of those of the environment.
///
/// # Errors
/// As there.
pub fn run_with<T: Termination + 'static>(
    options: &Options,
    ranks: usize,
    main: impl Fn() -> T + Send + Sync + 'static,
) -> Result<Report, RunError> {
    let wrong = graphmap_fiber::Options::from_env().err();
    match wrong {
        Some(error) => Err(RunError::Options(error.to_string())),
        None => graphmap_runtime::run(network(ranks, main), options),
    }
}

/// As [`run`], as the whole of a program's `main`: with `GRAPHMAP_LINK=shm` in as many OS processes as `GRAPHMAP_OS_PROCESSES` says, which
/// are started here (threads without that link), with all that the environment may say of a run; errors are printed, and the exit code is one of
/// [`Exit`](graphmap_runtime::Exit).
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     mpi::main(1000, rank)
/// }
///
/// fn rank() {
///     let universe = mpi::initialize().unwrap();
/// }
/// ```
pub fn main<T: Termination + 'static>(
    ranks: usize,
    main: impl Fn() -> T + Send + Sync + 'static,
) -> ExitCode {
    graphmap_runtime::main(|| network(ranks, main))
}

/// So many ranks as a network, for what runs networks otherwise: a link over MPI, in as many OS processes as its launcher starts, on one
/// host or many.
///
/// ```ignore
/// fn main() -> std::process::ExitCode {
///     graphmap_link_mpi::main(|| mpi::network(1000, rank))
/// }
/// ```
pub fn network<T: Termination + 'static>(
    ranks: usize,
    main: impl Fn() -> T + Send + Sync + 'static,
) -> Network {
    let main = Arc::new(main);
    let numbers = format!("0+1*{ranks}");
    let mut network = Network::new("ranks", "");
    let names = Names::Numbered("main", &numbers);
    network.kind("main", names, &numbers, &[], move |()| {
        let main = Arc::clone(&main);
        Process::new(move || ended(main().report()))
    });
    network
}

/// What a rank has ended with.
fn ended(code: ExitCode) -> Result<(), String> {
    match code == ExitCode::SUCCESS {
        true => Ok(()),
        false => Err("the rank returned a failure".to_string()),
    }
}
