//! Notification of the thread that calls MPI by other threads of this OS process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use graphmap_runtime::between::{Doorbell, HostLanes};

/// Wakes the thread that created it.
pub(crate) struct Bell {
    rung: AtomicBool,
    stirred: AtomicBool,
    thread: Thread,
    /// Where the thread sleeps if it shares memory with other OS processes of this host, which then
    /// wake it, too.
    lanes: Option<Arc<dyn Doorbell>>,
}

impl Doorbell for Bell {
    fn ring(&self) {
        self.rung.store(true, Ordering::SeqCst);
        match &self.lanes {
            Some(lanes) => lanes.ring(),
            None => self.thread.unpark(),
        }
    }

    fn stir(&self) {
        self.stirred.store(true, Ordering::SeqCst);
    }
}

impl Bell {
    /// Creates the bell of this thread, which sleeps on the byte rings `lanes` if there are any.
    pub(crate) fn new(lanes: Option<&HostLanes>) -> Bell {
        Bell {
            rung: AtomicBool::new(false),
            stirred: AtomicBool::new(true),
            thread: thread::current(),
            lanes: lanes.map(HostLanes::doorbell),
        }
    }

    /// Returns true if the bell was rung since the last call.
    pub(crate) fn take(&self) -> bool {
        self.rung.load(Ordering::SeqCst) && self.rung.swap(false, Ordering::SeqCst)
    }

    /// Sleeps until the bell is rung, a frame comes over the byte rings, or `at_most` has passed.
    /// May return early.
    pub(crate) fn wait(&self, lanes: Option<&HostLanes>, at_most: Option<Duration>) {
        match (lanes, at_most) {
            (Some(lanes), _) => lanes.sleep(|| self.rung.load(Ordering::SeqCst), at_most),
            (None, Some(at_most)) => thread::park_timeout(at_most),
            (None, None) => thread::park(),
        }
    }

    /// Returns true if a process has run since the last [`Bell::unstir`].
    pub(crate) fn stirred(&self) -> bool {
        self.stirred.load(Ordering::SeqCst)
    }

    pub(crate) fn unstir(&self) {
        self.stirred.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_ends_a_wait_whenever_it_comes() {
        let (lanes, _) = HostLanes::create(vec![0, 1]).unwrap();
        for lanes in [None, Some(&lanes)] {
            let bell = Bell::new(lanes);
            for _ in 0..1000 {
                thread::scope(|scope| {
                    scope.spawn(|| bell.ring());
                    while !bell.take() {
                        bell.wait(lanes, None);
                    }
                });
            }
        }
    }
}
