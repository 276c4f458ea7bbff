//! What the searches of an instance tell those who wait for them, and how one ends them all.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::watch::Watch;

/// Searches of one instance.
pub(super) struct Team {
    least: AtomicI64,
    over: AtomicBool,
    /// Whether those who watch hear of what is found.
    heard: bool,
}

impl Team {
    pub(super) fn new() -> Self {
        Self {
            least: AtomicI64::new(i64::MAX),
            over: AtomicBool::new(false),
            heard: true,
        }
    }

    /// For a search in a part of the instance: its costs say nothing to others.
    pub(super) fn inside() -> Self {
        Self {
            heard: false,
            ..Self::new()
        }
    }

    /// Tells somebody who waits of the least cost that any of them found.
    pub(super) fn tell(&self, watch: &Watch, cost: i64) {
        if self.heard {
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
