//! The primitives that the lock-free parts are written with.
//!
//! `link/`, `exec/parker.rs` and all callers of [`lock`] name these and not `std`. So the tests in
//! `interleavings/` run them on loom's model of memory.

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

/// `UnsafeCell` with the closures of loom's, which sees every access by them.
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

/// Locks, also when another thread panicked while it held the lock: what our locks guard is
/// consistent at every point where a panic could start.
#[inline]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
