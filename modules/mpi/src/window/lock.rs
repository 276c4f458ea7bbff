//! Locks on the memory of ranks.

use graphmap_runtime::mpi as core;

use super::element::Element;
use crate::CallError;
use crate::fiber::wait;
use crate::forms::call;
use crate::phase::PhaseHandle;
use crate::topology::{Rank, rank};

/// Lock on the memory of a rank. Dropping it releases the lock without waiting, so errors are lost.
/// The next rank that locks the memory still sees all accesses that were made before.
#[must_use = "a lock is released when it is dropped"]
pub struct Locked<'w, T: Element> {
    pub(super) core: core::Locked<'w, T>,
    pub(super) phase: &'w PhaseHandle,
}

/// Shared locks on the memory of all ranks. Dropping it is like dropping each [`Locked`].
#[must_use = "locks are released when they are dropped"]
pub struct LockedAll<'w, T: Element> {
    pub(super) core: core::LockedAll<'w, T>,
    pub(super) phase: &'w PhaseHandle,
}

impl<T: Element> Locked<'_, T> {
    /// Returns the rank whose memory is locked.
    pub fn target(&self) -> Rank {
        rank(self.core.target())
    }

    call! {
        /// Blocks until all accesses of this rank to that memory have been performed, and releases
        /// the lock (`MPI_Win_unlock`).
        pub fn unlock,
        /// # Errors
        /// [`CallError::Window`]: the target has dropped its window, or an access to a dynamic
        /// window has failed. [`CallError::Over`]: the run has ended.
        try_unlock(self) -> () {
            self.phase.check();
            wait(self.core.unlock())
        }
    }
}

impl<T: Element> LockedAll<'_, T> {
    call! {
        /// Releases all locks as [`Locked::unlock`] does (`MPI_Win_unlock_all`). Releases the other
        /// locks also after an error, and reports the first error.
        pub fn unlock,
        /// # Errors
        /// As for [`Locked::try_unlock`].
        try_unlock(self) -> () {
            self.phase.check();
            wait(self.core.unlock())
        }
    }
}
