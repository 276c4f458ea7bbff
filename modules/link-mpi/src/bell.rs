//! Notification of the thread that calls MPI by other threads of this OS process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use graphmap_runtime::between::{Doorbell, HostRings};

/// Wakes the thread that created it.
pub(crate) struct Bell {
    rung: AtomicBool,
    has_activity: AtomicBool,
    thread: Thread,
    /// Where the thread sleeps if it shares memory with other OS processes of this host, which then
    /// wake it, too.
    rings: Option<Arc<dyn Doorbell>>,
}

impl Doorbell for Bell {
    fn ring(&self) {
        self.rung.store(true, Ordering::SeqCst);
        match &self.rings {
            Some(rings) => rings.ring(),
            None => self.thread.unpark(),
        }
    }

    fn note_activity(&self) {
        self.has_activity.store(true, Ordering::SeqCst);
    }
}

impl Bell {
    /// Creates the bell of the calling thread, which sleeps on the byte rings `rings` if there are
    /// any. Activity is noted at first.
    pub(crate) fn new(rings: Option<&HostRings>) -> Bell {
        Bell {
            rung: AtomicBool::new(false),
            has_activity: AtomicBool::new(true),
            thread: thread::current(),
            rings: rings.map(HostRings::doorbell),
        }
    }

    /// Returns true if the bell was rung since the last call that returned true. Resets the bell.
    pub(crate) fn take(&self) -> bool {
        self.rung.load(Ordering::SeqCst) && self.rung.swap(false, Ordering::SeqCst)
    }

    /// Sleeps until the bell is rung, a frame comes over the byte rings, or `at_most` has passed.
    /// Without `at_most`, there is no time limit. May return early. Does not reset the bell.
    ///
    /// Must be called on the thread that created the bell, with the byte rings with which it was
    /// created.
    pub(crate) fn wait(&self, rings: Option<&HostRings>, at_most: Option<Duration>) {
        match (rings, at_most) {
            (Some(rings), _) => rings.sleep(|| self.rung.load(Ordering::SeqCst), at_most),
            (None, Some(at_most)) => thread::park_timeout(at_most),
            (None, None) => thread::park(),
        }
    }

    /// Returns true if a process has run since the last [`Bell::clear_activity`], or if that was
    /// not called yet.
    pub(crate) fn has_activity(&self) -> bool {
        self.has_activity.load(Ordering::SeqCst)
    }

    pub(crate) fn clear_activity(&self) {
        self.has_activity.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_ends_a_wait_whenever_it_comes() {
        let (rings, _) = HostRings::create(vec![0, 1]).unwrap();
        for rings in [None, Some(&rings)] {
            let bell = Bell::new(rings);
            for _ in 0..1000 {
                thread::scope(|scope| {
                    scope.spawn(|| bell.ring());
                    while !bell.take() {
                        bell.wait(rings, None);
                    }
                });
            }
        }
    }
}
