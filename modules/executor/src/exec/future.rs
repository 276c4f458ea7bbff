//! The future of a process and its header in one allocation, and the wakers of its context.
//!
//! A waker is a pointer to the `WakerCore` of the scheduler and needs no allocation. A clone of it
//! is a reference-counted object that any thread may keep. Ports do not use wakers, which are for
//! futures of other libraries.

use super::current;
use super::outcome::Outcome;
use super::scheduler::WakerCore;
use super::shared::Shared;
use super::task::TaskHeader;
use crate::link::waiter::NO_ID;
use crate::placement::SchedulerIndex;
use std::alloc::{Layout, dealloc};
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};

#[repr(C)]
struct Task<F> {
    header: TaskHeader,
    future: F,
}

/// Allocates a future together with its header. The memory is freed when the process ends
/// (`task::poll`) or is dropped (`task::discard`).
pub fn allocate<F, How>(kind: u32, index: u32, future: F) -> NonNull<TaskHeader>
where
    F: Future + 'static,
    F::Output: Outcome<How>,
{
    let header = TaskHeader::new(__rust_begin_short_backtrace::<F, How>, kind, index);
    NonNull::from(Box::leak(Box::new(Task { header, future }))).cast()
}

/// Polls a process, or drops it if `context` is `None`. Returns true if the process has ended or
/// was dropped, and its memory has been freed. An error that the process returns ends the run. A
/// panic is passed on.
///
/// Backtraces end at this name, as they do where Rust itself calls a program. The frames further
/// out belong to the executor and do not explain a panic.
///
/// # Safety
/// `header` must point to a live `Task<F>`, which no other code uses during the call.
unsafe fn __rust_begin_short_backtrace<F, How>(
    header: NonNull<TaskHeader>,
    context: Option<&mut Context<'_>>,
) -> bool
where
    F: Future,
    F::Output: Outcome<How>,
{
    let task = header.cast::<Task<F>>().as_ptr();
    // SAFETY: the field is inside a live allocation.
    let future = unsafe { &raw mut (*task).future };
    if let Some(context) = context {
        // SAFETY: the future is never moved out of its `Box`, and no other code borrows it.
        match unsafe { Pin::new_unchecked(&mut *future) }.poll(context) {
            Poll::Pending => return false,
            Poll::Ready(outcome) => {
                if let Err(error) = outcome.outcome() {
                    // SAFETY: the header is alive until the end of this function.
                    let header = unsafe { header.as_ref() };
                    current::failed(header.kind(), header.index(), &*error);
                }
            }
        }
    }
    // SAFETY: the header is alive until the end of this function.
    if unsafe { header.as_ref() }.finish() {
        // If this panics, the memory stays until the scheduler discards the rest of the task.
        // SAFETY: `finish` returns true once only, so the future is dropped once.
        unsafe { ptr::drop_in_place(future) };
    }
    // SAFETY: `allocate` created the `Box`, the future has been dropped, and the header needs no
    // destructor.
    unsafe { dealloc(header.as_ptr().cast(), Layout::new::<Task<F>>()) };
    true
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, |_| {});

/// Returns the waker of the process or task that the scheduler of `core` polls.
///
/// # Safety
/// The core must outlive the waker. Clones of the waker are independent of it.
pub(crate) unsafe fn waker(core: &WakerCore) -> Waker {
    // SAFETY: the functions of the table expect a pointer to a `WakerCore`, and the caller keeps it
    // alive. A `WakerCore` is `Sync`.
    unsafe { Waker::new((&raw const *core).cast(), &VTABLE) }
}

/// Returns a waker of the process or task that is being polled. Any thread may keep it, also after
/// the run. It counts as a foreign waker until it is dropped.
///
/// # Safety
/// `data` must be the pointer of a [`waker`].
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

/// Wakes the process or task that the scheduler polls. If it is not the current scheduler of this
/// thread, sends it the wake-up.
///
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
            // The scheduler checks again, because a wait that a waker could have ended may now be a
            // deadlock.
            self.shared.send(self.scheduler, NO_ID);
        }
    }
}
