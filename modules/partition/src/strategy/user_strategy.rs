//! Strategies of library users, and the checks of their results.

use std::num::NonZeroUsize;
use std::time::Duration;

use crate::error::{Error, Part};
use crate::evaluate::evaluate;
use crate::problem::Problem;

/// Limits of a strategy's search, and the seed of its random numbers.
#[derive(Clone, Copy, Debug)]
pub struct SearchLimits {
    /// Time limit of the search. Without one, `steps` is the limit.
    pub time: Option<Duration>,
    /// Number of steps of a search without a time limit. A step takes about as long as a proposed
    /// move.
    pub steps: u64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of threads that the search may use.
    pub threads: NonZeroUsize,
}

/// Function that returns the block of each vertex.
pub(crate) type UserStrategy =
    dyn Fn(&Problem<'_>, &SearchLimits) -> Result<Vec<u32>, Error> + Send + Sync;

/// Returns the mapping of a strategy, or `None` if it breaks a rule.
///
/// # Errors
///
/// Returns the error of the strategy, or of the evaluation of its result, as [`sanitized`] converts
/// it.
pub(crate) fn run(
    run: &UserStrategy,
    name: &str,
    problem: &Problem<'_>,
    limits: &SearchLimits,
) -> Result<Option<Vec<u32>>, Error> {
    let failed = |error| sanitized(error, name, problem);
    let block_of = run(problem, limits).map_err(failed)?;
    let judged = evaluate(problem, &block_of).map_err(failed)?;
    Ok(judged.allowed().then_some(block_of))
}

/// Converts an error of a strategy. [`Error::Infeasible`] stays one, but does not count as a proof,
/// and its reason names the strategy. Parts that the problem does not have are removed from it. All
/// other errors become [`Error::Strategy`] with the name of the strategy.
fn sanitized(error: Error, name: &str, problem: &Problem<'_>) -> Error {
    let name = name.to_owned();
    let said = match error {
        Error::Infeasible(mut conflict) => {
            conflict.parts.retain(|part| match *part {
                Part::Constraint(c) => c < problem.constraints.len(),
                Part::Memory(b) | Part::Slots(b) | Part::Balance(b) => {
                    (b as usize) < problem.machine.len()
                }
                Part::Vertex(v) => (v as usize) < problem.graph.vertices(),
            });
            conflict.reason = format!("the strategy `{name}` reports: {}", conflict.reason);
            (conflict.minimal, conflict.proved) = (false, false);
            return Error::Infeasible(conflict);
        }
        Error::Input(said) | Error::Solver(said) => said,
        other => other.to_string(),
    };
    Error::Strategy { name, said }
}
