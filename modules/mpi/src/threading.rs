//! Levels of thread support (`MPI_THREAD_SINGLE` and others).

use std::os::raw::c_int;

/// Threads of a program that may communicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Threading {
    /// The only thread.
    Single,
    /// The thread that has initialized MPI.
    Funneled,
    /// All threads, one at a time.
    Serialized,
    /// All threads at any time.
    Multiple,
}

impl From<c_int> for Threading {
    /// Returns the level with this number: 0 for `Single`, 1 for `Funneled`, 2 for `Serialized`,
    /// and 3 for `Multiple`.
    ///
    /// # Panics
    /// If no level has this number.
    fn from(level: c_int) -> Threading {
        match level {
            0 => Threading::Single,
            1 => Threading::Funneled,
            2 => Threading::Serialized,
            3 => Threading::Multiple,
            _ => panic!("Unknown threading level: {level}"),
        }
    }
}
