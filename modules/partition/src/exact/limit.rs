//! How long a search for a proof goes on, and how it ends.

use std::time::Instant;

use crate::watch::Watch;

/// More than any cost.
pub(crate) const NEVER: i64 = i64::MAX / 4;

/// How the search ended.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// A mapping cheaper than the one given, the cheapest met.
    pub(crate) better: Option<(Vec<u32>, i64)>,
    /// No feasible mapping is cheaper than this.
    pub(crate) bound: i64,
    /// The search was complete: `better`, or else the given mapping, is optimal; with neither,
    /// there is no feasible mapping.
    pub(crate) complete: bool,
}

/// When to give up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit<'a> {
    pub(crate) nodes: u64,
    pub(crate) stop_at: Option<Instant>,
    pub(crate) watch: Option<&'a Watch>,
}

impl Limit<'_> {
    /// Whether it is late, or somebody has had enough.
    pub(crate) fn is_over(&self) -> bool {
        self.stop_at.is_some_and(|t| Instant::now() >= t) || self.watch.is_some_and(Watch::enough)
    }
}
