//! Collective calls with a root: one rank that sends to all ranks or receives from all.

use std::process::Command;

use super::begin::{self, Reduction};
use super::operation::Operation;
use crate::abi::{RSMPI_PROC_NULL, RSMPI_ROOT};
use crate::buffer_range::{BufferRange, packed, packed_equally, packed_parts};
use crate::datatype::traits::{Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut};
use crate::forms::forms;
use crate::shared::AsHandle;
use crate::shared::CommunicatorHandle;
use crate::topology::{AsCommunicator, Communicator, InterCommunicator, LocalRoot, Process, Rank};
use crate::{CallError, MpiError};

/// Returns the handle of the communicator of a root.
fn handle<T: Root + ?Sized>(root: &T) -> &CommunicatorHandle {
    root.as_communicator().as_handle()
}

/// Returns the number of ranks that the root sends to and receives from: the ranks of the remote
/// group if there are two groups.
fn ranks<T: Root + ?Sized>(root: &T) -> usize {
    usize::try_from(root.as_communicator().target_size()).unwrap_or(0)
}

/// Checks whether the calling rank is the root. Returns normally if that is `expected`.
///
/// # Panics
/// If the result is not `expected`.
#[track_caller]
fn is_root<T: Root + ?Sized>(root: &T, expected: bool) {
    let (of, root) = (root.as_communicator(), root.root_rank());
    let rank = of.rank();
    let is_root = match of.as_handle().0.remote() {
        Some(_) => root == RSMPI_ROOT,
        None => rank == root,
    };
    match expected {
        true => assert!(
            is_root,
            "rank {rank} called the function of the root, but the root is rank {root}"
        ),
        false => assert!(
            !is_root,
            "rank {rank} is the root, but called the function of the other ranks"
        ),
    }
}

/// Collective calls with a root. The root calls the functions whose names end in `_root`, and the
/// other ranks call the others.
///
/// # Errors
/// As for [`CommunicatorCollectives`](super::CommunicatorCollectives). On an intercommunicator,
/// also [`CallError::Rank`] if the root does not exist, and [`CallError::Group`] if the ranks do
/// not agree on the root.
///
/// # Panics
/// As the functions of [`CommunicatorCollectives`](super::CommunicatorCollectives). Also if the
/// root calls a function of the other ranks, or another rank calls a function of the root. The
/// immediate forms, too, panic at once on such a call.
///
/// # Intercommunicators
/// The ranks of one group name the root as a process of the remote group. The ranks of the group of
/// the root use a [`LocalRoot`], which says whether the calling rank is the root. The root makes
/// the call of the root, and receives no data from its own group. The other ranks of its group make
/// the other call, and neither send nor receive.
pub trait Root: AsCommunicator {
    /// Returns the rank of the root. On an intercommunicator, this is a rank of the remote group,
    /// -3 for the calling rank, or -1 for another rank of the local group.
    fn root_rank(&self) -> Rank;

    forms! {
        /// Sends the elements of the root to all ranks (`MPI_Bcast`). The root and the other ranks
        /// call the same function. At the root, the buffer has the elements, and it stays
        /// unchanged. The elements must fill the buffer of each other rank.
        ///
        /// # Panics
        /// On an error: see [`try_broadcast_into`](Self::try_broadcast_into). Also if the rank was
        /// finalized, or if the caller is not on the stack of a rank.
        fn broadcast_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`], [`CallError::Truncated`],
        /// [`CallError::Unreadable`] or [`CallError::Over`], as described for [`Root`].
        try_broadcast_into,
        immediate_broadcast_into<Buf, Sc>(self, buffer: &mut Buf)
        where Buf: BufferMut + ?Sized
        {
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::broadcast(handle(self), self.root_rank(), BufferRange::of(buffer)) }
        }
    }

    forms! {
        /// Sends the elements of this rank to the root (`MPI_Gather`).
        ///
        /// # Panics
        /// If this rank is the root, or on an error: see [`Root`]. Also if the rank was finalized,
        /// or if the caller is not on the stack of a rank.
        fn gather_into,
        immediate_gather_into<S, Sc>(self, sendbuf: &S)
        where S: Buffer + ?Sized
        {
            is_root(self, false);
            // SAFETY: there is no receive buffer.
            unsafe { begin::gather(handle(self), self.root_rank(), packed(sendbuf), Vec::new()) }
        }
    }

    forms! {
        /// Receives the elements of all ranks, in the order of ranks (`MPI_Gather` at the root).
        /// The receive buffer has an equal part for each rank. If its length is not a multiple of
        /// the number of ranks, its last elements stay unchanged.
        ///
        /// # Panics
        /// If this rank is not the root, or on an error: see [`Root`]. Also if the rank was
        /// finalized, or if the caller is not on the stack of a rank.
        fn gather_into_root,
        immediate_gather_into_root<S, R, Sc>(self, sendbuf: &S, recvbuf: &mut R)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized
        {
            is_root(self, true);
            let (bytes, ranges) = (packed(sendbuf), BufferRange::equal(recvbuf, ranks(self)));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::gather(handle(self), self.root_rank(), bytes, ranges) }
        }
    }

    forms! {
        /// Sends as [`gather_into`](Self::gather_into) does, but ranks may send different numbers
        /// of elements (`MPI_Gatherv`).
        ///
        /// # Panics
        /// If this rank is the root, or on an error: see [`Root`]. Also if the rank was finalized,
        /// or if the caller is not on the stack of a rank.
        fn gather_varcount_into,
        immediate_gather_varcount_into<Sc, S>(self, sendbuf: &S)
        where S: Buffer + ?Sized
        {
            is_root(self, false);
            // SAFETY: there is no receive buffer.
            unsafe { begin::gather(handle(self), self.root_rank(), packed(sendbuf), Vec::new()) }
        }
    }

    forms! {
        /// Receives as [`gather_into_root`](Self::gather_into_root) does, but ranks may send
        /// different numbers of elements. The receive buffer has a part for each rank, which the
        /// elements of that rank must fill.
        ///
        /// # Panics
        /// If this rank is not the root, or on an error: see [`Root`]. Also if the rank was
        /// finalized, or if the caller is not on the stack of a rank.
        fn gather_varcount_into_root,
        immediate_gather_varcount_into_root<Sc, S, R>(self, sendbuf: &S, recvbuf: &mut R)
        where S: Buffer + ?Sized, R: PartitionedBufferMut + ?Sized
        {
            is_root(self, true);
            let (bytes, ranges) = (packed(sendbuf), BufferRange::subranges(recvbuf));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::gather(handle(self), self.root_rank(), bytes, ranges) }
        }
    }

    forms! {
        /// Receives a part of the elements of the root (`MPI_Scatter`). The part must fill the
        /// buffer.
        ///
        /// # Panics
        /// If this rank is the root, or on an error: see [`Root`]. Also if the rank was finalized,
        /// or if the caller is not on the stack of a rank.
        fn scatter_into,
        immediate_scatter_into<Sc, R>(self, recvbuf: &mut R)
        where R: BufferMut + ?Sized
        {
            is_root(self, false);
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::scatter(handle(self), self.root_rank(), None, BufferRange::of(recvbuf)) }
        }
    }

    forms! {
        /// Sends each rank its part of the elements (`MPI_Scatter` at the root), and receives the
        /// part of the root. All parts are equal in length. If the number of elements is not a
        /// multiple of the number of ranks, the last elements are not sent.
        ///
        /// # Panics
        /// If this rank is not the root, or on an error: see [`Root`]. Also if the rank was
        /// finalized, or if the caller is not on the stack of a rank.
        fn scatter_into_root,
        immediate_scatter_into_root<Sc, S, R>(self, sendbuf: &S, recvbuf: &mut R)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized
        {
            is_root(self, true);
            let (parts, range) = (packed_equally(sendbuf, ranks(self)), BufferRange::of(recvbuf));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::scatter(handle(self), self.root_rank(), Some(parts), range) }
        }
    }

    forms! {
        /// Receives as [`scatter_into`](Self::scatter_into) does, but parts may differ in length
        /// (`MPI_Scatterv`).
        ///
        /// # Panics
        /// If this rank is the root, or on an error: see [`Root`]. Also if the rank was finalized,
        /// or if the caller is not on the stack of a rank.
        fn scatter_varcount_into,
        immediate_scatter_varcount_into<Sc, R>(self, recvbuf: &mut R)
        where R: BufferMut + ?Sized
        {
            is_root(self, false);
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::scatter(handle(self), self.root_rank(), None, BufferRange::of(recvbuf)) }
        }
    }

    forms! {
        /// Sends as [`scatter_into_root`](Self::scatter_into_root) does, but parts may differ in
        /// length.
        ///
        /// # Panics
        /// If this rank is not the root, or on an error: see [`Root`]. Also if the rank was
        /// finalized, or if the caller is not on the stack of a rank.
        fn scatter_varcount_into_root,
        immediate_scatter_varcount_into_root<Sc, S, R>(self, sendbuf: &S, recvbuf: &mut R)
        where S: PartitionedBuffer + ?Sized, R: BufferMut + ?Sized
        {
            is_root(self, true);
            let (parts, range) = (packed_parts(sendbuf), BufferRange::of(recvbuf));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::scatter(handle(self), self.root_rank(), Some(parts), range) }
        }
    }

    forms! {
        /// Sends the elements of this rank to the root, which receives them combined with the
        /// elements of the other ranks (`MPI_Reduce`).
        ///
        /// # Panics
        /// If this rank is the root, or on an error: see [`Root`]. Also if the rank was finalized,
        /// or if the caller is not on the stack of a rank.
        fn reduce_into,
        immediate_reduce_into<Sc, S, O>(self, sendbuf: &S, op: O)
        where S: Buffer + ?Sized, O: Operation
        {
            is_root(self, false);
            let reduction = Reduction::new(sendbuf, &op);
            // SAFETY: there is no receive buffer. All forms borrow the operation as long as the
            // call may be polled.
            unsafe { begin::reduce(handle(self), self.root_rank(), reduction, None) }
        }
    }

    forms! {
        /// Combines the elements of all ranks, and receives the result (`MPI_Reduce` at the root).
        ///
        /// # Panics
        /// If this rank is not the root, or on an error: see [`Root`]. Also if the rank was
        /// finalized, or if the caller is not on the stack of a rank.
        fn reduce_into_root,
        immediate_reduce_into_root<Sc, S, R, O>(self, sendbuf: &S, recvbuf: &mut R, op: O)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation
        {
            is_root(self, true);
            let (reduction, range) = (Reduction::new(sendbuf, &op), BufferRange::of(recvbuf));
            // SAFETY: all forms borrow buffer and operation as long as the call may be polled.
            unsafe { begin::reduce(handle(self), self.root_rank(), reduction, Some(range)) }
        }
    }

    /// Returns an error, because ranks that run a program cannot be started (`MPI_Comm_spawn`):
    /// ranks are calls of a function.
    ///
    /// # Errors
    /// Always [`MpiError::Spawn`] with `maxprocs` failed ranks.
    fn spawn(&self, command: &Command, maxprocs: Rank) -> Result<InterCommunicator, MpiError> {
        let _ = command;
        Err(MpiError::Spawn(maxprocs, maxprocs))
    }

    /// Returns an error, because ranks that run programs cannot be started
    /// (`MPI_Comm_spawn_multiple`).
    ///
    /// # Errors
    /// Always [`MpiError::Spawn`] with the sum of `maxprocs` as the number of failed ranks. The sum
    /// must not exceed 2^31 - 1.
    fn spawn_multiple(
        &self,
        commands: &[Command],
        maxprocs: &[Rank],
    ) -> Result<InterCommunicator, MpiError> {
        let _ = commands;
        let ranks = maxprocs.iter().sum();
        Err(MpiError::Spawn(ranks, ranks))
    }
}

impl Root for Process<'_> {
    fn root_rank(&self) -> Rank {
        self.rank()
    }
}

impl Root for LocalRoot<'_> {
    fn root_rank(&self) -> Rank {
        match self {
            LocalRoot::This(_) => RSMPI_ROOT,
            LocalRoot::Other(_) => RSMPI_PROC_NULL,
        }
    }
}
