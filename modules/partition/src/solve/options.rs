//! What is asked of a search, and what it answers.

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

/// How to solve.
#[derive(Clone, Debug)]
pub struct Options {
    /// How it is looked for a mapping.
    pub strategy: Strategy,
    /// Time to search. With a time, what is found depends on the speed of the machine and on what
    /// else runs there; the proofs and the checks do not. `None` counts steps instead: then the
    /// result depends on the input and the seed alone.
    pub time: Option<Duration>,
    /// Steps to search when no time is given: proposed moves, some tens of nanoseconds each.
    pub steps: u64,
    /// Seed of all random choices.
    pub seed: u64,
    /// When no mapping within the balance bound is found: true fails, false raises the bound to
    /// the least one found and says so.
    pub strict_balance: bool,
    /// An external solver for the strategy `ilp`: an executable that takes an LP file.
    pub solver: Option<PathBuf>,
    /// How that executable is started, where not by [`std::process::Command::new`]; an error where there is none. What
    /// it starts is told to end by TERM, and then killed.
    pub launch: Option<Launch>,
    /// Threads that `auto` searches on, with a time and up to 20,000 vertices; without a time it
    /// takes one, so that nothing but the input and the seed counts. Bounds and proofs take one.
    pub threads: NonZeroUsize,
    /// Somebody who waits, and may end the search of `auto` and `fast`.
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

/// A mapping and what is known about it.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Block of each vertex.
    pub block_of: Vec<u32>,
    /// What the judge says.
    pub evaluation: Evaluation,
    /// No feasible mapping is cheaper than this, in what is minimised (cost, preferences and
    /// migration together). Where the largest load is what is to be small, and is proved to be: none that
    /// keeps it as small.
    pub lower_bound: u64,
    /// What is minimised, for this mapping.
    pub minimised: u64,
    /// (minimised - bound) / minimised; 0 when nothing is left to gain.
    pub gap: f64,
    /// The mapping is proved to be optimal.
    pub proved: bool,
    /// More time may narrow the gap.
    pub narrows: bool,
    /// The load bounds that the mapping was searched under: those wanted, or as far as they were raised.
    pub limits: Limits,
    /// When the balance bound had to be raised: the largest factor by which a block may exceed it.
    pub raised: Option<f64>,
    /// It had to be: that nothing keeps the wanted balance bound is proved. False when nothing was
    /// found and the proof took too long, and when nothing was raised.
    pub unavoidable: bool,
    /// What a user should know: that the strategy did not do what its name says.
    pub warnings: Vec<String>,
    /// What was done, for the curious.
    pub log: Vec<String>,
}

impl Solution {
    /// Returns true if a mapping keeps all rules and the balance bound, as far as that was raised
    /// for this solution. `evaluation` must be that of the mapping.
    #[must_use]
    pub fn admits(&self, graph: &Graph, block_of: &[u32], evaluation: &Evaluation) -> bool {
        let raised = || self.raised.is_some() && self.limits.keeps(graph, block_of);
        evaluation.feasible() || evaluation.allowed() && raised()
    }
}
