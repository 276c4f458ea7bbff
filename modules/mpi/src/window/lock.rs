//! Locks of the memory of ranks.

use graphmap_runtime::mpi as core;

use super::element::Element;
use crate::CallError;
use crate::fiber::wait;
use crate::forms::call;
use crate::life::Life;
use crate::topology::{Rank, rank};

/// The lock of a rank's memory. To drop it gives it back without waiting, so errors are lost; a
/// rank that locks the memory next still finds all that was done to it before.
#[must_use = "a lock is released when it is dropped"]
pub struct Locked<'w, T: Element> {
    pub(super) core: core::Locked<'w, T>,
    pub(super) life: &'w Life,
}

/// The shared locks of the memory of all ranks. To drop it is as to drop each [`Locked`].
#[must_use = "locks are released when they are dropped"]
pub struct LockedAll<'w, T: Element> {
    pub(super) core: core::LockedAll<'w, T>,
    pub(super) life: &'w Life,
}

impl<T: Element> Locked<'_, T> {
    /// Returns the rank whose memory is locked.
    pub fn target(&self) -> Rank {
        rank(self.core.target())
    }

    call! {
        /// Waits until all accesses of this rank to that memory have been performed, and gives the
        /// lock back (`MPI_Win_unlock`).
        pub fn unlock,
        /// # Errors
        /// [`CallError::Window`]: the target has dropped its window, or an access to a dynamic
        /// window has failed; [`CallError::Over`].
        try_unlock(self) -> () {
            self.life.check();
            wait(self.core.unlock())
        }
    }
}

impl<T: Element> LockedAll<'_, T> {
    call! {
        /// As [`Locked::unlock`], of all (`MPI_Win_unlock_all`).
        pub fn unlock,
        /// # Errors
        /// As for [`Locked::try_unlock`].
        try_unlock(self) -> () {
            self.life.check();
            wait(self.core.unlock())
        }
    }
}
