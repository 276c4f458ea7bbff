//! Starting ranks: each is a call of the same function on a stack of its own.

use std::process::{ExitCode, Termination};
use std::rc::Rc;

use graphmap_runtime::{Local, Options, Report, RunError};

use crate::fiber::Fiber;
use crate::rank::Rank;

/// Runs so many ranks, each of which calls `main`, and waits until all have ended. They take turns on the calling thread: a rank
/// goes on until it has to wait for another.
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
/// # Errors
/// [`RunError`]: a rank has panicked or returned a failure, or all ranks that are left wait for each other.
pub fn run<T: Termination + 'static>(
    ranks: usize,
    main: impl Fn() -> T + 'static,
) -> Result<Report, RunError> {
    let main = Rc::new(main);
    let mut network = Local::new();
    for _ in 0..ranks {
        let main = Rc::clone(&main);
        let fiber = Fiber::new(Rank::new(), move || ended(main().report()));
        network.spawn(fiber);
    }
    network.run(&Options::from_env()?)
}

/// What a rank has ended with.
fn ended(code: ExitCode) -> Result<(), &'static str> {
    match code == ExitCode::SUCCESS {
        true => Ok(()),
        false => Err("the rank has returned a failure"),
    }
}
