//! Start of ranks. Each rank is a call of the same function on a stack of its own.

use std::process::{ExitCode, Termination};
use std::sync::Arc;

use graphmap_runtime::{Names, Network, Options, Report, RunError};

use crate::process::Process;

/// Runs `ranks` ranks, each of which calls `main`, and blocks until all have ended. The calling
/// thread runs the ranks one at a time. A rank runs until it must wait for another. With
/// `GRAPHMAP_SCHEDULERS=N`, N threads run the ranks, in blocks of consecutive ranks.
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
/// A stack has 1 MiB of address space, or the size in `GRAPHMAP_STACK`: a number of bytes, or of
/// KiB, MiB or GiB with the suffix `k`, `m` or `g`. It takes only the memory that is used. A guard
/// page detects a stack overflow, and the rank is reported.
///
/// # Errors
/// [`RunError`]: a rank has panicked or returned a failure, the remaining ranks are in a deadlock,
/// `ranks` is 0, an option in the environment is invalid, or a file of the run cannot be read or
/// written.
pub fn run<T: Termination + 'static>(
    ranks: usize,
    main: impl Fn() -> T + Send + Sync + 'static,
) -> Result<Report, RunError> {
    run_with(&Options::from_env()?, ranks, main)
}

/// Runs ranks as [`run`], with these options instead of the options in the environment. The size of
/// stacks is still read from `GRAPHMAP_STACK`.
///
/// # Errors
/// As for [`run`].
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

/// Runs ranks as [`run`], as the whole `main` of a program. All options of a run are read from the
/// environment. With `GRAPHMAP_LINK=shm`, starts `GRAPHMAP_OS_PROCESSES` OS processes. Without that
/// link, starts threads instead. Blocks until the run has ended. Prints errors, and returns one of
/// the exit codes of [`Exit`](graphmap_runtime::Exit). Only the first of several OS processes
/// returns: the others exit.
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

/// Returns a network of `ranks` ranks, for other ways to run networks. For example, a link over MPI
/// runs it in as many OS processes as the launcher starts, on one host or several.
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

/// Converts the exit code of a rank. All codes except success are errors.
fn ended(code: ExitCode) -> Result<(), String> {
    match code == ExitCode::SUCCESS {
        true => Ok(()),
        false => Err("the rank returned a failure".to_string()),
    }
}
