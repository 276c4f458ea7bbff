//! What a rank asks of the memory of another.

use super::number::Op;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Elements are combined with those there. Nothing is answered.
    Update,
    /// The same, and what was there before is the answer.
    Fetch,
    /// The first of two values replaces the element there, if that equals the second; what was there is the answer.
    CompareAndSwap,
    /// An answer, when all has been done that was asked for before.
    Flush,
    /// The lock, for this rank and others that share it; the answer is that it is held.
    Share,
    /// The same, for a rank that has or wants other locks: it does not wait for those who wait to be alone.
    ShareToo,
    /// The lock, for this rank alone.
    Exclude,
    /// The lock is given back, or not waited for any more.
    Unlock,
}

/// Names of what is waited for in reports, by [`What::number`].
pub(in super::super) const NAMES: [&str; 8] = [
    "put",
    "get",
    "compare_and_swap",
    "flush",
    "lock",
    "lock",
    "lock",
    "unlock",
];

/// Tags of the messages that ranks send to each other: the memory is open to the receiver; the
/// accesses of the sender have ended.
pub(super) const OPENED: i32 = 0;
pub(super) const COMPLETED: i32 = 1;

/// Names of the calls that receive these messages, by their tags, for reports of a deadlock.
pub(in super::super) const RECEIVERS: [&str; 2] = ["start", "wait"];

impl What {
    pub(super) fn number(self) -> i32 {
        self as i32
    }
}

graphmap_executor::payload!(
    enum What {
        Update,
        Fetch,
        CompareAndSwap,
        Flush,
        Share,
        ShareToo,
        Exclude,
        Unlock,
    }
);

/// What a rank asks for.
pub(super) struct Operation<T> {
    pub(super) what: What,
    pub(super) op: Op,
    /// Who asks: a rank of the window.
    pub(super) origin: u32,
    /// The first element, and how many there are.
    pub(super) offset: u64,
    pub(super) count: u64,
    /// As many, or none where what is there is kept.
    pub(super) values: Vec<T>,
}

graphmap_executor::payload!(Operation<T> { what, op, origin, offset, count, values });

impl<T> Operation<T> {
    /// One that concerns no elements.
    pub(super) fn plain(what: What, origin: u32) -> Self {
        Operation {
            what,
            op: Op::Keep,
            origin,
            offset: 0,
            count: 0,
            values: Vec::new(),
        }
    }
}
