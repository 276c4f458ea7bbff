//! Strategies of somebody's own: what is believed of what they say.

use std::num::NonZeroUsize;
use std::time::Duration;

use crate::error::{Error, Part};
use crate::evaluate::evaluate;
use crate::problem::Problem;

/// How long a strategy may search, and by which random numbers.
#[derive(Clone, Copy, Debug)]
pub struct SearchLimits {
    /// Time to search; without one steps count.
    pub time: Option<Duration>,
    /// Steps to search where there is no time, each about as long as a proposed move.
    pub steps: u64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads to search on.
    pub threads: NonZeroUsize,
}

/// What gives the block of each vertex.
pub(crate) type Other =
    dyn Fn(&Problem<'_>, &SearchLimits) -> Result<Vec<u32>, Error> + Send + Sync;

/// The mapping that a strategy gives; nothing for one that breaks a rule.
///
/// # Errors
/// That it is none, and what the strategy fails with, which proves nothing.
pub(crate) fn run(
    run: &Other,
    name: &str,
    problem: &Problem<'_>,
    limits: &SearchLimits,
) -> Result<Option<Vec<u32>>, Error> {
    let failed = |error| believed(error, name, problem);
    let block_of = run(problem, limits).map_err(failed)?;
    let judged = evaluate(problem, &block_of).map_err(failed)?;
    Ok(judged.allowed().then_some(block_of))
}

/// An error of a strategy. That nothing keeps the rules is taken as what it found, which is no proof; parts that the
/// problem does not have are left out.
fn believed(error: Error, name: &str, problem: &Problem<'_>) -> Error {
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
