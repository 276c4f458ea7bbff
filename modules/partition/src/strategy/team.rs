//! State that concurrent searches of one instance share: the least cost, and a flag that ends them.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::watch::Watch;

/// Concurrent searches of one instance.
pub(super) struct Team<'a> {
    least: AtomicI64,
    over: AtomicBool,
    /// Observer that gets the least cost.
    watch: Option<&'a Watch>,
}

impl<'a> Team<'a> {
    pub(super) fn new(watch: Option<&'a Watch>) -> Self {
        Self {
            least: AtomicI64::new(i64::MAX),
            over: AtomicBool::new(false),
            watch,
        }
    }

    /// Reports a cost to the observer, if there is one. The observer gets the least cost that any
    /// of the searches has reported.
    pub(super) fn report_cost(&self, cost: i64) {
        if let Some(watch) = self.watch {
            let least = self.least.fetch_min(cost, Ordering::Relaxed);
            watch.found(least.min(cost));
        }
    }

    /// Returns true if the searches must end, because one of them has proved its mapping or
    /// panicked.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Ends all searches.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
