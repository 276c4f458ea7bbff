//! Which threads of a program may communicate, as MPI has it.

use std::os::raw::c_int;

/// Which threads of a program may communicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Threading {
    /// There is one.
    Single,
    /// The one that has initialized.
    Funneled,
    /// One at a time.
    Serialized,
    /// All.
    Multiple,
}

impl From<c_int> for Threading {
    /// A level by its number.
    ///
    /// # Panics
    /// If there is none.
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
