//! Waiting on the stack of the fiber that runs.

use std::any::Any;
use std::cell::Cell;
use std::future::IntoFuture;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::ptr;
use std::sync::atomic::{Ordering, compiler_fence};
use std::task::{Context, Poll};
use std::{process, thread};

use corosensei::Yielder;
use graphmap_executor::{uninterrupted, uninterrupted_depth};

use crate::error::WaitError;

/// How often the body of a fiber that is dropped may catch that.
const CATCHES: u32 = 100;

/// The payload by which the stack of a fiber unwinds that is dropped.
pub(crate) struct Cancelled;

/// What a stack is resumed with.
pub(crate) struct Resume {
    /// Of the poll that resumes it: good until the stack is suspended again.
    context: *mut Context<'static>,
    /// Whether the fiber is dropped, not polled.
    cancel: bool,
}

impl Resume {
    /// By a poll, or because the fiber is dropped. The context has to live until the stack is suspended or over.
    pub(crate) fn new(context: &mut Context<'_>, cancel: bool) -> Self {
        let context = ptr::from_mut(context).cast();
        Resume { context, cancel }
    }
}

/// What a body has ended with: its output, or the payload of its panic.
pub(crate) type Outcome<T> = Result<T, Box<dyn Any + Send>>;

/// Where a stack is, for the report of its overflow.
pub(crate) struct Extent {
    /// The name of its fiber.
    pub(crate) name: String,
    /// The lowest address, where the guard begins.
    pub(crate) lowest: usize,
    /// Bytes of the guard.
    pub(crate) guard: usize,
    /// Bytes of all.
    pub(crate) size: usize,
}

impl Extent {
    /// Returns whether an address is in the guard.
    pub(crate) fn is_guard(&self, address: usize) -> bool {
        (self.lowest..self.lowest + self.guard).contains(&address)
    }
}

/// What suspends a fiber; it lies on its stack.
struct Suspender<'a> {
    yielder: &'a Yielder<Resume, ()>,
    extent: &'a Extent,
    /// Of the poll that has resumed the stack last.
    context: Cell<*mut Context<'static>>,
    /// The [`uninterrupted_depth`] when the stack was resumed last: while it is greater, the stack must not be suspended.
    depth: Cell<u32>,
    /// Whether the fiber is being dropped.
    is_cancelled: Cell<bool>,
    /// How often somebody has waited since.
    tries: Cell<u32>,
}

thread_local! {
    /// The suspender of the stack that runs, if it is a fiber's; it lies on that stack.
    static CURRENT: Cell<*const Suspender<'static>> = const { Cell::new(ptr::null()) };
}

/// Calls what resumes a stack, whose fiber is the current one meanwhile. It must not panic.
pub(crate) fn resuming<R>(resume: impl FnOnce() -> R) -> R {
    let before = CURRENT.get();
    let resumed = resume();
    CURRENT.set(before);
    resumed
}

/// Runs the body of a fiber, which has been resumed by a poll for the first time.
pub(crate) fn run<T>(
    yielder: &Yielder<Resume, ()>,
    resume: Resume,
    extent: &Extent,
    body: impl FnOnce() -> T,
) -> Outcome<T> {
    let run = || {
        let suspender = Suspender {
            yielder,
            extent,
            context: Cell::new(resume.context),
            depth: Cell::new(0),
            is_cancelled: Cell::new(false),
            tries: Cell::new(0),
        };
        suspender.enter();
        // The handler of a fault reads `CURRENT`.
        compiler_fence(Ordering::SeqCst);
        call(body)
    };
    let outcome = catch_unwind(AssertUnwindSafe(run));
    // The suspender is gone.
    CURRENT.set(ptr::null());
    outcome
}

/// Calls a body. It is not inlined, because the frame of a body may overflow the stack when it is
/// made, and the report needs the suspender then.
#[inline(never)]
fn call<T>(body: impl FnOnce() -> T) -> T {
    body()
}

/// Calls `f` with the extent of the stack that the thread runs on, if it is a fiber's. A handler of
/// a fault may call it.
pub(crate) fn with_extent<R>(f: impl FnOnce(&Extent) -> R) -> Option<R> {
    // SAFETY: null, or the suspender of the stack that runs. It lives until its body has ended, and
    // then `run` sets null before it does anything that may fault.
    let suspender = unsafe { CURRENT.get().as_ref() };
    suspender.map(|suspender| f(suspender.extent))
}

impl Suspender<'_> {
    #[inline]
    fn enter(&self) {
        CURRENT.set(ptr::from_ref(self).cast());
        self.depth.set(uninterrupted_depth());
    }

    /// Leaves the stack until its fiber is polled again.
    ///
    /// Inlined: a return to a frame that was called before the switch is one that processors predict wrongly.
    #[inline(always)]
    fn suspend(&self) {
        let resume = self.yielder.suspend(());
        self.enter();
        self.context.set(resume.context);
        if resume.cancel {
            self.is_cancelled.set(true);
            self.unwind();
        }
    }

    /// Unwinds the stack of a fiber that is dropped.
    #[cold]
    fn unwind(&self) -> ! {
        self.tries.set(self.tries.get() + 1);
        if self.tries.get() <= CATCHES {
            resume_unwind(Box::new(Cancelled));
        }
        loop {
            // Nobody resumes it any more.
            self.yielder.suspend(());
        }
    }

    /// Somebody waits on a stack that unwinds.
    #[cold]
    fn refuse(&self) -> WaitError {
        if self.is_cancelled.get() {
            self.tries.set(self.tries.get() + 1);
            if self.tries.get() > 10 * CATCHES {
                // Caught for ever by a fiber that is dropped by a panic: it would wait and be refused without end.
                process::abort();
            }
        }
        WaitError::Unwinding
    }
}

/// Whether the caller runs on the stack of a fiber.
pub fn on_fiber() -> bool {
    !CURRENT.get().is_null()
}

/// Waits for a future on the stack of a fiber, which is suspended while the future is pending.
///
/// The future is polled with the waker of the poll that runs the fiber.
///
/// # Panics
///
/// Where [`try_wait`] fails.
#[track_caller]
#[inline]
pub fn wait<F: IntoFuture>(future: F) -> F::Output {
    match try_wait(future) {
        Ok(output) => output,
        Err(error) => cannot(error),
    }
}

#[cold]
#[track_caller]
fn cannot(error: WaitError) -> ! {
    panic!("{error}")
}

/// As [`wait`], but tells what keeps it from waiting.
///
/// It unwinds if the fiber is dropped meanwhile.
///
/// # Errors
///
/// Off the stack of a fiber; within the poll of a future that its fiber waits for, a run that its fiber has started, or a call of
/// [`uninterrupted`](crate::uninterrupted); and if the future is pending while the stack unwinds.
#[inline]
pub fn try_wait<F: IntoFuture>(future: F) -> Result<F::Output, WaitError> {
    // SAFETY: null, or the suspender of the stack that runs, which outlives the call: it lies in a frame below.
    let Some(fiber) = (unsafe { CURRENT.get().as_ref() }) else {
        return Err(WaitError::NoFiber);
    };
    if uninterrupted_depth() != fiber.depth.get() {
        return Err(WaitError::InPoll);
    }
    if fiber.is_cancelled.get() && !thread::panicking() {
        fiber.unwind();
    }
    let mut future = pin!(future.into_future());
    loop {
        // SAFETY: the context is that of the poll that has resumed this stack. It lives until the stack is suspended,
        // which it is not here: that takes a call of this function, which is refused in what is uninterrupted.
        let context = unsafe { &mut *fiber.context.get() };
        let polled = uninterrupted(|| future.as_mut().poll(context));
        if let Poll::Ready(output) = polled {
            return Ok(output);
        }
        if thread::panicking() {
            return Err(fiber.refuse());
        }
        fiber.suspend();
    }
}
