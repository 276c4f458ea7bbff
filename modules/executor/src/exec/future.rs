//! The future of a process, with its header in one allocation, and the wakers of its context.
//!
//! The waker is a pointer to the scheduler's `WakerCore` and costs nothing. When it is cloned, it
//! becomes a counted object that any thread may keep. Ports do not use it; it is for futures of
//! other libraries.

use super::current;
use super::outcome::Outcome;
use super::scheduler::WakerCore;
use super::shared::Shared;
use super::task::TaskHeader;
use crate::link::waiter::NOBODY;
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

/// Puts a future and its header into one allocation.
pub fn allocate<F, How>(kind: u32, index: u32, future: F) -> NonNull<TaskHeader>
where
    F: Future + 'static,
    F::Output: Outcome<How>,
{
    let header = TaskHeader::new(__rust_begin_short_backtrace::<F, How>, kind, index);
    NonNull::from(Box::leak(Box::new(Task { header, future }))).cast()
}

/// Polls or drops a process. At this name backtraces leave off, as they do where Rust itself calls
/// a program: what is further out is ours, and tells nobody why a process has panicked.
///
/// # Safety
/// `header` is that of a live `Task<F>`, and nobody else uses it now.
unsafe fn __rust_begin_short_backtrace<F, How>(
    header: NonNull<TaskHeader>,
    context: Option<&mut Context<'_>>,
) -> bool
where
    F: Future,
    F::Output: Outcome<How>,
{
    let task = header.cast::<Task<F>>().as_ptr();
    // SAFETY: a place inside a live allocation.
    let future = unsafe { &raw mut (*task).future };
    if let Some(context) = context {
        // SAFETY: the future is never moved out of its Box, and nobody else borrows it.
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
        // If this panics, the memory stays until the scheduler discards what is left of the task.
        // SAFETY: the mark that `finish` sets keeps this from happening twice.
        unsafe { ptr::drop_in_place(future) };
    }
    // SAFETY: `allocate` made the Box; its future is gone and the header needs no destructor.
    unsafe { dealloc(header.as_ptr().cast(), Layout::new::<Task<F>>()) };
    true
}

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
