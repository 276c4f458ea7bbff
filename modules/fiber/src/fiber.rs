//! A function on a stack of its own, as a future.

use std::any::Any;
use std::fmt::{self, Display};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use corosensei::stack::STACK_ALIGNMENT;
use corosensei::{Coroutine, CoroutineResult};

use crate::current::{self, Cancelled, Outcome, Resume};
use crate::error::StackError;
use crate::pool::{self, Stack, Stacks};

/// Of how many bytes a body is kept elsewhere, as it takes room on the stack once more when it runs.
const LARGE: usize = 512;

/// A stack with a body on it.
type Body<T> = Coroutine<Resume, (), Outcome<T>, Stack>;

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
/// fn other_thread(fiber: graphmap_fiber::Fiber<()>) {
///     std::thread::spawn(move || drop(fiber));
/// }
/// ```
#[must_use = "a fiber does nothing unless it is polled"]
pub struct Fiber<T: 'static> {
    /// None once it is over. While it runs it says that it is done.
    stack: Option<Body<T>>,
}

impl<T: 'static> Fiber<T> {
    /// Makes a fiber that will run this function, on a stack with the options of
    /// [`Options::from_env`](crate::Options::from_env).
    ///
    /// # Panics
    ///
    /// If there is no stack for it.
    pub fn new(body: impl FnOnce() -> T + 'static) -> Self {
        match Self::named("", body) {
            Ok(fiber) => fiber,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`new`](Fiber::new), with a name. The report of an overflow has its first 63 characters.
    ///
    /// # Errors
    ///
    /// If there is no stack for it.
    ///
    /// # Panics
    ///
    /// If `GRAPHMAP_STACK` says no size.
    pub fn named(
        name: impl Display,
        body: impl FnOnce() -> T + 'static,
    ) -> Result<Self, StackError> {
        pool::with_default(|stacks| stacks.fiber(name, body))
    }
}

impl Stacks {
    /// Makes a fiber that will run this function on one of these stacks, with a name. The report of
    /// an overflow has its first 63 characters.
    ///
    /// # Errors
    ///
    /// If there is no stack for it.
    pub fn fiber<T: 'static>(
        &self,
        name: impl Display,
        body: impl FnOnce() -> T + 'static,
    ) -> Result<Fiber<T>, StackError> {
        let name = name.to_string();
        let stack = self.take(&name)?;
        let stack = match size_of_val(&body) > LARGE || align_of_val(&body) > STACK_ALIGNMENT {
            true => begin(stack, name, Box::new(body)),
            false => begin(stack, name, body),
        };
        Ok(Fiber { stack: Some(stack) })
    }
}

/// A stack that will run this body.
fn begin<T: 'static>(stack: Stack, name: String, body: impl FnOnce() -> T + 'static) -> Body<T> {
    let extent = stack.extent(name);
    let run = move |yielder: &_, resume| current::run(yielder, resume, &extent, body);
    Coroutine::with_stack(stack, run)
}

impl<T: 'static> Future for Fiber<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let fiber = self.get_mut();
        let Some(stack) = &mut fiber.stack else {
            panic!("a fiber was polled after it ended");
        };
        if thread::panicking() {
            // It would take itself for one that unwinds.
            panic!("a fiber was polled by a destructor while its thread unwinds");
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
        if stack.done() {
            // It runs: its body ends the program, which drops the thread-local that the fiber is kept in. Its stack is still needed.
            return mem::forget(stack);
        }
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
fn cancel<T>(stack: &mut Body<T>) -> Outcome<Option<T>> {
    let mut context = Context::from_waker(Waker::noop());
    let resume = Resume::new(&mut context, true);
    match current::resuming(|| stack.resume(resume)) {
        CoroutineResult::Yield(()) => Ok(None),
        CoroutineResult::Return(outcome) => outcome.map(Some),
    }
}

/// Drops a body that never began, where the fiber is dropped.
fn never_begun<T>(stack: &mut Body<T>) -> Outcome<Option<T>> {
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
