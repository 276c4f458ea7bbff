//! Synchronisation primitives of the lock-free code.
//!
//! `link/`, `exec/parker.rs` and all callers of [`lock`] use these instead of those of `std`. So
//! the tests in `interleavings/` can run them on loom's memory model.

#[cfg(all(test, loom))]
pub use loom::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence},
    sync::{Condvar, Mutex, MutexGuard},
};
pub use std::sync::PoisonError;
#[cfg(not(all(test, loom)))]
pub use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence},
};

/// `UnsafeCell` with loom's interface, in which every access goes through a closure.
#[cfg(not(all(test, loom)))]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(all(test, loom)))]
impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    #[inline(always)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// Locks a mutex, even if another thread panicked while it held the lock. Blocks until the lock is
/// free. Ignoring the panic is sound because the guarded data is consistent at every point where a
/// panic may start.
#[inline]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
