//! Plain blocking functions as futures: fibers, each on a stack of its own.
//!
//! A [`Fiber`] is a future that runs a function on its own stack while it is polled. On that stack,
//! [`wait`] polls a future and suspends the stack while the future is pending. The executor of the
//! fiber then continues with other tasks. This is a *stackful coroutine* (Moura and Ierusalimschy,
//! *Revisiting coroutines*, 2009). Existing blocking code can wait in this way without being
//! rewritten as `async`.
//!
//! ```
//! use std::future::Future;
//! use std::pin::pin;
//! use std::task::{Context, Poll, Waker};
//!
//! use graphmap_fiber::{Fiber, wait};
//!
//! /// Blocking code without futures. Only the function that it calls waits.
//! fn blocking(read: &dyn Fn() -> u32) -> u32 {
//!     read() + read()
//! }
//!
//! # // Miri switches no stacks.
//! # if cfg!(miri) { return; }
//! let fiber = Fiber::new(|| blocking(&|| wait(std::future::ready(21))));
//! let polled = pin!(fiber).poll(&mut Context::from_waker(Waker::noop()));
//! assert_eq!(polled, Poll::Ready(42));
//! ```
//!
//! # One thread
//!
//! A fiber stays on the thread that created it, because its stack may contain values that are bound
//! to a thread: an `Rc`, the guard of a mutex, a reference into a thread-local. Therefore a fiber
//! is not `Send`, and its body need not be `Send`.
//!
//! # Panics and dropped fibers
//!
//! * A panic in the body comes out of the fiber's poll, with the same payload.
//! * A fiber that is dropped before its end is *cancelled*: the [`wait`] in which it is suspended
//!   unwinds its stack, which drops all values on it. As with a panic, this poisons a mutex that is
//!   held on that stack. If the body has not begun, it is dropped without being run.
//! * If the body catches this unwinding, its next wait unwinds again. After 100 catches the body
//!   stays suspended and is never resumed. The values on its stack are leaked.
//! * If a cancelled body panics, the drop resumes that panic, unless the thread is panicking
//!   already.
//! * If a fiber is leaked by [`std::mem::forget`], its stack is never reused.
//! * A fiber may be dropped while its thread unwinds. Polling one then is an error, because its
//!   waits could not distinguish this unwinding from one of their own stack. If the body of a fiber
//!   that is dropped during unwinding ignores the errors of its waits, the process aborts after
//!   1,000 waits.
//!
//! **No stack is suspended while it unwinds.** Otherwise [`std::thread::panicking`] would return
//! true in the other fibers of the thread, and they would poison the mutexes that they release. A
//! destructor that may run during unwinding and has to wait uses [`try_wait`]. In that case it
//! polls the future once, and returns [`WaitError::Unwinding`] if the future is pending. [`wait`]
//! cannot return an error and panics, which ends the program in a destructor that runs during
//! unwinding.
//!
//! **No stack is suspended in a poll.** Other fibers do not interrupt a future within its poll.
//! Waiting there is an error ([`WaitError::InPoll`]). A fiber that is polled there has its own
//! stack and may wait. A run that a fiber starts is such a poll, too. Its processes wait in it as
//! futures, or as fibers of that run. Code that calls a foreign function in the middle of a change
//! calls it through [`uninterrupted`]. This crate does not detect executors of other libraries: do
//! not wait in a future that such an executor polls on the stack of a fiber.
//!
//! # C code
//!
//! A body may call C code that calls back into Rust code, which may wait. If the fiber is dropped
//! in such a wait, the stack unwinds up to the Rust function that the C code called. A function
//! with the ABI `"C"` ends the program there, as for any panic. With the ABI `"C-unwind"`, the C
//! frames unwind. This is undefined behaviour unless the C code is compiled for it
//! (`-fexceptions`). To prevent this, the Rust function catches the unwinding and calls
//! [`abandon`], which frees the stack without unwinding the C frames.
//!
//! # Restrictions on bodies
//!
//! During a call that waits, other fibers of the thread run. They see the values that the caller
//! keeps in a thread-local for the duration of a call (scoped thread-locals, entered contexts).
//! Such values are also restored in a different order than they were set. No type can rule this
//! out, for any stackful coroutine. Therefore a body must not wait within such a call.
//!
//! The same applies to [`LocalKey::with`](std::thread::LocalKey::with) **if the fiber may outlive
//! the thread-local**. An example is a fiber that is stored in another thread-local and is
//! suspended within such a call. When the thread ends, the first thread-local may be dropped before
//! the fiber is cancelled. Destructors on the fiber's stack then access freed memory. A scoped
//! thread that borrows the value on the stack of a leaked fiber does so, too. The order in which
//! thread-locals are dropped cannot be determined, so this crate does not guard against it.
//!
//! It does not guard against an initializer of a thread-local that waits, either. Meanwhile another
//! fiber may initialise the value and borrow from it. When the first fiber continues, it replaces
//! that value.

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("graphmap runs on Linux on x86-64 and aarch64 only");

mod alternate;
mod current;
mod error;
mod fiber;
mod options;
mod overflow;
mod pool;
mod slab;
mod system;

pub use current::{abandon, on_fiber, try_wait, wait};
pub use error::{OptionsError, StackError, WaitError};
pub use fiber::Fiber;
pub use graphmap_executor::uninterrupted;
pub use options::Options;
pub use pool::{Counts, Stacks};
