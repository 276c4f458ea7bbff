//! Errors of waiting, of stacks, and of their options.

use std::fmt;
use std::io;

/// Reason why [`try_wait`](crate::try_wait) did not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitError {
    /// The call was not made on the stack of a [`Fiber`](crate::Fiber), but for example on the
    /// stack of a thread that a fiber started. The future was dropped without being polled.
    NoFiber,
    /// The call was made while [`wait`](crate::wait) polls a future, in a run that was started on
    /// the stack of the fiber, or inside [`uninterrupted`](crate::uninterrupted). The future was
    /// dropped without being polled.
    InPoll,
    /// The stack unwinds, because of a panic or because its fiber is dropped, and must not be
    /// suspended. The future was polled once, was pending, and was dropped.
    Unwinding,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WaitError::NoFiber => {
                "no stack to suspend: only the body of a fiber can wait, on the thread that polls \
                 it"
            }
            WaitError::InPoll => {
                "cannot wait inside the poll of a future or an uninterrupted operation: in a \
                 future, use `.await`"
            }
            WaitError::Unwinding => {
                "cannot suspend a stack that unwinds: in a destructor, call `try_wait`"
            }
        })
    }
}

impl std::error::Error for WaitError {}

/// A stack for a fiber could not be allocated, or its overflow could not be detected.
#[derive(Debug)]
pub struct StackError {
    pub(crate) name: String,
    pub(crate) size: usize,
    pub(crate) live: usize,
    pub(crate) error: io::Error,
}

impl StackError {
    /// Returns the kind of error that the kernel reported. It is
    /// [`OutOfMemory`](io::ErrorKind::OutOfMemory) if the guards would need too many mappings.
    pub fn kind(&self) -> io::ErrorKind {
        self.error.kind()
    }
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        let (size, live) = (self.size / 1024, self.live);
        let of = if name.is_empty() { "" } else { " of " };
        write!(
            f,
            "cannot allocate a stack of {size} KiB for the fiber{of}{name}, with {live} stacks in \
             use: {}; possible limits are address space (`ulimit -v`), mappings (`sysctl \
             vm.max_map_count`) and overcommitted memory (`sysctl vm.overcommit_memory`)",
            self.error
        )
    }
}

impl std::error::Error for StackError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// `GRAPHMAP_STACK` is not a stack size from 16 KiB to 1 GiB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionsError(pub(crate) String);

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "GRAPHMAP_STACK={}: expected a number of bytes from 16k to 1g, such as 64k",
            self.0.escape_debug()
        )
    }
}

impl std::error::Error for OptionsError {}
