//! Memory that the ranks of one OS process share.

use graphmap_runtime::mpi as core;

use crate::CallError;
use crate::fiber::wait;
use crate::forms::call;
use crate::phase::PhaseHandle;
use crate::topology::{Rank, number, rank};

/// Memory of all ranks of a communicator within one OS process, which each rank can access by
/// reference.
///
/// MPI lets ranks load from and store to such memory. Ranks may be on several threads, so the
/// elements must be of a type that threads may share (`Sync`). Ranks access them by the methods of
/// that type.
///
/// ```
/// use std::sync::atomic::{AtomicI32, Ordering};
///
/// use mpi::traits::*;
/// use mpi::window::Windows;
///
/// mpi::run(4, || {
///     let universe = mpi::initialize().unwrap();
///     let world = universe.world();
///     let window = world.create_shared_window(vec![AtomicI32::new(0)]);
///     window.of(0).unwrap()[0].fetch_add(world.rank(), Ordering::Relaxed);
///     window.fence();
///     let wanted = if world.rank() == 0 { 6 } else { 0 };
///     assert_eq!(window.own()[0].load(Ordering::Relaxed), wanted);
/// })
/// .unwrap();
/// ```
pub struct SharedWindow<T> {
    core: core::SharedWindow<T>,
    phase: PhaseHandle,
}

impl<T> SharedWindow<T> {
    pub(super) fn new(core: core::SharedWindow<T>, phase: &PhaseHandle) -> Self {
        let phase = phase.clone();
        SharedWindow { core, phase }
    }

    /// Returns the rank of the caller in the communicator of the window.
    pub fn rank(&self) -> Rank {
        rank(self.core.rank())
    }

    /// Returns the number of ranks of the window.
    pub fn size(&self) -> Rank {
        rank(self.core.size())
    }

    /// Returns the elements that a rank shares (`MPI_Win_shared_query`), or `None` if the rank does
    /// not exist.
    pub fn of(&self, rank: Rank) -> Option<&[T]> {
        self.core.of(number(rank))
    }

    /// Returns the elements that this rank shares.
    pub fn own(&self) -> &[T] {
        self.core.own()
    }

    call! {
        /// Blocks until all ranks have called it (`MPI_Win_fence`). Afterwards each rank sees all
        /// writes to the memory that any rank made before its call. A collective call.
        pub fn fence,
        /// # Errors
        /// [`CallError::Mismatch`]: ranks make different calls. [`CallError::Over`]: the run has
        /// ended.
        try_fence(&self) -> () {
            self.phase.check();
            wait(self.core.fence())
        }
    }
}
