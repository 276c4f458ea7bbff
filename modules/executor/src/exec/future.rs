//! The future of a process, with its header in one allocation.

use std::alloc::{Layout, dealloc};
use std::future::Future;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll};

use super::current;
use super::outcome::Outcome;
use super::task::TaskHeader;

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

/// Polls or drops a process. At this name backtraces leave off, as they do where Rust itself calls a program: what
/// is further out is ours, and tells nobody why a process has panicked.
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
