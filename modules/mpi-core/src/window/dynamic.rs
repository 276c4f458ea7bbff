//! Windows to which memory is attached later (the MPI standard, version 4.1, section 12.2.4).

use std::panic::Location;

use super::super::communicator::Communicator;
use super::super::error::Error;
use super::super::value::Value;
use super::Window;
use super::memory::WindowMemory;

impl Communicator {
    /// A window without memory, to which each rank [attaches](Window::attach) pieces when it likes
    /// (`MPI_Win_create_dynamic`). A collective call.
    ///
    /// Who else is to have access to a piece has to be told where it begins: that is its displacement, which MPI has as an address.
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
    /// What is attached is known where it is alone. So an access to elements that are not (or not any more, or not all in one piece)
    /// is a mistake that a rank elsewhere is told when it waits for an answer: of a `get` at once, of a `put` by the next
    /// [`flush`](Window::flush), [`fence`](Window::fence) or [`unlock`](super::Locked::unlock). Nothing is done then.
    ///
    /// # Errors
    /// [`Error::Mismatch`], also where the types of elements differ; [`Error::TooMany`].
    #[track_caller]
    pub fn dynamic_window<T: Value + Copy>(
        &self,
    ) -> impl Future<Output = Result<Window<T>, Error>> + use<T> {
        let at = Location::caller();
        Window::create(self, "dynamic_window", WindowMemory::dynamic(), None, at)
    }
}

/// # Memory that comes and goes
///
/// Of [dynamic windows](Communicator::dynamic_window) only.
impl<T: Value + Copy> Window<T> {
    /// Exposes a piece of memory (`MPI_Win_attach`): the displacement of its first element, by which others have access to it. No
    /// displacement is used again. Nobody else takes part.
    ///
    /// # Errors
    /// [`Error::Window`]: the window is not dynamic, or its memory is in use by [`with_attached`](Self::with_attached).
    pub fn attach(&self, memory: Vec<T>) -> Result<usize, Error> {
        self.memory.attach(memory)
    }

    /// Takes a piece away again, by the displacement of its first element (`MPI_Win_detach`).
    ///
    /// # Errors
    /// As for [`attach`](Self::attach), and if no piece begins there.
    pub fn detach(&self, piece: usize) -> Result<Vec<T>, Error> {
        self.memory.detach(piece)
    }

    /// Calls `f` with a piece of this rank, as [`with`](Self::with) does with all memory.
    ///
    /// # Errors
    /// [`Error::Window`]: no piece begins there; or within such a call, of the same window.
    pub fn with_attached<R>(
        &self,
        piece: usize,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R, Error> {
        self.memory.with_piece(piece, f)
    }
}
