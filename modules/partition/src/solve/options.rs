//! Options of a search, and its result.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::evaluate::Evaluation;
use crate::graph::Graph;
use crate::solve::limits::Limits;
use crate::strategy::{Launch, Strategy};
use crate::tuning::time::STEPS;
use crate::watch::Watch;

/// Options of [`solve`](crate::solve()).
#[derive(Clone, Debug)]
pub struct Options {
    /// Method that finds the mapping.
    pub strategy: Strategy,
    /// Time limit of the search and of the lower bound. With a time limit, the mapping depends on
    /// the speed of the machine and on other programs that run there. A reported proof is valid
    /// nevertheless. With `None` the search is limited by `steps`, and the result depends only on
    /// the input and the seed. The exception is the strategy `ilp`, whose solver then has 10
    /// seconds.
    pub time: Option<Duration>,
    /// Number of steps of a search without a time limit. A step is one proposed move, and takes
    /// some tens of nanoseconds.
    pub steps: u64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Whether [`solve`](crate::solve()) fails if it finds no mapping within the balance bound. If
    /// false, it raises the bound to the least one that it finds, and reports the factor in
    /// [`Solution::raised`].
    pub strict_balance: bool,
    /// External solver for the strategy `ilp`: an executable that reads an LP file. Its file name
    /// must contain `cbc` or `glpsol`. With `None`, the strategy uses a solver in this process.
    pub solver: Option<PathBuf>,
    /// Function that creates the command which starts the `solver`. The default is
    /// [`std::process::Command::new`], after a check that a path with a folder exists. The function
    /// returns an error if there is no executable at the path. A solver that exceeds its time gets
    /// the signal TERM, and later KILL.
    pub launch: Option<Launch>,
    /// Number of threads of `auto`, for a search with a time limit, at most 20,000 vertices, and at
    /// most 4,194,304 vertices times blocks. At most 1,024 threads are used. A search without a
    /// time limit uses one thread, so that the result depends only on the input and the seed.
    /// Bounds and proofs use one thread.
    pub threads: NonZeroUsize,
    /// Observer of the search, which can end the search of `auto` and `fast`.
    pub watch: Option<Arc<Watch>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            time: None,
            steps: STEPS,
            seed: 0,
            strict_balance: false,
            solver: None,
            launch: None,
            threads: NonZeroUsize::MIN,
            watch: None,
        }
    }
}

/// A mapping, its evaluation and a bound on its quality.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Block of each vertex.
    pub block_of: Vec<u32>,
    /// Result of [`evaluate`](crate::evaluate()) for this mapping.
    pub evaluation: Evaluation,
    /// Lower bound on `minimised` over all feasible mappings. If the objective is the largest load
    /// and this mapping is proved to have the least one, the bound holds only for mappings that
    /// also have it.
    pub lower_bound: u64,
    /// Cost, preferences and migration of this mapping together: the quantity that is minimised.
    /// For [`Objective::RemoteChannels`](crate::Objective::RemoteChannels), the number of remote
    /// channels replaces the cost.
    pub minimised: u64,
    /// `(minimised - lower_bound) / minimised`, or 0 if `minimised` is 0.
    pub gap: f64,
    /// Whether the mapping is proved to be optimal.
    pub proved: bool,
    /// Whether more time may narrow the gap.
    pub narrows: bool,
    /// Load bounds of the search: the requested ones, or the raised ones.
    pub limits: Limits,
    /// Largest factor by which a load bound is above the requested one, if this mapping needs a
    /// raised bound.
    pub raised: Option<f64>,
    /// Whether it is proved that no mapping is within the requested balance bound. False if the
    /// proof took too long, or if no bound was raised.
    pub unavoidable: bool,
    /// Messages for the user, for example that another strategy was used instead of the requested
    /// one.
    pub warnings: Vec<String>,
    /// Protocol of the search, for diagnosis.
    pub log: Vec<String>,
}

impl Solution {
    /// Returns true if a mapping satisfies all rules and the balance bound. If the bound was raised
    /// for this solution, the raised bound is sufficient. `evaluation` must be the evaluation of
    /// `block_of`.
    ///
    /// # Panics
    ///
    /// May panic if `block_of` does not have one block of the machine for each vertex of the graph.
    #[must_use]
    pub fn admits(&self, graph: &Graph, block_of: &[u32], evaluation: &Evaluation) -> bool {
        let raised = || self.raised.is_some() && self.limits.keeps(graph, block_of);
        evaluation.feasible() || evaluation.allowed() && raised()
    }
}
