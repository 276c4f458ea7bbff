//! How other threads of this OS process reach the one that calls MPI while it sleeps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use graphmap_runtime::between::Doorbell;

/// The bell of an OS process.
#[derive(Default)]
pub(crate) struct Bell {
    /// Not in the lock, as it is asked for at each look.
    rung: AtomicBool,
    lock: Mutex<()>,
    heard: Condvar,
    stirred: AtomicBool,
}

impl Doorbell for Bell {
    fn ring(&self) {
        // Behind the lock nobody is between his look and his sleep.
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.rung.store(true, Ordering::SeqCst);
        drop(lock);
        self.heard.notify_one();
    }

    fn stir(&self) {
        self.stirred.store(true, Ordering::SeqCst);
    }
}

impl Bell {
    /// Whether it was rung since it was last asked.
    pub(crate) fn take(&self) -> bool {
        self.rung.load(Ordering::SeqCst) && self.rung.swap(false, Ordering::SeqCst)
    }

    /// Waits until it is rung, or for a time.
    pub(crate) fn wait(&self, at_most: Duration) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let is_quiet = |(): &mut ()| !self.rung.load(Ordering::SeqCst);
        // Woken too early is as well as woken.
        drop(self.heard.wait_timeout_while(lock, at_most, is_quiet));
    }

    /// Whether something has run since it was last set.
    pub(crate) fn stirred(&self) -> bool {
        self.stirred.load(Ordering::SeqCst)
    }

    pub(crate) fn unstir(&self) {
        self.stirred.store(false, Ordering::SeqCst);
    }
}
