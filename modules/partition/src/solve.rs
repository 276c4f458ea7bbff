//! The way in: a problem and options, out comes a mapping that the judge has seen.

use crate::error::Error;
use crate::evaluate::Evaluation;
use crate::instance::Instance;
use crate::pack::{Effort, pack};
use crate::problem::Problem;
use crate::random::Random;

mod alike;
mod limits;
mod options;
mod prices;
mod stages;

pub use limits::Limits;
pub use options::{Options, Solution};

/// Finds a mapping.
///
/// # Errors
///
/// [`Error::Input`] when the problem makes no sense, [`Error::Infeasible`] with the constraints in
/// conflict when no mapping keeps the hard rules, [`Error::Solver`].
pub fn solve(problem: &Problem<'_>, options: &Options) -> Result<Solution, Error> {
    let mut stages = stages::Stages::new(problem, options)?;
    stages.bound_loads()?;
    let mut found = stages.search()?;
    stages.prove(&mut found);
    stages.conclude(found)
}

/// Returns the mapping of a strategy and its evaluation, without a bound and a proof.
///
/// # Errors
///
/// As [`solve`].
pub fn evaluate_strategy(
    problem: &Problem<'_>,
    options: &Options,
) -> Result<(Vec<u32>, Evaluation), Error> {
    let mut stages = stages::Stages::new(problem, options)?;
    stages.bound_loads()?;
    let found = stages.search()?;
    stages.judged(found.block)
}

/// Returns true if packing by size finds a mapping that keeps all constraints, memory and slots. The
/// balance bound does not count. False does not prove that no mapping exists.
#[must_use]
pub fn is_packable(problem: &Problem<'_>) -> bool {
    if problem.check().is_err() {
        return false;
    }
    let Ok((inst, _)) = Instance::new(problem) else {
        return false;
    };
    let steps = (inst.len() as u64 * 50).clamp(10_000, 200_000);
    let open = inst.without_load_bounds();
    pack(&open, &mut Random::new(0), Effort::of(steps)).feasible()
}
