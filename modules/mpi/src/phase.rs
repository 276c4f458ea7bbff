//! Phases in the life of a rank.

use std::cell::Cell;
use std::rc::Rc;

use crate::threading::Threading;

/// Phase of a rank: whether it is initialized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Before,
    Initialized(Threading),
    Finalized(Threading),
}

/// Phase of a rank, as its communicators read it.
#[derive(Clone)]
pub(crate) struct PhaseHandle(Rc<Cell<Phase>>);

impl PhaseHandle {
    pub(crate) fn new(phase: &Rc<Cell<Phase>>) -> Self {
        PhaseHandle(Rc::clone(phase))
    }

    /// Returns true if the rank may communicate: it is initialized and was not finalized.
    #[inline]
    pub(crate) fn is_initialized(&self) -> bool {
        matches!(self.0.get(), Phase::Initialized(_))
    }

    /// Checks that the rank may communicate.
    ///
    /// # Panics
    /// If the rank is not initialized, or was finalized.
    #[track_caller]
    #[inline]
    pub(crate) fn check(&self) {
        assert!(
            self.is_initialized(),
            "call after the rank was finalized: its `Universe` was dropped"
        );
    }
}
