//! Collective calls without a root.

use super::begin::{self, Reduction};
use super::operation::Operation;
use crate::buffer_range::{BufferRange, count, packed, packed_equally, packed_parts};
use crate::datatype::traits::{Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut};
use crate::forms::forms;
use crate::request::{Request, StaticScope, complete};
use crate::topology::Communicator;
use crate::{CallError, done};

/// Returns the number of ranks that each rank sends to and receives from: the ranks of the remote
/// group if there are two groups.
fn ranks<C: Communicator + ?Sized>(of: &C) -> usize {
    usize::try_from(of.target_size()).unwrap_or(0)
}

/// Collective calls without a root. All ranks must make the same calls in the same order.
///
/// Reductions apply their operation in the order of ranks.
///
/// # Errors
/// The functions whose names begin with `try_` return these errors. A request returns them when it
/// is completed.
///
/// * [`CallError::Mismatch`] if ranks make different calls.
/// * [`CallError::Count`] if a rank receives too few elements, or if a buffer does not have one
///   part for each rank.
/// * [`CallError::Truncated`] if a rank receives too many elements.
/// * [`CallError::Unreadable`] if an operation is not defined for the type of the elements, or if a
///   received byte is not a valid `bool`.
/// * [`CallError::Over`] if the run has ended.
///
/// # Panics
/// The other functions panic with these errors. All functions panic if the rank was finalized, and
/// if the caller is not on the stack of a rank. A call that waits also panics if the caller is
/// inside an operation of a reduction or the poll of a future, or would have to block while its
/// stack is unwinding. A reduction panics if ranks pass different numbers of elements, or if an
/// operation of the program panics.
///
/// # Intercommunicators
/// Each group receives the data of the other group, so parts belong to the ranks of the remote
/// group. Scans are not defined for intercommunicators, and panic.
pub trait CommunicatorCollectives: Communicator {
    /// Blocks until all ranks have called it (`MPI_Barrier`). On an intercommunicator, these are
    /// the ranks of both groups.
    ///
    /// # Panics
    /// On an error: see [`try_barrier`](Self::try_barrier). Also if the rank was finalized, or if
    /// the caller is not on the stack of a rank.
    #[track_caller]
    fn barrier(&self) {
        done(self.try_barrier());
    }

    /// Blocks as [`barrier`](Self::barrier) does, but returns errors.
    ///
    /// # Errors
    /// [`CallError::Mismatch`] if ranks make different calls, or [`CallError::Over`] if the run
    /// ends.
    ///
    /// # Panics
    /// If the rank was finalized, or if the caller is not on the stack of a rank.
    #[track_caller]
    fn try_barrier(&self) -> Result<(), CallError> {
        complete(begin::barrier(self.as_handle().groups())).map(drop)
    }

    /// Starts a [`barrier`](Self::barrier) and returns its request, without blocking
    /// (`MPI_Ibarrier`). Panics if the rank was finalized.
    #[track_caller]
    fn immediate_barrier(&self) -> Request<'static, ()> {
        // SAFETY: a barrier borrows no data.
        unsafe { Request::begin(begin::barrier(self.as_handle().groups()), &(), StaticScope) }
    }

    forms! {
        /// Gathers the elements of all ranks, in the order of ranks, and gives them to all
        /// (`MPI_Allgather`). The receive buffer has an equal part for each rank. If its length is
        /// not a multiple of the number of ranks, its last elements stay unchanged.
        ///
        /// # Panics
        /// On an error: see [`try_all_gather_into`](Self::try_all_gather_into). Also if the rank
        /// was finalized, or if the caller is not on the stack of a rank.
        fn all_gather_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`], [`CallError::Truncated`],
        /// [`CallError::Unreadable`] or [`CallError::Over`], as described for
        /// [`CommunicatorCollectives`].
        try_all_gather_into,
        immediate_all_gather_into<S, R, Sc>(self, sendbuf: &S, recvbuf: &mut R)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized
        {
            let (bytes, ranges) = (packed(sendbuf), BufferRange::equal(recvbuf, ranks(self)));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::all_gather(self.as_handle(), bytes, ranges) }
        }
    }

    forms! {
        /// Gathers as [`all_gather_into`](Self::all_gather_into) does, but ranks may pass different
        /// numbers of elements (`MPI_Allgatherv`). The receive buffer has a part for each rank.
        ///
        /// # Panics
        /// On an error: see [`try_all_gather_varcount_into`](Self::try_all_gather_varcount_into).
        /// Also if the rank was finalized, or if the caller is not on the stack of a rank.
        fn all_gather_varcount_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`], [`CallError::Truncated`],
        /// [`CallError::Unreadable`] or [`CallError::Over`], as described for
        /// [`CommunicatorCollectives`].
        try_all_gather_varcount_into,
        immediate_all_gather_varcount_into<S, R, Sc>(self, sendbuf: &S, recvbuf: &mut R)
        where S: Buffer + ?Sized, R: PartitionedBufferMut + ?Sized
        {
            let (bytes, ranges) = (packed(sendbuf), BufferRange::subranges(recvbuf));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::all_gather(self.as_handle(), bytes, ranges) }
        }
    }

    forms! {
        /// Sends a part of the elements to each rank, and receives a part from each, in the order
        /// of ranks (`MPI_Alltoall`). All parts of a buffer are equal in length. If the length of a
        /// buffer is not a multiple of the number of ranks, its last elements are neither sent nor
        /// changed.
        ///
        /// # Panics
        /// On an error: see [`try_all_to_all_into`](Self::try_all_to_all_into). Also if the rank
        /// was finalized, or if the caller is not on the stack of a rank.
        fn all_to_all_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`], [`CallError::Truncated`],
        /// [`CallError::Unreadable`] or [`CallError::Over`], as described for
        /// [`CommunicatorCollectives`].
        try_all_to_all_into,
        immediate_all_to_all_into<S, R, Sc>(self, sendbuf: &S, recvbuf: &mut R)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized
        {
            let parts = packed_equally(sendbuf, ranks(self));
            let ranges = BufferRange::equal(recvbuf, ranks(self));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::all_to_all(self.as_handle(), parts, ranges) }
        }
    }

    forms! {
        /// Exchanges parts as [`all_to_all_into`](Self::all_to_all_into) does, but parts may differ
        /// in length (`MPI_Alltoallv`).
        ///
        /// # Panics
        /// On an error: see [`try_all_to_all_varcount_into`](Self::try_all_to_all_varcount_into).
        /// Also if the rank was finalized, or if the caller is not on the stack of a rank.
        fn all_to_all_varcount_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`], [`CallError::Truncated`],
        /// [`CallError::Unreadable`] or [`CallError::Over`], as described for
        /// [`CommunicatorCollectives`].
        try_all_to_all_varcount_into,
        immediate_all_to_all_varcount_into<S, R, Sc>(self, sendbuf: &S, recvbuf: &mut R)
        where S: PartitionedBuffer + ?Sized, R: PartitionedBufferMut + ?Sized
        {
            let (parts, ranges) = (packed_parts(sendbuf), BufferRange::subranges(recvbuf));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::all_to_all(self.as_handle(), parts, ranges) }
        }
    }

    forms! {
        /// Combines the elements of all ranks, and gives the result to all (`MPI_Allreduce`). The
        /// first elements of the ranks are combined with each other, then the second ones, and so
        /// on.
        ///
        /// # Panics
        /// On an error: see [`try_all_reduce_into`](Self::try_all_reduce_into). Also if the rank
        /// was finalized, or if the caller is not on the stack of a rank. Also if ranks pass
        /// different numbers of elements, or if an operation of the program panics.
        fn all_reduce_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`], [`CallError::Truncated`],
        /// [`CallError::Unreadable`] or [`CallError::Over`], as described for
        /// [`CommunicatorCollectives`].
        try_all_reduce_into,
        immediate_all_reduce_into<S, R, O, Sc>(self, sendbuf: &S, recvbuf: &mut R, op: O)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation
        {
            let (reduction, range) = (Reduction::new(sendbuf, &op), BufferRange::of(recvbuf));
            // SAFETY: all forms borrow buffer and operation as long as the call may be polled.
            unsafe { begin::all_reduce(self.as_handle().groups(), reduction, range) }
        }
    }

    forms! {
        /// Combines as [`all_reduce_into`](Self::all_reduce_into) does, but gives each rank only
        /// its part of the result (`MPI_Reduce_scatter_block`). All parts are equal in length, and
        /// in the order of ranks.
        ///
        /// # Panics
        /// The form without `try_` panics on an error. All three forms panic if the rank was
        /// finalized. They also panic at once if the number of received elements times the number
        /// of ranks is not the number of sent elements. With an intercommunicator, these are the
        /// ranks of the local group.
        fn reduce_scatter_block_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`], [`CallError::Truncated`],
        /// [`CallError::Unreadable`] or [`CallError::Over`], as described for
        /// [`CommunicatorCollectives`].
        try_reduce_scatter_block_into,
        immediate_reduce_scatter_block_into<S, R, O, Sc>(self, sendbuf: &S, recvbuf: &mut R, op: O)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation
        {
            assert_eq!(
                count(recvbuf) * usize::try_from(self.size()).unwrap_or(0),
                count(sendbuf),
                "each rank receives its part of what is sent"
            );
            let (reduction, range) = (Reduction::new(sendbuf, &op), BufferRange::of(recvbuf));
            // SAFETY: all forms borrow buffer and operation as long as the call may be polled.
            unsafe { begin::reduce_scatter(self.as_handle(), reduction, range) }
        }
    }

    forms! {
        /// Combines the elements of all ranks up to and including this one (`MPI_Scan`), one by one
        /// as [`all_reduce_into`](Self::all_reduce_into) does.
        ///
        /// # Panics
        /// On an error: see [`try_scan_into`](Self::try_scan_into). Also if the rank was finalized,
        /// or if the caller is not on the stack of a rank. Also if ranks pass different numbers of
        /// elements, or if an operation of the program panics. Also if the communicator is an
        /// intercommunicator.
        fn scan_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`], [`CallError::Truncated`],
        /// [`CallError::Unreadable`] or [`CallError::Over`], as described for
        /// [`CommunicatorCollectives`].
        try_scan_into,
        immediate_scan_into<S, R, O, Sc>(self, sendbuf: &S, recvbuf: &mut R, op: O)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation
        {
            let (reduction, range) = (Reduction::new(sendbuf, &op), BufferRange::of(recvbuf));
            // SAFETY: all forms borrow buffer and operation as long as the call may be polled.
            unsafe { begin::scan(self.as_handle(), reduction, range) }
        }
    }

    forms! {
        /// Combines the elements of all ranks before this one (`MPI_Exscan`), one by one as
        /// [`all_reduce_into`](Self::all_reduce_into) does. The receive buffer of the first rank
        /// stays unchanged.
        ///
        /// # Panics
        /// On an error: see [`try_exclusive_scan_into`](Self::try_exclusive_scan_into). Also if the
        /// rank was finalized, or if the caller is not on the stack of a rank. Also if ranks pass
        /// different numbers of elements, or if an operation of the program panics. Also if the
        /// communicator is an intercommunicator.
        fn exclusive_scan_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`], [`CallError::Truncated`],
        /// [`CallError::Unreadable`] or [`CallError::Over`], as described for
        /// [`CommunicatorCollectives`].
        try_exclusive_scan_into,
        immediate_exclusive_scan_into<S, R, O, Sc>(self, sendbuf: &S, recvbuf: &mut R, op: O)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation
        {
            let (reduction, range) = (Reduction::new(sendbuf, &op), BufferRange::of(recvbuf));
            // SAFETY: all forms borrow buffer and operation as long as the call may be polled.
            unsafe { begin::exclusive_scan(self.as_handle(), reduction, range) }
        }
    }
}

impl<C: Communicator + ?Sized> CommunicatorCollectives for C {}
