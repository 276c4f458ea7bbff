//! Why somebody cannot wait.

use std::fmt;

/// Why [`try_wait`](crate::try_wait) has not waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitError {
    /// The call was not made on the stack of a [`Fiber`](crate::Fiber): on that of a thread that a fiber has started, perhaps.
    /// The future was dropped without having been polled.
    NoFiber,
    /// The call was made while [`wait`](crate::wait) polls a future, which must not be interrupted. The future was
    /// dropped without having been polled: it can be awaited there.
    InPoll,
    /// The stack unwinds, by a panic or as its fiber is dropped, and must not be suspended. The future was polled once, was
    /// pending, and was dropped.
    Unwinding,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WaitError::NoFiber => {
                "there is no stack to suspend: only the body of a fiber can wait, on the thread that polls it"
            }
            WaitError::InPoll => {
                "a future that a fiber waits for must not wait within its poll: it can `.await` instead"
            }
            WaitError::Unwinding => {
                "a stack that unwinds cannot be suspended: a destructor that may run then calls `try_wait`"
            }
        })
    }
}

impl std::error::Error for WaitError {}
