//! Collective calls of all ranks alike.

use super::begin::{self, Reduction};
use super::operation::Operation;
use crate::datatype::traits::{Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut};
use crate::forms::forms;
use crate::place::{Place, count, packed, packed_equally, packed_parts};
use crate::request::{Request, StaticScope, complete};
use crate::topology::Communicator;
use crate::{CallError, done};

/// How many ranks each rank sends to and receives from.
fn ranks<C: Communicator + ?Sized>(of: &C) -> usize {
    usize::try_from(of.target_size()).unwrap_or(0)
}

/// Collective calls of all ranks alike. Each makes the same calls in the same order.
///
/// # Panics
/// All of them, if ranks have made different calls, or brought something else than is to be received: see those of them whose names
/// begin with `try_`, which return what is wrong. Operations keep the order of ranks.
///
/// # Intercommunicators
/// Each group receives what the other one sends, so parts are those of the remote group's ranks.
/// Scans are not defined for two groups, and panic.
pub trait CommunicatorCollectives: Communicator {
    /// Waits until all ranks have called it.
    #[track_caller]
    fn barrier(&self) {
        done(self.try_barrier());
    }

    /// As [`barrier`](Self::barrier), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Mismatch`] and others.
    #[track_caller]
    fn try_barrier(&self) -> Result<(), CallError> {
        complete(begin::barrier(self.as_handle().groups())).map(drop)
    }

    /// As [`barrier`](Self::barrier), as a request.
    #[track_caller]
    fn immediate_barrier(&self) -> Request<'static, ()> {
        // SAFETY: nothing is borrowed.
        unsafe { Request::begin(begin::barrier(self.as_handle().groups()), &(), StaticScope) }
    }

    forms! {
        /// Gives all ranks the elements of all, in the order of ranks.
        fn all_gather_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`] and others.
        try_all_gather_into,
        immediate_all_gather_into<S, R, Sc>(self, sendbuf: &S, recvbuf: &mut R)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized
        {
            let (bytes, places) = (packed(sendbuf), Place::equal(recvbuf, ranks(self)));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::all_gather(self.as_handle(), bytes, places) }
        }
    }

    forms! {
        /// As [`all_gather_into`](Self::all_gather_into), where ranks may have different numbers of
        /// elements.
        fn all_gather_varcount_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`] and others.
        try_all_gather_varcount_into,
        immediate_all_gather_varcount_into<S, R, Sc>(self, sendbuf: &S, recvbuf: &mut R)
        where S: Buffer + ?Sized, R: PartitionedBufferMut + ?Sized
        {
            let (bytes, places) = (packed(sendbuf), Place::parts(recvbuf));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::all_gather(self.as_handle(), bytes, places) }
        }
    }

    forms! {
        /// Gives each rank its part of the elements of all, in the order of ranks.
        fn all_to_all_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`] and others.
        try_all_to_all_into,
        immediate_all_to_all_into<S, R, Sc>(self, sendbuf: &S, recvbuf: &mut R)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized
        {
            let parts = packed_equally(sendbuf, ranks(self));
            let places = Place::equal(recvbuf, ranks(self));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::all_to_all(self.as_handle(), parts, places) }
        }
    }

    forms! {
        /// As [`all_to_all_into`](Self::all_to_all_into), with parts of different lengths.
        fn all_to_all_varcount_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`] and others.
        try_all_to_all_varcount_into,
        immediate_all_to_all_varcount_into<S, R, Sc>(self, sendbuf: &S, recvbuf: &mut R)
        where S: PartitionedBuffer + ?Sized, R: PartitionedBufferMut + ?Sized
        {
            let (parts, places) = (packed_parts(sendbuf), Place::parts(recvbuf));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::all_to_all(self.as_handle(), parts, places) }
        }
    }

    forms! {
        /// Combines the elements of all ranks one by one, and gives the result to all.
        fn all_reduce_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`] and others.
        try_all_reduce_into,
        immediate_all_reduce_into<S, R, O, Sc>(self, sendbuf: &S, recvbuf: &mut R, op: O)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation
        {
            let (reduction, place) = (Reduction::new(sendbuf, &op), Place::of(recvbuf));
            // SAFETY: all forms borrow buffer and operation as long as the call may be polled.
            unsafe { begin::all_reduce(self.as_handle().groups(), reduction, place) }
        }
    }

    forms! {
        /// As [`all_reduce_into`](Self::all_reduce_into), and gives each rank its part of the
        /// result.
        fn reduce_scatter_block_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`] and others.
        try_reduce_scatter_block_into,
        immediate_reduce_scatter_block_into<S, R, O, Sc>(self, sendbuf: &S, recvbuf: &mut R, op: O)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation
        {
            assert_eq!(
                count(recvbuf) * usize::try_from(self.size()).unwrap_or(0),
                count(sendbuf),
                "each rank receives its part of what is sent"
            );
            let (reduction, place) = (Reduction::new(sendbuf, &op), Place::of(recvbuf));
            // SAFETY: all forms borrow buffer and operation as long as the call may be polled.
            unsafe { begin::reduce_scatter(self.as_handle(), reduction, place) }
        }
    }

    forms! {
        /// Combines the elements of all ranks up to the one that calls it.
        fn scan_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`] and others.
        try_scan_into,
        immediate_scan_into<S, R, O, Sc>(self, sendbuf: &S, recvbuf: &mut R, op: O)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation
        {
            let (reduction, place) = (Reduction::new(sendbuf, &op), Place::of(recvbuf));
            // SAFETY: all forms borrow buffer and operation as long as the call may be polled.
            unsafe { begin::scan(self.as_handle(), reduction, place) }
        }
    }

    forms! {
        /// Combines the elements of all ranks before the one that calls it; the first receives
        /// nothing.
        fn exclusive_scan_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`] and others.
        try_exclusive_scan_into,
        immediate_exclusive_scan_into<S, R, O, Sc>(self, sendbuf: &S, recvbuf: &mut R, op: O)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation
        {
            let (reduction, place) = (Reduction::new(sendbuf, &op), Place::of(recvbuf));
            // SAFETY: all forms borrow buffer and operation as long as the call may be polled.
            unsafe { begin::exclusive_scan(self.as_handle(), reduction, place) }
        }
    }
}

impl<C: Communicator + ?Sized> CommunicatorCollectives for C {}
