//! Entry points: find a mapping for a problem and evaluate it.

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

/// Finds a mapping and bounds its cost.
///
/// Blocks until the strategy and the lower bound have ended. The strategy `auto` ends when the time
/// or the steps of the options are used, or when the mapping is proved to be optimal. Other
/// strategies may end earlier. [`Options::watch`] can end `auto` and `fast`.
///
/// # Errors
///
/// - [`Error::Input`] if [`Problem::check`] reports an error.
/// - [`Error::Infeasible`] if no mapping is found that satisfies the constraints and capacities,
///   with the constraints in conflict. With [`Options::strict_balance`] also if no mapping within
///   the balance limit is found.
/// - [`Error::Solver`] if METIS or a solver for integer programs fails.
/// - [`Error::Strategy`] if a strategy that the caller added fails or returns an invalid mapping.
///
/// # Panics
///
/// Panics if a strategy that the caller added panics.
pub fn solve(problem: &Problem<'_>, options: &Options) -> Result<Solution, Error> {
    let mut stages = stages::Stages::new(problem, options)?;
    stages.bound_loads()?;
    let mut found = stages.search()?;
    stages.prove(&mut found);
    stages.conclude(found)
}

/// Runs a strategy and returns its mapping and the evaluation, without a lower bound and a proof.
///
/// If the mapping of the strategy breaks a rule, the result is another mapping, as for [`solve`].
/// Blocks until the strategy has ended.
///
/// # Errors
///
/// The same as [`solve`].
///
/// # Panics
///
/// Panics if a strategy that the caller added panics.
pub fn evaluate_strategy(
    problem: &Problem<'_>,
    options: &Options,
) -> Result<(Vec<u32>, Evaluation), Error> {
    let mut stages = stages::Stages::new(problem, options)?;
    stages.bound_loads()?;
    let found = stages.search()?;
    stages.judged(found.block)
}

/// Returns true if packing by size finds a mapping that satisfies all constraints, memory and
/// slots. The balance limit is ignored. False does not prove that no mapping exists. Also returns
/// false if [`Problem::check`] reports an error.
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
