//! A function on a stack of its own, as a future.

use std::any::Any;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use corosensei::stack::{DefaultStack, STACK_ALIGNMENT};
use corosensei::{Coroutine, CoroutineResult};

use crate::current::{self, Cancelled, Resume};

/// What came of a body: what it has returned, or what it has panicked with.
type Outcome<T> = Result<T, Box<dyn Any + Send>>;

/// Of how many bytes a body is kept elsewhere, as it takes room on the stack once more when it runs.
const LARGE: usize = 512;

/// A stack with a body on it.
type Stack<T> = Coroutine<Resume, (), Outcome<T>, DefaultStack>;

/// A function that runs on a stack of its own: a future, whose output is what the function returns.
///
/// Each poll runs it to its next [`wait`](crate::wait) for something that is pending, or to its end. What becomes of one that
/// panics or is dropped is told [above](crate#panics-and-fibers-that-are-let-go-of).
///
/// # Panics
///
/// A poll panics with what the body panics with; when the fiber is over; and where the thread is panicking already.
///
/// ```compile_fail
/// fn other_thread(fiber: graphmap_stack::Fiber<()>) {
///     std::thread::spawn(move || drop(fiber));
/// }
/// ```
#[must_use = "a fiber does nothing unless it is polled"]
pub struct Fiber<T: 'static> {
    /// None once it is over.
    stack: Option<Stack<T>>,
}

impl<T: 'static> Fiber<T> {
    /// A fiber that will run this function.
    ///
    /// # Panics
    ///
    /// If there is no memory for its stack.
    pub fn new(body: impl FnOnce() -> T + 'static) -> Self {
        let stack = DefaultStack::new(64 << 10).expect("no memory for the stack of a fiber");
        let stack = match size_of_val(&body) > LARGE || align_of_val(&body) > STACK_ALIGNMENT {
            true => begin(stack, Box::new(body)),
            false => begin(stack, body),
        };
        Fiber { stack: Some(stack) }
    }
}

/// A stack that will run this body.
fn begin<T: 'static>(stack: DefaultStack, body: impl FnOnce() -> T + 'static) -> Stack<T> {
    let run = |yielder: &_, resume| {
        catch_unwind(AssertUnwindSafe(|| current::run(yielder, resume, body)))
    };
    Coroutine::with_stack(stack, run)
}

impl<T: 'static> Future for Fiber<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let fiber = self.get_mut();
        let Some(stack) = &mut fiber.stack else {
            panic!("a fiber was polled that is over");
        };
        if thread::panicking() {
            // It would take itself for one that unwinds.
            panic!("a fiber was polled by a destructor, as its thread unwinds");
        }
        let resume = Resume::new(context, false);
        match current::resuming(|| stack.resume(resume)) {
            CoroutineResult::Yield(()) => Poll::Pending,
            CoroutineResult::Return(outcome) => {
                fiber.stack = None;
                match outcome {
                    Ok(output) => Poll::Ready(output),
                    Err(payload) => resume_unwind(payload),
                }
            }
        }
    }
}

impl<T: 'static> Drop for Fiber<T> {
    fn drop(&mut self) {
        let Some(mut stack) = self.stack.take() else {
            return;
        };
        let cancelled = match stack.started() {
            true => cancel(&mut stack),
            false => never_begun(&mut stack),
        };
        match stack.done() {
            true => drop(stack),
            // Suspended for ever.
            false => mem::forget(stack),
        }
        match cancelled {
            Ok(output) => drop(output),
            Err(payload) if thread::panicking() || payload.is::<Cancelled>() => discard(payload),
            Err(payload) => resume_unwind(payload),
        }
    }
}

/// Has a suspended body unwind: what it has returned, if that was caught.
fn cancel<T>(stack: &mut Stack<T>) -> Outcome<Option<T>> {
    let mut context = Context::from_waker(Waker::noop());
    let resume = Resume::new(&mut context, true);
    match current::resuming(|| stack.resume(resume)) {
        CoroutineResult::Yield(()) => Ok(None),
        CoroutineResult::Return(outcome) => outcome.map(Some),
    }
}

/// Drops a body that never began, where the fiber is dropped.
fn never_begun<T>(stack: &mut Stack<T>) -> Outcome<Option<T>> {
    let dropped = catch_unwind(AssertUnwindSafe(|| stack.force_unwind()));
    if dropped.is_err() {
        // SAFETY: nothing is on the stack but the body, which has been dropped, if with a panic.
        unsafe { stack.force_reset() };
    }
    dropped.map(|()| None)
}

/// Drops the payload of a panic.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(worse) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // Whoever panics when dropped is not dropped a second time.
        mem::forget(worse);
    }
}

impl<T: 'static> fmt::Debug for Fiber<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.stack {
            None => "over",
            Some(stack) if stack.started() => "suspended",
            Some(_) => "not begun",
        };
        f.debug_struct("Fiber").field("state", &state).finish()
    }
}
