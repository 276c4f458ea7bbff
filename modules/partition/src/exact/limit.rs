//! Limits of a search for a proof, and its outcome.

use std::time::Instant;

use crate::watch::Watch;

/// Larger than any cost.
pub(crate) const NEVER: i64 = i64::MAX / 4;

/// Outcome of a search.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The cheapest mapping found, if it costs less than the given one.
    pub(crate) better: Option<(Vec<u32>, i64)>,
    /// Lower bound on the cost of all feasible mappings.
    pub(crate) bound: i64,
    /// True if the search was complete. Then `better` is optimal, or the given mapping if there is
    /// none. If there is neither, no feasible mapping exists.
    pub(crate) complete: bool,
}

/// Limits of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit<'a> {
    pub(crate) nodes: u64,
    pub(crate) stop_at: Option<Instant>,
    pub(crate) watch: Option<&'a Watch>,
}

impl Limit<'_> {
    /// Returns true if the deadline has passed or the search was cancelled.
    pub(crate) fn is_over(&self) -> bool {
        self.stop_at.is_some_and(|t| Instant::now() >= t)
            || self.watch.is_some_and(Watch::is_cancelled)
    }
}
