//! Ends of channels between schedulers, of any OS processes, that a process has left in its turn, closed when that is over.
//!
//! A process that fails drops its ports first, and only then is it known that it has. Whoever saw them closed before, on another
//! thread, might fail of that, and be told in its place. So the other side sees an end closed when its process has come to the
//! end of its turn, and, if that was its failure, after the run was stopped for it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// An end that has left its scheduler, and is still to be closed.
pub(super) struct Closing {
    pub(super) end: *const (),
    /// Closes the end and lets go of it.
    pub(super) close: unsafe fn(*const ()),
    /// Kind and index of the process that left it: what it did not read is dropped in its name.
    pub(super) process: Option<(u32, u32)>,
}

/// Those of a turn, in the order in which they were left.
#[derive(Default)]
pub(super) struct Closings {
    queue: RefCell<VecDeque<Closing>>,
    /// Who left the end that is being closed.
    pub(super) of: Cell<Option<(u32, u32)>>,
    /// Processes are being made, and none has had a turn.
    pub(super) making: Cell<bool>,
}

impl Closings {
    pub(super) fn push(&self, closing: Closing) {
        self.queue.borrow_mut().push_back(closing);
    }

    /// The next, of which nothing is borrowed: to close it is code of the user, which may leave further ends.
    pub(super) fn pop(&self) -> Option<Closing> {
        self.queue.borrow_mut().pop_front()
    }
}
