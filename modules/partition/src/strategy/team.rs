//! What the searches of an instance tell those who wait for them, and how one ends them all.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::watch::Watch;

/// Searches of one instance.
pub(super) struct Team<'a> {
    least: AtomicI64,
    over: AtomicBool,
    /// Who hears of what is found.
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

    /// Tells somebody who waits of the least cost that any of them found.
    pub(super) fn tell(&self, cost: i64) {
        if let Some(watch) = self.watch {
            let least = self.least.fetch_min(cost, Ordering::Relaxed);
            watch.found(least.min(cost));
        }
    }

    /// Whether one has found what cannot be better.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Ends the searches of all.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
