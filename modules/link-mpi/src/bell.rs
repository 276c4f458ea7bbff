//! How other threads of this OS process reach the one that calls MPI.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use graphmap_runtime::between::{Doorbell, HostLanes};

/// The bell of the thread that made it.
pub(crate) struct Bell {
    rung: AtomicBool,
    stirred: AtomicBool,
    thread: Thread,
    /// Where the thread sleeps if it shares memory with others of this host, which then wake it
    /// too.
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
    /// Makes the bell of this thread, which sleeps with these lanes.
    pub(crate) fn new(lanes: Option<&HostLanes>) -> Bell {
        Bell {
            rung: AtomicBool::new(false),
            stirred: AtomicBool::new(true),
            thread: thread::current(),
            lanes: lanes.map(HostLanes::doorbell),
        }
    }

    /// Returns whether it was rung since the last call.
    pub(crate) fn take(&self) -> bool {
        self.rung.load(Ordering::SeqCst) && self.rung.swap(false, Ordering::SeqCst)
    }

    /// Sleeps until it is rung, something comes over the lanes, or for a time. It may return early.
    pub(crate) fn wait(&self, lanes: Option<&HostLanes>, at_most: Option<Duration>) {
        match (lanes, at_most) {
            (Some(lanes), _) => lanes.sleep(|| self.rung.load(Ordering::SeqCst), at_most),
            (None, Some(at_most)) => thread::park_timeout(at_most),
            (None, None) => thread::park(),
        }
    }

    /// Returns whether something has run since the last [`Bell::unstir`].
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
