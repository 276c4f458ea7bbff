//! Input and result of the strategies of this crate.

use std::time::Duration;

use super::external::Launch;
use crate::budget::Budget;
use crate::instance::Instance;
use crate::random::Random;

/// Input of a strategy.
pub(crate) struct Context<'a> {
    pub(crate) inst: &'a Instance,
    pub(crate) budget: Budget<'a>,
    pub(crate) random: Random,
    /// Known mappings, in vertices of the instance. The result of a search is not worse than the
    /// best of them.
    pub(crate) initial_solutions: Vec<Vec<u32>>,
    /// Further known mappings, for the part of a search that exists only with a time limit.
    pub(crate) later: Vec<Vec<u32>>,
    /// Duration of a mapping of a large network with little effort, if one was made before.
    pub(crate) hurried: Option<Duration>,
    /// Share of the budget after which a search without a feasible mapping ends.
    pub(crate) patience: f64,
    pub(crate) solver: Option<&'a std::path::Path>,
    pub(crate) launch: Option<Launch>,
    pub(crate) log: Vec<String>,
    /// Messages for the user, for example that another strategy was used instead of the requested
    /// one.
    pub(crate) warnings: Vec<String>,
}

impl<'a> Context<'a> {
    /// Creates a context without a solver, in which a search may use its whole budget.
    pub(crate) fn new(
        inst: &'a Instance,
        budget: Budget<'a>,
        random: Random,
        initial_solutions: Vec<Vec<u32>>,
    ) -> Self {
        Self {
            inst,
            budget,
            random,
            initial_solutions,
            later: Vec::new(),
            hurried: None,
            patience: 1.0,
            solver: None,
            launch: None,
            log: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// Result of a strategy.
pub(crate) struct Found {
    pub(crate) block: Vec<u32>,
    /// Lower bound on the cost of every feasible mapping, if the strategy proved one itself.
    pub(crate) bound: Option<i64>,
    /// Whether a proof by the structure of the network was already tried.
    pub(crate) examined: bool,
}

impl From<Vec<u32>> for Found {
    fn from(block: Vec<u32>) -> Self {
        Self {
            block,
            bound: None,
            examined: false,
        }
    }
}
