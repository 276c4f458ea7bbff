//! What the searches of an instance know of one another.
//!
//! Now and then each leaves its best with the others and takes theirs, to be mixed with what it has.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::refine::anneal::Best;
use crate::watch::Watch;

/// Searches of one instance.
pub(super) struct Team {
    /// The best of each, as it was left last.
    left: Mutex<Vec<Option<Best>>>,
    least: AtomicI64,
    over: AtomicBool,
    /// Whether those who watch hear of what is found.
    heard: bool,
}

impl Team {
    pub(super) fn new(members: usize) -> Self {
        Self {
            left: Mutex::new(vec![None; members]),
            least: AtomicI64::new(i64::MAX),
            over: AtomicBool::new(false),
            heard: true,
        }
    }

    /// For a search in a part of the instance: its second member is all there is, so that nothing is
    /// proved, and its costs say nothing to others.
    pub(super) fn inside() -> Self {
        Self {
            heard: false,
            ..Self::new(2)
        }
    }

    /// Tells somebody who waits of the least cost that any of them found.
    pub(super) fn tell(&self, watch: &Watch, cost: i64) {
        if self.heard {
            let least = self.least.fetch_min(cost, Ordering::Relaxed);
            watch.found(least.min(cost));
        }
    }

    /// Leaves the best of a member, and takes that of each other.
    pub(super) fn trade(&self, member: usize, best: &Best) -> Vec<Best> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if left[member].as_ref().is_none_or(|old| best.beats(old)) {
            left[member] = Some(best.clone());
        }
        let others = left.iter().enumerate().filter(|o| o.0 != member);
        others.filter_map(|o| o.1.clone()).collect()
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
