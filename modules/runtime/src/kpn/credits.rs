//! Credit that a reading end gives to a writer in another OS process.

use std::rc::Rc;

use graphmap_executor::exec::between_polls::send_leave;
use graphmap_executor::exec::frames::{LEFT, PendingCredit, Remote};
use graphmap_executor::placement::SchedulerId;

/// Credit of an input that its writer, in another OS process, has not received yet.
pub(crate) struct Credits {
    credit: Rc<PendingCredit>,
    remote: Rc<Remote>,
    /// Number of pending tokens from which their credit is sent at once.
    at_once_from: u32,
}

impl Credits {
    /// Creates the credit of the channel with this index among those from scheduler `peer`. Credit
    /// is sent at once when it covers half of `capacity` (rounded up).
    pub(crate) fn new(peer: SchedulerId, index: u32, capacity: u32, remote: &Rc<Remote>) -> Self {
        Credits {
            credit: PendingCredit::new(peer, index),
            remote: Rc::clone(remote),
            at_once_from: capacity.div_ceil(2),
        }
    }

    pub(crate) fn taken(&self) {
        self.remote.give_credit(&self.credit, self.at_once_from);
    }
}

impl Drop for Credits {
    fn drop(&mut self) {
        let PendingCredit { index, peer, .. } = *self.credit;
        send_leave(&self.remote, peer, LEFT, index);
    }
}
