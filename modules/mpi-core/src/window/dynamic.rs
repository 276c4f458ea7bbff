//! Windows to which memory is attached later (the MPI standard, version 4.1, section 12.2.4).

use std::panic::Location;

use super::super::communicator::Communicator;
use super::super::error::Error;
use super::super::value::Value;
use super::Window;
use super::memory::WindowMemory;

impl Communicator {
    /// Creates a window without memory, to which each rank [attaches](Window::attach) pieces at any
    /// time (`MPI_Win_create_dynamic`). Collective. The other ranks wait until this rank has polled
    /// the returned future.
    ///
    /// Other ranks access a piece by the displacement of its first element, which they must receive
    /// in a message. In MPI this displacement is an address.
    ///
    /// ```
    /// # use graphmap_runtime::{Local, Options, mpi};
    /// # async fn rank() -> Result<(), mpi::Error> {
    /// # let world = mpi::world()?;
    /// let window = world.dynamic_window::<u64>().await?;
    /// let piece = window.attach(vec![7; 10])?;
    /// let begins = world.allgather(piece).await?;
    /// let next = (world.rank() + 1) % world.size();
    /// window.put([1, 2], next, begins[next] + 3).await?;
    /// window.fence().await?;
    /// assert_eq!(window.detach(piece)?[2..6], [7, 1, 2, 7]);
    /// # Ok(())
    /// # }
    /// # let mut net = Local::new();
    /// # (0..3).for_each(|_| drop(net.spawn(rank())));
    /// # net.run(&Options::new()).unwrap();
    /// ```
    ///
    /// Only a rank itself knows its attached memory. An access must be to elements of one attached
    /// piece. Otherwise it is an error and has no effect. A rank on another scheduler receives the
    /// error with the next answer: from the `get` itself, or after a `put` from
    /// [`flush`](Window::flush), [`fence`](Window::fence) or [`unlock`](super::Locked::unlock).
    ///
    /// # Errors
    /// As for [`dup`](Communicator::dup). [`Error::Mismatch`] also if the types of elements differ.
    #[track_caller]
    pub fn dynamic_window<T: Value + Copy>(
        &self,
    ) -> impl Future<Output = Result<Window<T>, Error>> + use<T> {
        let at = Location::caller();
        Window::create(self, "dynamic_window", WindowMemory::dynamic(), None, at)
    }
}

/// # Attached memory
///
/// These are for [dynamic windows](Communicator::dynamic_window) only.
impl<T: Value + Copy> Window<T> {
    /// Exposes a piece of memory (`MPI_Win_attach`). Returns the displacement of its first element,
    /// by which other ranks access it. Displacements are not reused. Not collective.
    ///
    /// # Errors
    /// [`Error::Window`] if the window is not dynamic, if its memory is in use by
    /// [`with_attached`](Self::with_attached), or if no displacements are left. `memory` is then
    /// dropped.
    pub fn attach(&self, memory: Vec<T>) -> Result<usize, Error> {
        self.memory.attach(memory)
    }

    /// Removes a piece, and returns its elements (`MPI_Win_detach`). `piece` is the displacement of
    /// its first element.
    ///
    /// # Errors
    /// [`Error::Window`] if the window is not dynamic, if its memory is in use by
    /// [`with_attached`](Self::with_attached), or if no piece begins at `piece`.
    pub fn detach(&self, piece: usize) -> Result<Vec<T>, Error> {
        self.memory.detach(piece)
    }

    /// Calls `f` with the piece of this rank whose first element has the displacement `piece`. `f`
    /// must not block, as for [`with`](Self::with).
    ///
    /// # Errors
    /// [`Error::Window`] if no piece begins at `piece`, or within such a call of this rank for the
    /// same window. The memory of a window that is not dynamic is one piece, which begins at 0.
    pub fn with_attached<R>(
        &self,
        piece: usize,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R, Error> {
        self.memory.with_piece(piece, f)
    }
}
