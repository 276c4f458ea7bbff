//! Which tasks of a set were woken, and who is woken for that.

use std::cell::Cell;

use super::ready_list::ReadyList;
use crate::link::waiter::{ARMED, ID, NOBODY};

/// The tasks of a set that were woken.
#[derive(Default)]
pub(super) struct Woken {
    pub(super) list: ReadyList,
    /// Who polls the set, as a word of a channel; not armed: it was woken, or polls by a foreign waker.
    waiter: Cell<u32>,
    /// The process that polls it.
    process: Cell<u32>,
}

impl Woken {
    /// The set is polled by a process: whom to wake from now on, it or the hook of its task in which the set is. Whether it was
    /// the same process before.
    pub(super) fn set_poller(&self, process: u32, id: u32) -> bool {
        self.waiter.set(ARMED | id);
        self.process.replace(process) == process
    }

    /// The set is polled by a foreign waker, which is woken by whatever the tasks wait for.
    pub(super) fn clear_poller(&self) {
        self.waiter.set(NOBODY);
    }

    /// A task is to be polled: whom to wake for that, unless that was done.
    pub(super) fn wake(&self, task: u32) -> Option<u32> {
        self.list.push(task);
        let word = self.waiter.get();
        self.waiter.set(word & !ARMED);
        (word & ARMED != 0).then_some(word & ID)
    }

    pub(super) fn process(&self) -> u32 {
        self.process.get()
    }
}
