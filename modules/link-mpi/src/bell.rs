//! How other threads of this OS process reach the one that calls MPI while it sleeps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use graphmap_runtime::between::Doorbell;

/// The bell of an OS process.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
    stirred: AtomicBool,
}

impl Doorbell for Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.heard.notify_one();
    }

    fn stir(&self) {
        self.stirred.store(true, Ordering::SeqCst);
    }
}

impl Bell {
    /// Whether it was rung since it was last asked.
    pub(crate) fn take(&self) -> bool {
        let mut rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut rung)
    }

    /// Waits until it is rung, or for a time.
    pub(crate) fn wait(&self, at_most: Duration) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        // Woken too early is as well as woken.
        drop(self.heard.wait_timeout_while(rung, at_most, |rung| !*rung));
    }

    /// Whether something has run since it was last set.
    pub(crate) fn stirred(&self) -> bool {
        self.stirred.load(Ordering::SeqCst)
    }

    pub(crate) fn unstir(&self) {
        self.stirred.store(false, Ordering::SeqCst);
    }
}
