//! Somebody who waits for a search: sees how good the best is so far, and may have enough of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Watches one search.
#[derive(Debug)]
pub struct Watch {
    enough: Arc<AtomicBool>,
    /// Best so far, as the bits of an `f64`.
    best: AtomicU64,
    /// What the search does not count, and its units in one of the watcher's.
    base: AtomicU64,
    unit: AtomicU64,
}

impl Watch {
    /// A watch that ends the search as soon as the flag is set: the best found so far is the
    /// result.
    #[must_use]
    pub fn new(enough: Arc<AtomicBool>) -> Self {
        Self {
            enough,
            best: AtomicU64::new(f64::NAN.to_bits()),
            base: AtomicU64::new(0),
            unit: AtomicU64::new(1_f64.to_bits()),
        }
    }

    /// What is minimised, for the best mapping so far that keeps all bounds, in the
    /// [unit](Self::set_unit) that was set.
    #[must_use]
    pub fn best(&self) -> Option<f64> {
        Some(f64::from_bits(self.best.load(Ordering::Relaxed))).filter(|b| !b.is_nan())
    }

    /// One that ends with it, and shows nobody what is found.
    pub(crate) fn unseen(&self) -> Self {
        Self::new(Arc::clone(&self.enough))
    }

    pub(crate) fn enough(&self) -> bool {
        self.enough.load(Ordering::Relaxed)
    }

    pub(crate) fn set_base(&self, base: u64) {
        self.base.store(base, Ordering::Relaxed);
    }

    /// How many units of what is minimised make 1 of what [`best`](Self::best) tells; 1 where it was
    /// not set.
    pub fn set_unit(&self, unit: f64) {
        self.unit.store(unit.to_bits(), Ordering::Relaxed);
    }

    /// A better mapping was found.
    pub(crate) fn found(&self, cost: i64) {
        let whole = cost as f64 + self.base.load(Ordering::Relaxed) as f64;
        let unit = f64::from_bits(self.unit.load(Ordering::Relaxed));
        self.best.store((whole / unit).to_bits(), Ordering::Relaxed);
    }
}
