//! Operation of a rank on the memory of another rank.

use super::number::Op;

/// Kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationKind {
    /// Combine values with the elements, without an answer.
    Update,
    /// Combine values with the elements, and answer with the elements from before.
    Fetch,
    /// Replace the element by the first of two values if it equals the second. Answer with the
    /// element from before.
    CompareAndSwap,
    /// Answer when all earlier operations have completed.
    Flush,
    /// Acquire the lock, shared with other ranks. Answer when it is held.
    Share,
    /// Acquire the lock, shared, for a rank that has or requests other locks. This does not wait
    /// for requests for an exclusive lock.
    ShareToo,
    /// Acquire the lock exclusively. Answer when it is held.
    Exclude,
    /// Release the lock, or withdraw the request for it.
    Unlock,
}

/// Names of the operations in reports, by [`OperationKind::number`].
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

/// Tags of the messages between the ranks of a window. `OPENED`: the memory is exposed to the
/// receiver. `COMPLETED`: the accesses of the sender have ended.
pub(super) const OPENED: i32 = 0;
pub(super) const COMPLETED: i32 = 1;

/// Names of the calls that receive these messages in deadlock reports, by tag.
pub(in super::super) const RECEIVERS: [&str; 2] = ["start", "wait"];

impl OperationKind {
    pub(super) fn number(self) -> i32 {
        self as i32
    }
}

graphmap_executor::payload!(
    enum OperationKind {
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

/// Operation of a rank.
pub(super) struct Operation<T> {
    pub(super) what: OperationKind,
    pub(super) op: Op,
    /// Requesting rank of the window.
    pub(super) origin: u32,
    /// Index of the first element.
    pub(super) offset: u64,
    /// Number of elements.
    pub(super) count: u64,
    /// `count` values, or none if the elements are not changed.
    pub(super) values: Vec<T>,
}

graphmap_executor::payload!(Operation<T> { what, op, origin, offset, count, values });

impl<T> Operation<T> {
    /// Creates an operation of rank `origin` without elements and values.
    pub(super) fn plain(what: OperationKind, origin: u32) -> Self {
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
