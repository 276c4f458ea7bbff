//! What the strategies of this crate work with, and what they find.

use std::time::Duration;

use super::outside::Launch;
use crate::budget::Budget;
use crate::instance::Instance;
use crate::random::Random;

/// What a strategy has to work with.
pub(crate) struct Context<'a> {
    pub(crate) inst: &'a Instance,
    pub(crate) budget: Budget<'a>,
    pub(crate) random: Random,
    /// Mappings that are known, in vertices of the instance: a search finds nothing worse.
    pub(crate) starts: Vec<Vec<u32>>,
    /// More of them, for that part of a search which is done with a time only.
    pub(crate) later: Vec<Vec<u32>>,
    /// What a mapping of a large network took that was made in a hurry, where one was made before.
    pub(crate) hurried: Option<Duration>,
    /// Share of the budget after which a search that has found nothing feasible ends.
    pub(crate) patience: f64,
    pub(crate) solver: Option<&'a std::path::Path>,
    pub(crate) launch: Option<Launch>,
    pub(crate) log: Vec<String>,
    /// What a user should know: that the strategy did not do what its name says.
    pub(crate) warnings: Vec<String>,
}

impl<'a> Context<'a> {
    /// One without a solver, in which a search takes all of its budget.
    pub(crate) fn new(
        inst: &'a Instance,
        budget: Budget<'a>,
        random: Random,
        starts: Vec<Vec<u32>>,
    ) -> Self {
        Self {
            inst,
            budget,
            random,
            starts,
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

/// What a strategy found.
pub(crate) struct Found {
    pub(crate) block: Vec<u32>,
    /// Lower bound on the search cost of every feasible mapping that the strategy proved itself.
    pub(crate) bound: Option<i64>,
    /// The structure of the network has been looked at for a proof.
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
