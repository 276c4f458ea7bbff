//! Wakers. Our own channels do without them; they are for foreign futures.
//!
//! The waker in a process's context is a pointer to its scheduler's [`WakerCore`] and costs nothing.
//! Only when somebody clones it does it become a counted object that any thread may keep.

use std::mem;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Wake, Waker};

use super::current;
use super::shared::Shared;
use super::waker_core::WakerCore;
use crate::link::waiter::NOBODY;
use crate::placement::SchedulerIndex;

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, |_| {});

/// The waker of whatever the core's scheduler is polling.
///
/// # Safety
/// The core must outlive the waker. (Its clones stand for themselves.)
pub(crate) unsafe fn waker(core: &WakerCore) -> Waker {
    // SAFETY: the functions of the table take the pointer to a `WakerCore`, and the caller keeps it
    // alive. A `WakerCore` may be shared between threads.
    unsafe { Waker::new((&raw const *core).cast(), &VTABLE) }
}

/// # Safety
/// `data` is that of a [`waker`].
unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: see `waker`.
    let core = unsafe { &*data.cast::<WakerCore>() };
    core.shared.foreign_wakers(1);
    let waker = Waker::from(Arc::new(Foreign {
        shared: Arc::clone(&core.shared),
        scheduler: core.scheduler,
        task: core.running.id(),
    }));
    let raw = RawWaker::new(waker.data(), waker.vtable());
    mem::forget(waker);
    raw
}

/// # Safety
/// As for [`clone`].
unsafe fn wake(data: *const ()) {
    // SAFETY: see `waker`.
    let core = unsafe { &*data.cast::<WakerCore>() };
    let task = core.running.id();
    if !current::wake_if_here(core, task) {
        core.shared.send(core.scheduler, task);
    }
}

struct Foreign {
    shared: Arc<Shared>,
    scheduler: SchedulerIndex,
    task: u32,
}

impl Wake for Foreign {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.shared.send(self.scheduler, self.task);
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if self.shared.foreign_wakers(-1) == 0 {
            // What counted as "may still be woken" may now be a block: let it be looked at.
            self.shared.send(self.scheduler, NOBODY);
        }
    }
}
