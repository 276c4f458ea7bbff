//! Progress of a running search, and its cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shows the progress of one search to another thread, and lets it end the search.
#[derive(Debug)]
pub struct Watch {
    cancelled: Arc<AtomicBool>,
    /// Objective of the best mapping so far, as the bits of an `f64`. NaN if there is none.
    best: AtomicU64,
    /// Constant part of the objective, which the search omits.
    base: AtomicU64,
    unit: AtomicU64,
}

impl Watch {
    /// Creates a watch that ends the search after another thread has set `cancelled` to true. The
    /// search reads it regularly, and does not end at once. The result is then the best mapping so
    /// far.
    #[must_use]
    pub fn new(cancelled: Arc<AtomicBool>) -> Self {
        Self {
            cancelled,
            best: AtomicU64::new(f64::NAN.to_bits()),
            base: AtomicU64::new(0),
            unit: AtomicU64::new(1_f64.to_bits()),
        }
    }

    /// Returns the objective of the best mapping so far that satisfies all bounds, in the
    /// [unit](Self::set_unit) that was set when the mapping was found. Returns `None` before the
    /// first such mapping.
    #[must_use]
    pub fn best(&self) -> Option<f64> {
        Some(f64::from_bits(self.best.load(Ordering::Relaxed))).filter(|b| !b.is_nan())
    }

    /// Returns a new watch with the same `cancelled`, but without a mapping, and with the default
    /// base (0) and unit (1). A search that uses this watch does not change [`best`](Self::best) of
    /// `self`.
    pub(crate) fn hidden(&self) -> Self {
        Self::new(Arc::clone(&self.cancelled))
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn set_base(&self, base: u64) {
        self.base.store(base, Ordering::Relaxed);
    }

    /// Sets the number of units of the objective that make 1 in the result of [`best`](Self::best).
    /// The default is 1. The unit holds for mappings that are found later, so set it before the
    /// search. The unit is not checked. It should be positive and finite.
    pub fn set_unit(&self, unit: f64) {
        self.unit.store(unit.to_bits(), Ordering::Relaxed);
    }

    /// Replaces the objective of the best mapping by `cost` plus the base, divided by the unit.
    /// Does not check that the mapping is better than the previous one.
    pub(crate) fn found(&self, cost: i64) {
        let whole = cost as f64 + self.base.load(Ordering::Relaxed) as f64;
        let unit = f64::from_bits(self.unit.load(Ordering::Relaxed));
        self.best.store((whole / unit).to_bits(), Ordering::Relaxed);
    }
}
