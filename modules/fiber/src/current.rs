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

/// Number of times that the body of a dropped fiber may catch the unwinding.
const CATCHES: u32 = 100;

/// Payload of the unwinding of a dropped fiber's stack.
pub(crate) struct Cancelled;

/// Value that is passed to a stack when it is resumed.
pub(crate) struct Resume {
    /// Context of the poll that resumes the stack. Valid until the stack is suspended again.
    context: *mut Context<'static>,
    /// True if the fiber is being dropped, false if it is polled.
    cancel: bool,
}

impl Resume {
    /// Stores the context of a poll, or of a cancellation. The context must live until the stack is
    /// suspended again or has ended.
    pub(crate) fn new(context: &mut Context<'_>, cancel: bool) -> Self {
        let context = ptr::from_mut(context).cast();
        Resume { context, cancel }
    }
}

/// Reason why a stack was suspended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suspension {
    /// Its body waits for a future.
    Waiting,
    /// Its body has [abandoned](abandon) it.
    Abandoned,
}

/// Result of a body: its output, or the payload of its panic.
pub(crate) type Outcome<T> = Result<T, Box<dyn Any + Send>>;

/// Position of a stack in memory, for the report of its overflow.
pub(crate) struct Extent {
    /// Name of the fiber.
    pub(crate) name: String,
    /// Lowest address, where the guard begins.
    pub(crate) lowest: usize,
    /// Size of the guard in bytes.
    pub(crate) guard: usize,
    /// Size of the stack in bytes, guard included.
    pub(crate) size: usize,
}

impl Extent {
    /// Returns true if `address` is in the guard.
    pub(crate) fn is_guard(&self, address: usize) -> bool {
        (self.lowest..self.lowest + self.guard).contains(&address)
    }
}

/// State by which a fiber is suspended. It is located on the fiber's own stack.
struct Suspender<'a> {
    yielder: &'a Yielder<Resume, Suspension>,
    extent: &'a Extent,
    /// Context of the poll that resumed the stack last.
    context: Cell<*mut Context<'static>>,
    /// The [`uninterrupted_depth`] when the stack was resumed last. While the depth is greater, the
    /// stack must not be suspended.
    depth: Cell<u32>,
    /// True if the fiber is being dropped.
    is_cancelled: Cell<bool>,
    /// Number of waits since the fiber was dropped.
    tries: Cell<u32>,
}

thread_local! {
    /// Suspender of the stack that runs. Null if it is not the stack of a fiber.
    static CURRENT: Cell<*const Suspender<'static>> = const { Cell::new(ptr::null()) };
}

/// Calls `resume`, which resumes a stack, restores the current fiber afterwards, and returns the
/// result of `resume`. `resume` must not panic.
pub(crate) fn resuming<R>(resume: impl FnOnce() -> R) -> R {
    let before = CURRENT.get();
    let resumed = resume();
    CURRENT.set(before);
    resumed
}

/// Runs the body of a fiber that was polled for the first time, on the stack of the fiber. Returns
/// the output of the body. Returns the payload if the body panics or is cancelled.
pub(crate) fn run<T>(
    yielder: &Yielder<Resume, Suspension>,
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
    // The suspender no longer exists.
    CURRENT.set(ptr::null());
    outcome
}

/// Calls a body, and returns its output. This function is not inlined, because the frame of the
/// body may overflow the stack when it is entered. The report of the overflow needs the suspender
/// then.
#[inline(never)]
fn call<T>(body: impl FnOnce() -> T) -> T {
    body()
}

/// Calls `f` with the extent of the running stack if it is a fiber's. Returns `None` otherwise. A
/// handler of a fault may call this function.
pub(crate) fn with_extent<R>(f: impl FnOnce(&Extent) -> R) -> Option<R> {
    // SAFETY: the pointer is null, or points to the suspender of the running stack. The suspender
    // lives until its body has ended. Then `run` stores null before it does anything that may
    // fault.
    let suspender = unsafe { CURRENT.get().as_ref() };
    suspender.map(|suspender| f(suspender.extent))
}

impl Suspender<'_> {
    #[inline]
    fn enter(&self) {
        CURRENT.set(ptr::from_ref(self).cast());
        self.depth.set(uninterrupted_depth());
    }

    /// Suspends the stack until its fiber is polled again. If the fiber is dropped instead, unwinds
    /// the stack and does not return.
    ///
    /// This function is inlined, because processors mispredict a return to a frame that was called
    /// before the switch.
    #[inline(always)]
    fn suspend(&self) {
        let resume = self.yielder.suspend(Suspension::Waiting);
        self.enter();
        self.context.set(resume.context);
        if resume.cancel {
            self.is_cancelled.set(true);
            self.unwind();
        }
    }

    /// Unwinds the stack of a dropped fiber. After [`CATCHES`] unwindings, suspends the stack
    /// permanently instead.
    #[cold]
    fn unwind(&self) -> ! {
        self.tries.set(self.tries.get() + 1);
        if self.tries.get() <= CATCHES {
            resume_unwind(Box::new(Cancelled));
        }
        loop {
            // A fiber that reaches this loop is never resumed.
            self.yielder.suspend(Suspension::Waiting);
        }
    }

    /// Returns the error for a wait on a stack that unwinds, [`WaitError::Unwinding`]. Aborts the
    /// process after 1,000 unwindings and refused waits of a dropped fiber.
    #[cold]
    fn refuse(&self) -> WaitError {
        if self.is_cancelled.get() {
            self.tries.set(self.tries.get() + 1);
            if self.tries.get() > 10 * CATCHES {
                // The fiber was dropped by a panic, and its body ignores this error. It would wait
                // and be refused endlessly.
                process::abort();
            }
        }
        WaitError::Unwinding
    }
}

/// Returns true if the caller runs on the stack of a fiber. The caller may still be unable to wait:
/// [`try_wait`] lists the cases.
pub fn on_fiber() -> bool {
    !CURRENT.get().is_null()
}

/// Waits for a future on the stack of a fiber, and returns its output. The stack is suspended while
/// the future is pending.
///
/// The future is polled with the waker of the poll that runs the fiber.
///
/// # Panics
///
/// Panics if [`try_wait`] returns an error. A panic of the future comes out of this call. If the
/// fiber is dropped in the wait, this function unwinds without a message.
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

/// Waits as [`wait`] does, but returns an error if it cannot wait. If the fiber is dropped in the
/// wait, this function unwinds. If the body catches this unwinding and waits again, the next wait
/// unwinds without polling its future. After 100 such unwindings, a wait suspends the stack
/// permanently. After 1,000 refused waits of a dropped fiber, the process aborts.
///
/// # Errors
///
/// * [`WaitError::NoFiber`] if the caller does not run on the stack of a fiber.
/// * [`WaitError::InPoll`] within the poll of a future that the fiber waits for, within a run that
///   the fiber started, and within a call of [`uninterrupted`](crate::uninterrupted).
/// * [`WaitError::Unwinding`] if the future is pending while the thread is panicking. The future
///   was polled once.
#[inline]
pub fn try_wait<F: IntoFuture>(future: F) -> Result<F::Output, WaitError> {
    // SAFETY: the pointer is null, or points to the suspender of the running stack, which outlives
    // this call because it is in a frame below.
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
        // SAFETY: the context is the one of the poll that resumed this stack. It lives until the
        // stack is suspended. The stack is not suspended during the poll below, because that
        // requires a call of this function, which is refused within `uninterrupted`.
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

/// Ends the running fiber without unwinding its stack. The poll of the fiber returns
/// [`Poll::Pending`], and [`Fiber::is_abandoned`](crate::Fiber::is_abandoned) is then true. The
/// stack is never resumed. A drop of the fiber frees it, and runs no destructor of a value on it.
///
/// Use this function below C code, which must not be unwound. Catch the unwinding of a dropped
/// fiber in each function that the C code calls, and call this function instead of returning.
///
/// # Errors
///
/// Returns [`WaitError::NoFiber`] or [`WaitError::InPoll`] as [`try_wait`] does.
///
/// # Safety
///
/// No value on the stack of the fiber may be used after this call, because the stack is freed
/// without running destructors. In particular, no future on the stack may be registered anywhere.
pub unsafe fn abandon() -> WaitError {
    // SAFETY: as in `try_wait`.
    let Some(fiber) = (unsafe { CURRENT.get().as_ref() }) else {
        return WaitError::NoFiber;
    };
    if uninterrupted_depth() != fiber.depth.get() {
        return WaitError::InPoll;
    }
    loop {
        // The fiber never resumes an abandoned stack.
        fiber.yielder.suspend(Suspension::Abandoned);
    }
}
