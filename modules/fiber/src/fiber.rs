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

use crate::current::{self, Cancelled, Outcome, Resume, Suspension};
use crate::error::StackError;
use crate::pool::{self, Stack, Stacks};

/// Largest size of a body, in bytes, that is moved onto the stack. A larger body is boxed, because
/// it occupies the stack a second time when it runs.
const LARGE: usize = 512;

/// A stack with a body on it.
type Body<T> = Coroutine<Resume, Suspension, Outcome<T>, Stack>;

/// A future that runs a function on a stack of its own. Its output is the result of the function.
///
/// Each poll runs the function to its next [`wait`](crate::wait) for a pending future, or to its
/// end. The documentation of the [crate](crate#panics-and-dropped-fibers) describes panics and
/// dropped fibers.
///
/// # Panics
///
/// A poll panics if the body panics (with the same payload), if the fiber has ended, or if the
/// thread is panicking already. A drop panics if the cancelled body panics, or if the drop of a
/// body that has not begun panics, unless the thread is panicking already.
///
/// ```compile_fail
/// fn other_thread(fiber: graphmap_fiber::Fiber<()>) {
///     std::thread::spawn(move || drop(fiber));
/// }
/// ```
#[must_use = "a fiber does nothing unless it is polled"]
pub struct Fiber<T: 'static> {
    /// `None` after the end. While the body runs, [`Coroutine::done`] returns true.
    stack: Option<Body<T>>,
    /// True if the body has abandoned its stack, which must not be resumed then.
    is_abandoned: bool,
}

impl<T: 'static> Fiber<T> {
    /// Creates a fiber that runs `body` on a stack with the options of
    /// [`Options::from_env`](crate::Options::from_env). The body begins at the first poll.
    ///
    /// # Panics
    ///
    /// Panics if [`named`](Fiber::named) returns an error or panics.
    pub fn new(body: impl FnOnce() -> T + 'static) -> Self {
        match Self::named("", body) {
            Ok(fiber) => fiber,
            Err(error) => panic!("{error}"),
        }
    }

    /// Creates a fiber as [`new`](Fiber::new) does, with a name. The report of a stack overflow
    /// contains the first 63 characters of the name. The options are read once for each thread,
    /// when its first fiber is created.
    ///
    /// # Errors
    ///
    /// Returns an error if no stack can be allocated, or if the overflow of stacks cannot be
    /// detected (`sigaltstack` or `sigaction` fails).
    ///
    /// # Panics
    ///
    /// Panics if the options are read and `GRAPHMAP_STACK` is not a valid size.
    pub fn named(
        name: impl Display,
        body: impl FnOnce() -> T + 'static,
    ) -> Result<Self, StackError> {
        pool::with_default(|stacks| stacks.fiber(name, body))
    }

    /// Returns true if the body has ended by [`abandon`](crate::abandon). All further polls return
    /// [`Poll::Pending`].
    #[inline]
    pub fn is_abandoned(&self) -> bool {
        self.is_abandoned
    }
}

impl Stacks {
    /// Creates a fiber that runs `body` on one of these stacks, with a name. The stack is taken at
    /// once, and the body begins at the first poll. The report of a stack overflow contains the
    /// first 63 characters of the name.
    ///
    /// # Errors
    ///
    /// Returns an error as [`Fiber::named`] does.
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
        Ok(Fiber {
            stack: Some(stack),
            is_abandoned: false,
        })
    }
}

/// Returns a coroutine that will run `body` on `stack`. Does not start it. `name` is the name of
/// the fiber in the report of an overflow.
fn begin<T: 'static>(stack: Stack, name: String, body: impl FnOnce() -> T + 'static) -> Body<T> {
    let extent = stack.extent(name);
    let run = move |yielder: &_, resume| current::run(yielder, resume, &extent, body);
    Coroutine::with_stack(stack, run)
}

impl<T: 'static> Future for Fiber<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let fiber = self.get_mut();
        if fiber.is_abandoned {
            return Poll::Pending;
        }
        let Some(stack) = &mut fiber.stack else {
            panic!("a fiber was polled after it ended");
        };
        if thread::panicking() {
            // The waits of the body could not distinguish this unwinding from one of their own
            // stack.
            panic!("a fiber was polled by a destructor while its thread unwinds");
        }
        let resume = Resume::new(context, false);
        match current::resuming(|| stack.resume(resume)) {
            CoroutineResult::Yield(suspension) => {
                fiber.is_abandoned = suspension == Suspension::Abandoned;
                Poll::Pending
            }
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
            // The fiber runs. Its body is ending the program, which drops the thread-local that
            // contains the fiber. The stack is still in use.
            return mem::forget(stack);
        }
        let cancelled = match stack.started() {
            true if self.is_abandoned => {
                free(&mut stack);
                Ok(None)
            }
            true => cancel(&mut stack),
            false => never_begun(&mut stack),
        };
        match stack.done() {
            true => drop(stack),
            // The body caught too many unwindings and is never resumed.
            false => mem::forget(stack),
        }
        match cancelled {
            Ok(output) => drop(output),
            Err(payload) if thread::panicking() || payload.is::<Cancelled>() => discard(payload),
            Err(payload) => resume_unwind(payload),
        }
    }
}

/// Unwinds the stack of a suspended body, which may run its destructors. Returns its output if it
/// caught the unwinding and ended. Returns `Ok(None)` if it is still suspended, and otherwise the
/// payload of the panic that ended it.
fn cancel<T>(stack: &mut Body<T>) -> Outcome<Option<T>> {
    let mut context = Context::from_waker(Waker::noop());
    let resume = Resume::new(&mut context, true);
    match current::resuming(|| stack.resume(resume)) {
        CoroutineResult::Yield(Suspension::Waiting) => Ok(None),
        CoroutineResult::Yield(Suspension::Abandoned) => {
            free(stack);
            Ok(None)
        }
        CoroutineResult::Return(outcome) => outcome.map(Some),
    }
}

/// Marks an abandoned stack as ended, without running destructors of values on it.
fn free<T>(stack: &mut Body<T>) {
    // SAFETY: by the contract of `abandon`, no value on the stack is used any more.
    unsafe { stack.force_reset() };
}

/// Drops a body that never began. Returns `Ok(None)`, or the payload if the drop panics.
fn never_begun<T>(stack: &mut Body<T>) -> Outcome<Option<T>> {
    let dropped = catch_unwind(AssertUnwindSafe(|| stack.force_unwind()));
    if dropped.is_err() {
        // SAFETY: the stack contains only the body, which was dropped, even if its destructor
        // panicked.
        unsafe { stack.force_reset() };
    }
    dropped.map(|()| None)
}

/// Drops the payload of a panic. A panic in its destructor is ignored.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(worse) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // A payload whose destructor panics is not dropped a second time.
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
