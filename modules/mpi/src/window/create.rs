//! Creation of windows.

use super::element::Element;
use super::memory::Window;
use super::shared_memory::SharedWindow;
use crate::CallError;
use crate::fiber::wait;
use crate::forms::call;
use crate::topology::Communicator;

/// Communicators whose ranks make windows. All of these calls are collective, and block until all
/// ranks have made them. They panic if the communicator is an intercommunicator.
pub trait Windows: Communicator {
    call! {
        /// Exposes memory to all ranks (`MPI_Win_create`, `MPI_Win_allocate`). The number of
        /// elements may differ between ranks. Collective: blocks until all ranks have made the
        /// call. Panics if the communicator is an intercommunicator.
        fn create_window,
        /// # Errors
        /// [`CallError::Mismatch`]: ranks make different calls, or pass different types.
        /// [`CallError::TooMany`]: no communicator numbers are left. [`CallError::Over`]: the run
        /// has ended.
        try_create_window<T: Element>(&self, memory: Vec<T>) -> Window<T> {
            let of = self.as_handle();
            let made = wait(of.core().window(memory))?;
            Ok(Window::new(made, &of.0.phase))
        }
    }

    call! {
        /// Makes a window without memory, to which each rank [attaches](Window::attach) pieces
        /// (`MPI_Win_create_dynamic`). Collective: blocks until all ranks have made the call.
        /// Panics if the communicator is an intercommunicator.
        fn create_dynamic_window,
        /// # Errors
        /// As for [`try_create_window`](Self::try_create_window).
        try_create_dynamic_window<T: Element>(&self) -> Window<T> {
            let of = self.as_handle();
            let made = wait(of.core().dynamic_window())?;
            Ok(Window::new(made, &of.0.phase))
        }
    }

    call! {
        /// Makes memory that all ranks can access by reference (`MPI_Win_allocate_shared`). Its
        /// elements are of a type that threads may share, such as atomic numbers. All ranks must be
        /// in one OS process, as the ranks of [`split_shared`](Communicator::split_shared) are.
        /// Collective: blocks until all ranks have made the call. Panics if the communicator is an
        /// intercommunicator.
        fn create_shared_window,
        /// # Errors
        /// [`CallError::Window`]: the ranks are in several OS processes. The other errors are those
        /// of [`try_create_window`](Self::try_create_window).
        try_create_shared_window<T: Send + Sync + 'static>(
            &self, memory: Vec<T>,
        ) -> SharedWindow<T> {
            let of = self.as_handle();
            let made = wait(of.core().shared_window(memory))?;
            Ok(SharedWindow::new(made, &of.0.phase))
        }
    }
}

impl<C: Communicator + ?Sized> Windows for C {}
