//! Windows, which expose memory of each rank of a communicator.

use std::ops::Range;

use graphmap_runtime::mpi as core;

use super::element::Element;
use super::lock::{Locked, LockedAll};
use crate::CallError;
use crate::fiber::wait;
use crate::forms::call;
use crate::phase::PhaseHandle;
use crate::topology::{Rank, number, rank};

/// Memory of each rank of a communicator, which all ranks can access.
///
/// See the [module](super) for an example. Targets are ranks of the communicator. Offsets count
/// elements from the first element that the target exposes.
pub struct Window<T: Element> {
    core: core::Window<T>,
    phase: PhaseHandle,
}

impl<T: Element> Window<T> {
    pub(super) fn new(core: core::Window<T>, phase: &PhaseHandle) -> Self {
        let phase = phase.clone();
        Window { core, phase }
    }

    /// Returns the window of the runtime, for a call that communicates.
    ///
    /// # Panics
    /// If the rank was finalized.
    #[track_caller]
    fn core(&self) -> &core::Window<T> {
        self.phase.check();
        &self.core
    }

    /// Returns the rank of the caller in the communicator of the window.
    pub fn rank(&self) -> Rank {
        rank(self.core.rank())
    }

    /// Returns the number of ranks of the window.
    pub fn size(&self) -> Rank {
        rank(self.core.size())
    }

    /// Returns the number of elements that `rank` exposes. Returns `None` if the rank does not
    /// exist, or if the window is dynamic.
    pub fn len_of(&self, rank: Rank) -> Option<usize> {
        self.core.len_of(number(rank))
    }

    call! {
        /// Calls `f` with the memory of this rank, and returns the result of `f`. Other ranks have
        /// no access to the memory during the call. Therefore calls in `f` that wait panic.
        pub fn with,
        /// # Errors
        /// [`CallError::Window`]: the call is made by `f` of another `with` of the same window, or
        /// the window is dynamic.
        try_with<R>(&self, f: impl FnOnce(&mut [T]) -> R) -> R { self.core.with(f) }
    }

    call! {
        /// Writes elements to the memory of a rank, from the element at `offset` on (`MPI_Put`).
        /// The elements are copied. They need not have arrived when the call returns. Blocks only
        /// if the target is on another thread, and more than 1 MiB of values are under way to it.
        pub fn put,
        /// # Errors
        /// [`CallError::Rank`]: the target does not exist. [`CallError::Window`]: the target does
        /// not expose these elements, has dropped its window, or is this rank within
        /// [`with`](Self::with). [`CallError::Over`]: the run has ended. If the target is on
        /// another thread, a later [`try_flush`](Self::try_flush) or [`try_fence`](Self::try_fence)
        /// returns the errors that only the target can detect: a dropped window, and elements that
        /// a dynamic window does not expose.
        try_put(&self, values: &[T], target: Rank, offset: usize) -> () {
            wait(self.core().put(values, number(target), offset))
        }
    }

    call! {
        /// Blocks until elements have been read from the memory of a rank, and returns them
        /// (`MPI_Get`).
        pub fn get,
        /// # Errors
        /// As for [`try_put`](Self::try_put). Also [`CallError::Window`] if the end of the range is
        /// before its start.
        try_get(&self, target: Rank, elements: Range<usize>) -> Vec<T> {
            wait(self.core().get(number(target), elements))
        }
    }

    call! {
        /// Blocks until all accesses of this rank to the target have been performed
        /// (`MPI_Win_flush`).
        pub fn flush,
        /// # Errors
        /// As for [`try_put`](Self::try_put).
        try_flush(&self, target: Rank) -> () { wait(self.core().flush(number(target))) }
    }

    call! {
        /// Blocks until all accesses of this rank to all ranks have been performed
        /// (`MPI_Win_flush_all`).
        pub fn flush_all,
        /// # Errors
        /// As for [`try_put`](Self::try_put).
        try_flush_all(&self) -> () { wait(self.core().flush_all()) }
    }

    call! {
        /// Blocks until all ranks have called it and their accesses have been performed
        /// (`MPI_Win_fence`). A collective call.
        pub fn fence,
        /// # Errors
        /// As for [`try_put`](Self::try_put). Also [`CallError::Mismatch`] if ranks make different
        /// calls. A rank whose access has failed also waits for the other ranks.
        try_fence(&self) -> () { wait(self.core().fence()) }
    }

    call! {
        /// Ends the window as [`fence`](Self::fence) does, and returns the memory of this rank
        /// (`MPI_Win_free`). Of a dynamic window, returns all pieces in the order in which they
        /// were attached. A collective call.
        pub fn free,
        /// # Errors
        /// As for [`try_fence`](Self::try_fence). The memory is then lost.
        try_free(self) -> Vec<T> {
            self.phase.check();
            wait(self.core.free())
        }
    }
}

/// # Locks
impl<T: Element> Window<T> {
    call! {
        /// Locks the memory of a rank for this rank alone (`MPI_Win_lock`, `MPI_LOCK_EXCLUSIVE`).
        /// Blocks while other ranks have the lock, and behind earlier requests for it.
        pub fn lock,
        /// # Errors
        /// [`CallError::Rank`]: the target does not exist. [`CallError::Window`]: this rank has
        /// locked the memory of the target already, or the target has dropped its window.
        /// [`CallError::Over`]: the run has ended.
        try_lock(&self, target: Rank) -> Locked<'_, T> {
            let core = wait(self.core().lock(number(target)))?;
            Ok(Locked { core, phase: &self.phase })
        }
    }

    call! {
        /// Locks the memory of a rank for this rank and for others that share the lock
        /// (`MPI_Win_lock`, `MPI_LOCK_SHARED`). Blocks while another rank has the exclusive lock,
        /// and behind earlier requests for it. A request of a rank that has other locks of the
        /// window precedes the requests of ranks without any.
        pub fn lock_shared,
        /// # Errors
        /// As for [`try_lock`](Self::try_lock).
        try_lock_shared(&self, target: Rank) -> Locked<'_, T> {
            let core = wait(self.core().lock_shared(number(target)))?;
            Ok(Locked { core, phase: &self.phase })
        }
    }

    call! {
        /// Locks the memory of all ranks as [`lock_shared`](Self::lock_shared)
        /// (`MPI_Win_lock_all`). Blocks until this rank has all locks.
        pub fn lock_all,
        /// # Errors
        /// As for [`try_lock`](Self::try_lock). This rank then has none of the locks.
        try_lock_all(&self) -> LockedAll<'_, T> {
            let core = wait(self.core().lock_all())?;
            Ok(LockedAll { core, phase: &self.phase })
        }
    }
}

/// # Access by some ranks
///
/// The target calls `post` and `wait`. The ranks that access its memory call `start` and
/// `complete`.
impl<T: Element> Window<T> {
    call! {
        /// Opens the memory of this rank to some others (`MPI_Win_post`). Does not wait for them.
        pub fn post,
        /// # Errors
        /// [`CallError::Rank`]: a rank does not exist. The memory is then opened to no rank.
        /// [`CallError::Over`]: the run has ended.
        try_post(&self, origins: &[Rank]) -> () { wait(self.core().post(&numbers(origins))) }
    }

    call! {
        /// Blocks until all ranks in `targets` have opened their memory to this one
        /// (`MPI_Win_start`).
        pub fn start,
        /// # Errors
        /// [`CallError::Rank`]: a rank does not exist. The call then does not wait, and begins no
        /// access. [`CallError::Over`]: the run has ended.
        try_start(&self, targets: &[Rank]) -> () { wait(self.core().start(&numbers(targets))) }
    }

    call! {
        /// Ends the accesses that all earlier calls of [`start`](Self::start) began. Blocks until
        /// the accesses of this rank to those targets have been performed (`MPI_Win_complete`).
        pub fn complete,
        /// # Errors
        /// As for [`try_put`](Self::try_put): the first error of an access. The accesses end
        /// nevertheless, and [`wait`](Self::wait) returns at all targets.
        try_complete(&self) -> () { wait(self.core().complete()) }
    }

    call! {
        /// Ends the accesses that all earlier calls of [`post`](Self::post) allowed. Blocks until
        /// the ranks that were passed to `post` have called [`complete`](Self::complete)
        /// (`MPI_Win_wait`).
        pub fn wait,
        /// # Errors
        /// [`CallError::Over`]: the run has ended.
        try_wait(&self) -> () { wait(self.core().wait()) }
    }
}

/// # Operations on numbers
impl<T: core::Number> Window<T> {
    call! {
        /// Combines values with elements of a rank, from the element at `offset` on, and stores the
        /// result there (`MPI_Accumulate`). Returns and blocks as [`put`](Self::put) does.
        pub fn accumulate,
        /// # Errors
        /// As for [`try_put`](Self::try_put). Also [`CallError::Window`] if the operation is not
        /// defined for the type, such as bitwise operations on floating point numbers or sums of
        /// `bool`.
        try_accumulate(&self, values: &[T], target: Rank, offset: usize, op: core::Op) -> () {
            wait(self.core().accumulate(values, number(target), offset, op))
        }
    }

    call! {
        /// Combines values with elements as [`accumulate`](Self::accumulate), but blocks until the
        /// elements as they were before have arrived, and returns these (`MPI_Get_accumulate`).
        pub fn get_accumulate,
        /// # Errors
        /// As for [`try_accumulate`](Self::try_accumulate).
        try_get_accumulate(
            &self, values: &[T], target: Rank, offset: usize, op: core::Op,
        ) -> Vec<T> {
            wait(self.core().get_accumulate(values, number(target), offset, op))
        }
    }

    call! {
        /// Combines a value with one element of a rank. Blocks until the element as it was before
        /// has arrived, and returns it (`MPI_Fetch_and_op`).
        pub fn fetch_and_op,
        /// # Errors
        /// As for [`try_accumulate`](Self::try_accumulate).
        try_fetch_and_op(&self, value: T, target: Rank, offset: usize, op: core::Op) -> T {
            wait(self.core().fetch_and_op(value, number(target), offset, op))
        }
    }

    call! {
        /// Sets an element of a rank to `value` if it equals `expected`. In both cases, blocks
        /// until the element as it was before has arrived, and returns it (`MPI_Compare_and_swap`).
        pub fn compare_and_swap,
        /// # Errors
        /// As for [`try_put`](Self::try_put).
        try_compare_and_swap(&self, expected: T, value: T, target: Rank, offset: usize) -> T {
            let target = number(target);
            wait(self.core().compare_and_swap(expected, value, target, offset))
        }
    }
}

/// # Dynamic windows
///
/// [`attach`](Window::attach) returns the offset of a piece of memory. Offsets are not reused.
impl<T: Element> Window<T> {
    call! {
        /// Exposes a piece of memory, and returns the offset of its first element
        /// (`MPI_Win_attach`).
        pub fn attach,
        /// # Errors
        /// [`CallError::Window`]: the window is not dynamic, or
        /// [`with_attached`](Self::with_attached) is using its memory, or no offsets are left.
        /// `memory` is then dropped.
        try_attach(&self, memory: Vec<T>) -> usize { self.core.attach(memory) }
    }

    call! {
        /// Removes the piece that begins at an offset, and returns it (`MPI_Win_detach`).
        pub fn detach,
        /// # Errors
        /// [`CallError::Window`]: the window is not dynamic, or
        /// [`with_attached`](Self::with_attached) is using its memory, or no piece begins at this
        /// offset.
        try_detach(&self, piece: usize) -> Vec<T> { self.core.detach(piece) }
    }

    call! {
        /// Calls `f` with the piece of this rank that begins at the offset `piece`, and returns the
        /// result of `f`. Other ranks have no access to the memory during the call. Therefore calls
        /// in `f` that wait panic.
        pub fn with_attached,
        /// # Errors
        /// [`CallError::Window`]: no piece begins at this offset, or the call is made by `f` of
        /// another `with_attached` of the same window.
        try_with_attached<R>(&self, piece: usize, f: impl FnOnce(&mut [T]) -> R) -> R {
            self.core.with_attached(piece, f)
        }
    }
}

fn numbers(ranks: &[Rank]) -> Vec<usize> {
    ranks.iter().copied().map(number).collect()
}
