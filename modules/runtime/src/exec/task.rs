//! A process in memory: 16 bytes and its future, in one allocation.

use std::alloc::{Layout, dealloc};
use std::future::Future;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

use super::current;
use super::outcome::Outcome;

const QUEUED: u32 = 1 << 31;
const DONE: u32 = 1 << 30;
const TOLD: u32 = 1 << 29;
/// How many kinds there may be.
pub(crate) const MAX_KINDS: u32 = TOLD;

/// The part of a process that does not depend on its function.
#[repr(C)]
pub(crate) struct TaskHeader {
    /// Polls the future with a context; without one, drops it. True when it has ended
    /// and the memory is free.
    call: unsafe fn(NonNull<TaskHeader>, Option<&mut Context<'_>>) -> bool,
    /// Number of the kind, and the marks QUEUED, DONE and TOLD. Atomic, though one thread alone has it, so that it is always
    /// written whole: a byte of it that was just written holds up who reads all of it.
    kind: AtomicU32,
    /// Which one of its kind.
    index: u32,
}

#[repr(C)]
struct Task<F> {
    header: TaskHeader,
    future: F,
}

impl TaskHeader {
    pub(crate) fn kind(&self) -> u32 {
        self.kind.load(Relaxed) & !(QUEUED | DONE | TOLD)
    }

    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Marks the process as queued; false if it was.
    #[inline]
    pub(crate) fn enqueue(&self) -> bool {
        let kind = self.kind.load(Relaxed);
        self.kind.store(kind | QUEUED, Relaxed);
        kind & QUEUED == 0
    }

    pub(crate) fn is_queued(&self) -> bool {
        self.kind.load(Relaxed) & QUEUED != 0
    }

    /// Marks the process as one that was told to wait at a channel between schedulers.
    pub(crate) fn set_told(&self) {
        self.kind.store(self.kind.load(Relaxed) | TOLD, Relaxed);
    }

    /// Takes that mark off; whether it was there.
    pub(crate) fn take_told(&self) -> bool {
        let kind = self.kind.load(Relaxed);
        self.kind.store(kind & !TOLD, Relaxed);
        kind & TOLD != 0
    }

    #[inline]
    pub(crate) fn dequeue(&self) {
        self.kind.store(self.kind.load(Relaxed) & !QUEUED, Relaxed);
    }
}

/// Puts a future and its header into one allocation.
pub(crate) fn allocate<F>(kind: u32, index: u32, future: F) -> NonNull<TaskHeader>
where
    F: Future + 'static,
    F::Output: Outcome,
{
    let header = TaskHeader {
        call: __rust_begin_short_backtrace::<F>,
        kind: AtomicU32::new(kind),
        index,
    };
    NonNull::from(Box::leak(Box::new(Task { header, future }))).cast()
}

/// Lets the process go on until it waits or ends; true: it has ended and its memory is free.
///
/// # Safety
/// `header` came from [`allocate`], and no earlier call ended it.
#[inline]
pub(crate) unsafe fn poll(header: NonNull<TaskHeader>, context: &mut Context<'_>) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (header.as_ref().call)(header, Some(context)) }
}

/// Drops the process where it stands.
///
/// # Safety
/// As for [`poll`]; the process must not be used afterwards.
pub(crate) unsafe fn discard(header: NonNull<TaskHeader>) {
    // SAFETY: the caller's promise.
    unsafe { (header.as_ref().call)(header, None) };
}

/// Polls or drops a process. At this name backtraces leave off, as they do where Rust itself calls a program: what
/// is further out is ours, and tells nobody why a process has panicked.
///
/// # Safety
/// `header` is that of a live `Task<F>`, and nobody else uses it now.
unsafe fn __rust_begin_short_backtrace<F>(
    header: NonNull<TaskHeader>,
    context: Option<&mut Context<'_>>,
) -> bool
where
    F: Future,
    F::Output: Outcome,
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
    let kind = unsafe { &header.as_ref().kind };
    if kind.load(Relaxed) & DONE == 0 {
        kind.store(kind.load(Relaxed) | DONE, Relaxed);
        // If this panics, the memory stays until the scheduler discards what is left of the task.
        // SAFETY: DONE keeps this from happening twice.
        unsafe { ptr::drop_in_place(future) };
    }
    // SAFETY: `allocate` made the Box; its future is gone and the header needs no destructor.
    unsafe { dealloc(header.as_ptr().cast(), Layout::new::<Task<F>>()) };
    true
}
