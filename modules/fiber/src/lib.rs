//! Plain blocking functions as futures: fibers, each on a stack of its own.
//!
//! A [`Fiber`] is a future whose poll runs a function on its own stack. On that stack [`wait`]
//! polls a future, and suspends the stack while it is pending, so that whoever polls the fiber goes
//! on with others: a *stackful coroutine* (Moura and Ierusalimschy, *Revisiting coroutines*, 2009).
//! Existing blocking code waits so without being written as `async`.
//!
//! ```
//! use std::future::Future;
//! use std::pin::pin;
//! use std::task::{Context, Poll, Waker};
//!
//! use graphmap_fiber::{Fiber, wait};
//!
//! /// Knows nothing of futures, but the function that it calls.
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
//! A fiber stays on the thread that made it, for what lies on its stack may be anything: an `Rc`,
//! the guard of a mutex, a reference into a thread-local. Neither are fibers `Send`, nor need their
//! bodies be.
//!
//! # Panics, and fibers that are let go of
//!
//! * A panic in the body comes out of the fiber's poll, with the same payload.
//! * A fiber that is dropped before it is over is *cancelled*: the [`wait`] in which it is suspended unwinds its stack, so that
//!   all values on it are dropped. As with a panic, a mutex that is held meanwhile is poisoned. A body that has not begun
//!   is dropped as it is.
//! * A body that catches this goes on to its next wait, which unwinds again; one that catches it 100 times is
//!   left suspended for ever, and so are the values on its stack.
//! * What a cancelled body panics with comes out of the drop, unless that thread is panicking already.
//! * A fiber that is forgotten keeps its stack, which is never used again.
//! * A fiber may be dropped by a panic; to poll one then is an error, as it would take itself for one that unwinds. A body that is dropped by
//!   a panic and waits in a loop, whatever it is told, ends the program after a thousand times.
//!
//! **No stack is suspended while it unwinds**: the others of its thread would see
//! [`std::thread::panicking`] say true, and poison the mutexes that they release. So a destructor
//! that may run in unwinding and has to wait uses [`try_wait`], which polls once then and says
//! [`WaitError::Unwinding`] if that was not enough. [`wait`] has nothing to return in that case and
//! panics, which in a destructor that runs in unwinding ends the program, as any panic there.
//!
//! **No stack is suspended in a poll**: what a future does in its poll is not interrupted by other
//! fibers. To wait there is an error ([`WaitError::InPoll`]); a fiber that is polled there has its
//! own stack, and may wait. A run that a fiber starts is such a poll, too: its processes wait in it
//! by themselves, or as fibers of that run. Code that calls a function of others in the middle of a
//! change calls it [`uninterrupted`]. An executor of another library is not known here: do not wait
//! in what it polls on the stack of a fiber.
//!
//! # C code
//!
//! A body may call C code that calls Rust code back, and that may wait. If the fiber is dropped in
//! such a wait, the stack unwinds up to the function that C code has called. A function with the
//! ABI `"C"` ends the program there, as for any panic. With the ABI `"C-unwind"` the C frames
//! unwind, which is undefined behaviour unless the C code is compiled for it (`-fexceptions`). A
//! fiber that must not unwind is kept in a [`ManuallyDrop`](std::mem::ManuallyDrop), or forgotten.
//!
//! # What bodies must not do
//!
//! Between the beginning and the end of a call that waits, other fibers of the thread run. What is
//! kept in a thread-local for the length of a call (scoped thread-locals, entered contexts) is seen
//! by them, and is taken back in another order than it was set. No type can rule that out, as none
//! can for any stackful coroutine: bodies do not wait within such a call.
//!
//! That goes for [`LocalKey::with`](std::thread::LocalKey::with), too, **where the fiber may
//! outlive the thread-local**: one that is kept in another thread-local and suspended within such a
//! call may be cancelled after the first has been dropped when the thread ends, and destructors on
//! its stack that look at it look at memory that is not there any more; so would a scoped thread
//! that was lent it on the stack of a fiber that is forgotten. In which order thread-locals go
//! cannot be found out, so nothing here guards against that. Nor does anything where the
//! initializer of a thread-local waits: another fiber may make the value meanwhile, and lose it,
//! with what it has borrowed of it, when the first goes on.

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

pub use current::{on_fiber, try_wait, wait};
pub use error::{OptionsError, StackError, WaitError};
pub use fiber::Fiber;
pub use graphmap_executor::uninterrupted;
pub use options::Options;
pub use pool::{Counts, Stacks};
