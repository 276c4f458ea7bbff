//! Where a rank is in its life.

use std::cell::Cell;
use std::rc::Rc;

use crate::threading::Threading;

/// The life of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Before,
    Initialized(Threading),
    Finalized(Threading),
}

/// A rank, as its communicators know it.
#[derive(Clone)]
pub(crate) struct Life(Rc<Cell<Phase>>);

impl Life {
    pub(crate) fn new(phase: &Rc<Cell<Phase>>) -> Self {
        Life(Rc::clone(phase))
    }

    /// Whether the rank may communicate.
    #[inline]
    pub(crate) fn is_initialized(&self) -> bool {
        matches!(self.0.get(), Phase::Initialized(_))
    }

    /// Checks that the rank may communicate.
    ///
    /// # Panics
    /// If it may not.
    #[track_caller]
    #[inline]
    pub(crate) fn check(&self) {
        assert!(
            self.is_initialized(),
            "call after the rank was finalized: its `Universe` was dropped"
        );
    }
}
