//! Which process a scheduler is polling, and which task of it, for other threads to see.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::link::waiter::{HOOK, NOBODY};

/// Atomic for the sake of threads which a process starts and joins within one poll; Relaxed, because starting and
/// joining order everything.
pub(crate) struct RunningTask {
    /// A process, or the hook of a task of one.
    current: AtomicU32,
    /// While that is a hook: the process.
    process: AtomicU32,
    batches: AtomicU32,
}

impl RunningTask {
    pub(super) fn new() -> Self {
        RunningTask {
            current: AtomicU32::new(NOBODY),
            process: AtomicU32::new(NOBODY),
            batches: AtomicU32::new(0),
        }
    }

    /// Whom to wake for what is being polled: a process, or the hook of a task of one.
    #[inline(always)]
    pub(super) fn id(&self) -> u32 {
        self.current.load(Ordering::Relaxed)
    }

    /// The id of the process that is being polled.
    #[inline(always)]
    pub(super) fn process(&self) -> u32 {
        match self.id() {
            id if id & HOOK == 0 => id,
            _ => self.process.load(Ordering::Relaxed),
        }
    }

    /// A task of the process is being polled, which is woken by this hook. What was before, to be [set](Self::set) when that is over.
    pub(super) fn set_task(&self, hook: u32) -> u32 {
        self.process.store(self.process(), Ordering::Relaxed);
        self.current.swap(hook, Ordering::Relaxed)
    }

    /// This process is being polled from now on.
    #[inline(always)]
    pub(super) fn set(&self, id: u32) {
        self.current.store(id, Ordering::Relaxed);
    }

    /// Counts batches of turns: who sees it stand still knows that one goes on.
    pub(super) fn batches(&self) -> u32 {
        self.batches.load(Ordering::Relaxed)
    }

    /// A batch of turns is over.
    #[inline(always)]
    pub(super) fn end_batch(&self) {
        self.set(NOBODY);
        // One thread writes it.
        let batches = self.batches();
        self.batches
            .store(batches.wrapping_add(1), Ordering::Relaxed);
    }
}
