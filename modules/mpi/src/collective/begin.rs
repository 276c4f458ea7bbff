//! Starts collective calls. The elements are packed and passed to the collective calls of the
//! runtime, whose results are unpacked.
//!
//! # Safety
//! For each function here that takes a [`BufferRange`], its buffer must be borrowed as long as the
//! returned call may be polled.

use std::rc::Rc;

use graphmap_runtime::mpi as core;

use super::operation::Operation;
use crate::abi::{RSMPI_PROC_NULL, RSMPI_ROOT};
use crate::buffer_range::{BufferRange, count, layout, packed};
use crate::datatype::traits::Buffer;
use crate::operation::{Elements, RawOperation};
use crate::request::{Collective, CollectiveCall, Loan, StartedCall};
use crate::shared::{CommunicatorHandle, Groups};
use crate::topology::{Rank, number};

/// Converts the root of a call on an intercommunicator: a rank of the remote group, `RSMPI_ROOT`
/// for the calling rank, or `RSMPI_PROC_NULL` for another rank of the local group.
fn inter_root(rank: Rank) -> core::InterRoot {
    match rank {
        RSMPI_ROOT => core::InterRoot::This,
        RSMPI_PROC_NULL => core::InterRoot::Beside,
        rank => core::InterRoot::Remote(number(rank)),
    }
}

/// Returns true if the root of a call on an intercommunicator is in the remote group.
fn is_remote(root: Rank) -> bool {
    matches!(inter_root(root), core::InterRoot::Remote(_))
}

/// Replaces a missing result by no bytes, for the ranks that receive no data from a call on an
/// intercommunicator.
///
/// # Errors
/// The errors of the call.
async fn or_nothing(
    call: impl Future<Output = Result<Option<Vec<u8>>, core::Error>>,
) -> Result<Vec<u8>, core::Error> {
    Ok(call.await?.unwrap_or_default())
}

/// Unpacks the elements of each rank, which are in `all` by rank, into the range with the same
/// index. Further ranges stay unchanged.
///
/// # Errors
/// `Error::Count` if there are fewer ranges than ranks, or if a rank has passed fewer elements than
/// its range needs. Also the other errors of [`BufferRange::fill_exactly`]. The ranges before the
/// range with an error have been filled.
///
/// # Safety
/// The buffers of the ranges must still be borrowed.
unsafe fn fill_all(ranges: &[BufferRange], all: &[Vec<u8>]) -> Result<(), core::Error> {
    if ranges.len() < all.len() {
        return Err(core::Error::Count {
            given: ranges.len(),
            wanted: all.len(),
        });
    }
    for (range, bytes) in ranges.iter().zip(all) {
        // SAFETY: by the contract of this function, the buffer is still borrowed.
        unsafe { range.fill_exactly(bytes) }?;
    }
    Ok(())
}

/// Starts a barrier of all ranks, or of both groups of an intercommunicator (`MPI_Ibarrier`).
#[track_caller]
pub(crate) fn barrier(of: &Groups) -> impl StartedCall + use<> {
    let call = match of {
        Groups::One(one) => CollectiveCall::One(one.barrier()),
        Groups::Two(two) => CollectiveCall::two(two.barrier()),
    };
    Collective::new(call, |()| Ok(()))
}

/// Starts a broadcast from the root (`MPI_Ibcast`). The root packs the elements of `range` at once.
/// At the other ranks, the elements must fill `range` when the call completes. On an
/// intercommunicator, the other ranks of the group of the root neither send nor receive. Panics if
/// the rank was finalized, or if there is not enough memory to pack the elements.
///
/// # Safety
/// The buffer of `range` must be borrowed as long as the returned call may be polled.
#[track_caller]
pub(super) unsafe fn broadcast(
    of: &CommunicatorHandle,
    root: Rank,
    range: BufferRange,
) -> impl StartedCall + use<> {
    let groups = of.groups();
    let (gives, receives) = match groups {
        Groups::One(one) => {
            let is_root = one.rank() == number(root);
            (is_root, !is_root)
        }
        Groups::Two(_) => (root == RSMPI_ROOT, is_remote(root)),
    };
    // SAFETY: the buffer is borrowed, by the contract of this function.
    let value = gives.then(|| unsafe { range.packed() });
    let call = match groups {
        Groups::One(one) => CollectiveCall::One(one.bcast(value, number(root))),
        Groups::Two(two) => CollectiveCall::two(or_nothing(two.bcast(value, inter_root(root)))),
    };
    Collective::new(call, move |bytes: Vec<u8>| match receives {
        // SAFETY: the buffer is borrowed, because the call is being polled.
        true => unsafe { range.fill_exactly(&bytes) },
        false => Ok(()),
    })
}

/// Starts a gather to the root (`MPI_Igather`, `MPI_Igatherv`). `bytes` are the packed elements of
/// this rank. At the root, each of `ranges` receives the elements of one rank, which must fill it,
/// and there must be a range for each rank. The other ranks pass no ranges. Panics if the rank was
/// finalized.
///
/// # Safety
/// The buffers of `ranges` must be borrowed as long as the returned call may be polled.
#[track_caller]
pub(super) unsafe fn gather(
    of: &CommunicatorHandle,
    root: Rank,
    bytes: Vec<u8>,
    ranges: Vec<BufferRange>,
) -> impl StartedCall + use<> {
    let call = match of.groups() {
        Groups::One(one) => CollectiveCall::One(one.gather(bytes, number(root))),
        Groups::Two(two) => CollectiveCall::two(two.gather(Some(bytes), inter_root(root))),
    };
    Collective::new(call, move |all: Option<Vec<Vec<u8>>>| {
        // SAFETY: the buffers are borrowed, because the call is being polled.
        all.map_or(Ok(()), |all| unsafe { fill_all(&ranges, &all) })
    })
}

/// Starts a gather to all ranks (`MPI_Iallgather`, `MPI_Iallgatherv`). `bytes` are the packed
/// elements of this rank. Each of `ranges` receives the elements of one rank, which must fill it.
/// There must be a range for each rank. Panics if the rank was finalized.
///
/// # Safety
/// The buffers of `ranges` must be borrowed as long as the returned call may be polled.
#[track_caller]
pub(super) unsafe fn all_gather(
    of: &CommunicatorHandle,
    bytes: Vec<u8>,
    ranges: Vec<BufferRange>,
) -> impl StartedCall + use<> {
    let call = match of.groups() {
        Groups::One(one) => CollectiveCall::One(one.allgather(bytes)),
        Groups::Two(two) => CollectiveCall::two(two.allgather(bytes)),
    };
    Collective::new(call, move |all: Rc<[Vec<u8>]>| {
        // SAFETY: the buffers are borrowed, because the call is being polled.
        unsafe { fill_all(&ranges, &all) }
    })
}

/// Starts a scatter from the root (`MPI_Iscatter`, `MPI_Iscatterv`). Only the root passes `parts`:
/// the packed elements for each rank. `range` receives the part of this rank, which must fill it.
/// On an intercommunicator, the ranks of the group of the root receive no part. Panics if the rank
/// was finalized.
///
/// # Safety
/// The buffer of `range` must be borrowed as long as the returned call may be polled.
#[track_caller]
pub(super) unsafe fn scatter(
    of: &CommunicatorHandle,
    root: Rank,
    parts: Option<Vec<Vec<u8>>>,
    range: BufferRange,
) -> impl StartedCall + use<> {
    let (call, receives) = match of.groups() {
        Groups::One(one) => (CollectiveCall::One(one.scatter(parts, number(root))), true),
        Groups::Two(two) => {
            let call = CollectiveCall::two(or_nothing(two.scatter(parts, inter_root(root))));
            (call, is_remote(root))
        }
    };
    Collective::new(call, move |bytes: Vec<u8>| match receives {
        // SAFETY: the buffer is borrowed, because the call is being polled.
        true => unsafe { range.fill_exactly(&bytes) },
        false => Ok(()),
    })
}

/// Starts an exchange in which each rank sends a part to each rank (`MPI_Ialltoall`,
/// `MPI_Ialltoallv`). `parts` are the packed elements for each rank. Each of `ranges` receives the
/// part of one rank, which must fill it. There must be a part and a range for each rank. Panics if
/// the rank was finalized.
///
/// # Safety
/// The buffers of `ranges` must be borrowed as long as the returned call may be polled.
#[track_caller]
pub(super) unsafe fn all_to_all(
    of: &CommunicatorHandle,
    parts: Vec<Vec<u8>>,
    ranges: Vec<BufferRange>,
) -> impl StartedCall + use<> {
    let call = match of.groups() {
        Groups::One(one) => CollectiveCall::One(one.alltoall(parts)),
        Groups::Two(two) => CollectiveCall::two(two.alltoall(parts)),
    };
    Collective::new(call, move |all: Vec<Vec<u8>>| {
        // SAFETY: the buffers are borrowed, because the call is being polled.
        unsafe { fill_all(&ranges, &all) }
    })
}

/// The contribution of a rank to a reduction: its elements, and the operation that combines them.
pub(crate) struct Reduction {
    bytes: Vec<u8>,
    elements: Elements,
    /// Marks the operation as lent until the call of this rank ends.
    lending: Lending,
}

/// Ends the loan when it is dropped.
struct Lending(Loan);

impl Drop for Lending {
    fn drop(&mut self) {
        self.0.invalidate();
    }
}

impl Reduction {
    #[track_caller]
    pub(super) fn new<S: Buffer + ?Sized, O: Operation>(buffer: &S, operation: &O) -> Self {
        let elements = Elements {
            operation: operation.as_raw().0,
            layout: layout(buffer),
            count: count(buffer),
        };
        Reduction::of(packed(buffer), elements)
    }

    /// Creates a reduction of packed elements, and a loan of its operation that ends when the
    /// reduction is dropped.
    pub(crate) fn of(bytes: Vec<u8>, elements: Elements) -> Self {
        let lending = Lending(Loan::new());
        Reduction {
            bytes,
            elements,
            lending,
        }
    }

    /// Divides the number of elements by the number of ranks, for a reduction of parts. Rounds
    /// down.
    fn in_parts(mut self, ranks: usize) -> Self {
        self.elements.count /= ranks.max(1);
        self
    }

    /// Returns true if the program created the operation. The program may drop such an operation
    /// after its call has ended.
    fn is_users(&self) -> bool {
        !matches!(self.elements.operation, RawOperation::System(_))
    }

    /// Checks that the operation is defined for the elements. Returns the packed elements, and the
    /// reduction without them.
    ///
    /// # Errors
    /// As for [`Elements::check`].
    fn checked(mut self) -> Result<(Vec<u8>, Reduction), core::Error> {
        self.elements.check()?;
        Ok((std::mem::take(&mut self.bytes), self))
    }

    /// Returns the operation as a closure on packed elements. Its first argument comes from lower
    /// ranks than its second, and it returns the result.
    ///
    /// # Panics
    /// The closure panics if the loan of an operation of the program has ended, and as
    /// [`Elements::combine`].
    fn combining(&self) -> impl FnMut(Vec<u8>, Vec<u8>) -> Vec<u8> + 'static {
        let (elements, users, lent) = (self.elements, self.is_users(), self.lending.0.clone());
        move |left, mut right| {
            // Predefined operations are not lent.
            assert!(
                !users || lent.is_valid(),
                "the operation no longer exists, because the rank that owns it dropped its \
                 reduction"
            );
            // The operation must not be suspended, because its rank could end meanwhile and drop
            // it.
            graphmap_fiber::uninterrupted(|| elements.combine(&left, &mut right));
            right
        }
    }

    /// Returns a call that unpacks the result of `call` into `range` when it completes, if there
    /// are both a result and a range. The returned call has the loan of the operation, which ends
    /// when the call completes or is dropped.
    ///
    /// # Safety
    /// The buffer of `range` must be borrowed as long as the returned call may be polled. The
    /// operation must be valid until the returned call or its loan ends.
    unsafe fn deliver<R: Into<Option<Vec<u8>>>>(
        self,
        range: Option<BufferRange>,
        call: CollectiveCall<R>,
    ) -> impl StartedCall + use<R> {
        let lent = self.lending.0.clone();
        let finish = move |result: R| {
            drop(self);
            match (range, result.into()) {
                // SAFETY: the buffer is borrowed, because the call is being polled.
                (Some(range), Some(bytes)) => unsafe { range.fill_exactly(&bytes) },
                _ => Ok(()),
            }
        };
        Collective::new(call, finish).lending(lent)
    }
}

// The reductions are functions and not closures, because the runtime reports the line of the
// caller.

/// Starts a reduction to the root (`MPI_Ireduce`). Only the root passes a range, which the result
/// must fill. With an operation of the program, the call of each rank completes only when all ranks
/// have made it. Panics if the rank was finalized.
///
/// # Errors
/// As for [`Elements::check`]. This applies to all reductions of this module.
///
/// # Safety
/// The buffer of `range` must be borrowed as long as the returned call may be polled. The operation
/// must be valid until the returned call or its loan ends.
#[track_caller]
pub(super) unsafe fn reduce(
    of: &CommunicatorHandle,
    root: Rank,
    reduction: Reduction,
    range: Option<BufferRange>,
) -> Result<Box<dyn StartedCall>, core::Error> {
    let groups = of.groups();
    let (bytes, reduction) = reduction.checked()?;
    let call = match groups {
        // A rank that has lent its operation must not continue before all ranks have made the call.
        // Therefore all ranks receive the result.
        Groups::One(one) if reduction.is_users() => {
            let call = CollectiveCall::One(one.allreduce(bytes, reduction.combining()));
            // SAFETY: by the contract of this function.
            return Ok(Box::new(unsafe { reduction.deliver(range, call) }));
        }
        Groups::One(one) => {
            CollectiveCall::One(one.reduce(bytes, reduction.combining(), number(root)))
        }
        // This call ends only when all ranks have made it.
        Groups::Two(two) => {
            let (combining, root) = (reduction.combining(), inter_root(root));
            CollectiveCall::two(two.reduce(Some(bytes), combining, root))
        }
    };
    // SAFETY: by the contract of this function.
    Ok(Box::new(unsafe { reduction.deliver(range, call) }))
}

/// Starts a reduction to all ranks (`MPI_Iallreduce`). The result must fill `range`.
///
/// # Errors
/// As for [`Elements::check`].
///
/// # Safety
/// As for [`reduce`].
#[track_caller]
pub(crate) unsafe fn all_reduce(
    groups: &Groups,
    reduction: Reduction,
    range: BufferRange,
) -> Result<impl StartedCall + use<>, core::Error> {
    let (bytes, reduction) = reduction.checked()?;
    let call = match groups {
        Groups::One(one) => CollectiveCall::One(one.allreduce(bytes, reduction.combining())),
        Groups::Two(two) => CollectiveCall::two(two.allreduce(bytes, reduction.combining())),
    };
    // SAFETY: by the contract of this function.
    Ok(unsafe { reduction.deliver(Some(range), call) })
}

/// Starts a reduction that gives each rank a part of the result (`MPI_Ireduce_scatter_block`). The
/// part must fill `range`. Panics if the rank was finalized. If the number of elements is not a
/// multiple of the number of ranks, or of remote ranks on an intercommunicator, all ranks get an
/// error from the call.
///
/// # Errors
/// As for [`Elements::check`].
///
/// # Safety
/// As for [`reduce`].
#[track_caller]
pub(super) unsafe fn reduce_scatter(
    of: &CommunicatorHandle,
    reduction: Reduction,
    range: BufferRange,
) -> Result<impl StartedCall + use<>, core::Error> {
    let groups = of.groups();
    let ranks = of.0.peers().size().max(1);
    // If the elements cannot be divided equally, no parts are passed, and all ranks get an error.
    let is_divisible = reduction.elements.count.is_multiple_of(ranks);
    let (bytes, reduction) = reduction.in_parts(ranks).checked()?;
    let each = bytes.len() / ranks;
    let part = |rank: usize| bytes[rank * each..(rank + 1) * each].to_vec();
    let parts = (0..ranks).filter(|_| is_divisible).map(part).collect();
    let call = match groups {
        Groups::One(one) => CollectiveCall::One(one.reduce_scatter(parts, reduction.combining())),
        Groups::Two(two) => CollectiveCall::two(two.reduce_scatter(parts, reduction.combining())),
    };
    // SAFETY: by the contract of this function.
    Ok(unsafe { reduction.deliver(Some(range), call) })
}

/// Starts an inclusive prefix reduction (`MPI_Iscan`). The result must fill `range`.
///
/// # Errors
/// As for [`Elements::check`].
///
/// # Panics
/// If the communicator is an intercommunicator, or the rank was finalized.
///
/// # Safety
/// As for [`reduce`].
#[track_caller]
pub(super) unsafe fn scan(
    of: &CommunicatorHandle,
    reduction: Reduction,
    range: BufferRange,
) -> Result<impl StartedCall + use<>, core::Error> {
    let communicator = of.core();
    let (bytes, reduction) = reduction.checked()?;
    let call = CollectiveCall::One(communicator.scan(bytes, reduction.combining()));
    // SAFETY: by the contract of this function.
    Ok(unsafe { reduction.deliver(Some(range), call) })
}

/// Starts an exclusive prefix reduction (`MPI_Iexscan`). The result must fill `range`. Rank 0 gets
/// no result, so its range stays unchanged.
///
/// # Errors
/// As for [`Elements::check`].
///
/// # Panics
/// If the communicator is an intercommunicator, or the rank was finalized.
///
/// # Safety
/// As for [`reduce`].
#[track_caller]
pub(super) unsafe fn exclusive_scan(
    of: &CommunicatorHandle,
    reduction: Reduction,
    range: BufferRange,
) -> Result<impl StartedCall + use<>, core::Error> {
    let communicator = of.core();
    let (bytes, reduction) = reduction.checked()?;
    let call = CollectiveCall::One(communicator.exscan(bytes, reduction.combining()));
    // SAFETY: by the contract of this function.
    Ok(unsafe { reduction.deliver(Some(range), call) })
}
