//! The few primitives the lock-free parts are written with.
//!
//! `link/` and `exec/parker.rs` name these and not `std`, so that the same source files can be
//! compiled against loom's model of the memory (see `modules/runtime/loom`).

pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
pub use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// `UnsafeCell` with the closures loom wants, so that it can see every access.
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

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
