//! Collective calls with a root: one rank that gives or gets.

use std::process::Command;

use super::begin::{self, Reduction};
use super::operation::Operation;
use crate::abi::{RSMPI_PROC_NULL, RSMPI_ROOT};
use crate::datatype::traits::{Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut};
use crate::forms::forms;
use crate::place::{Place, packed, packed_equally, packed_parts};
use crate::shared::AsHandle;
use crate::shared::CommunicatorHandle;
use crate::topology::{AsCommunicator, Communicator, InterCommunicator, LocalRoot, Process, Rank};
use crate::{CallError, MpiError};

/// The communicator of a root.
fn handle<T: Root + ?Sized>(root: &T) -> &CommunicatorHandle {
    root.as_communicator().as_handle()
}

/// How many ranks the root sends to and receives from.
fn ranks<T: Root + ?Sized>(root: &T) -> usize {
    usize::try_from(root.as_communicator().target_size()).unwrap_or(0)
}

/// # Panics
/// If the rank that calls this is not the root, or if it is.
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

/// Collective calls with a root. What the root calls has a name that ends with `_root`.
///
/// # Panics
/// As those of [`CommunicatorCollectives`](super::CommunicatorCollectives); and if the root makes the call of the others, or another
/// one that of the root.
///
/// # Intercommunicators
/// The ranks of one group name the root as a process of the remote group. Those of the other one
/// say which of them it is by a [`LocalRoot`]: it calls as the root, and receives nothing from its
/// own group; the others of its group call as such, and neither send nor receive.
pub trait Root: AsCommunicator {
    /// Which rank is the root.
    fn root_rank(&self) -> Rank;

    forms! {
        /// Gives all ranks the elements of the root.
        fn broadcast_into,
        /// # Errors
        /// [`CallError::Mismatch`], [`CallError::Count`] and others.
        try_broadcast_into,
        immediate_broadcast_into<Buf, Sc>(self, buffer: &mut Buf)
        where Buf: BufferMut + ?Sized
        {
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::broadcast(handle(self), self.root_rank(), Place::of(buffer)) }
        }
    }

    forms! {
        /// Gives the root the elements of the rank that calls it.
        fn gather_into,
        immediate_gather_into<S, Sc>(self, sendbuf: &S)
        where S: Buffer + ?Sized
        {
            is_root(self, false);
            // SAFETY: nothing is received.
            unsafe { begin::gather(handle(self), self.root_rank(), packed(sendbuf), Vec::new()) }
        }
    }

    forms! {
        /// Receives the elements of all ranks, in their order.
        fn gather_into_root,
        immediate_gather_into_root<S, R, Sc>(self, sendbuf: &S, recvbuf: &mut R)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized
        {
            is_root(self, true);
            let (bytes, places) = (packed(sendbuf), Place::equal(recvbuf, ranks(self)));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::gather(handle(self), self.root_rank(), bytes, places) }
        }
    }

    forms! {
        /// As [`gather_into`](Self::gather_into), where ranks may have different numbers of
        /// elements.
        fn gather_varcount_into,
        immediate_gather_varcount_into<Sc, S>(self, sendbuf: &S)
        where S: Buffer + ?Sized
        {
            is_root(self, false);
            // SAFETY: nothing is received.
            unsafe { begin::gather(handle(self), self.root_rank(), packed(sendbuf), Vec::new()) }
        }
    }

    forms! {
        /// As [`gather_into_root`](Self::gather_into_root), where ranks may have different numbers
        /// of elements.
        fn gather_varcount_into_root,
        immediate_gather_varcount_into_root<Sc, S, R>(self, sendbuf: &S, recvbuf: &mut R)
        where S: Buffer + ?Sized, R: PartitionedBufferMut + ?Sized
        {
            is_root(self, true);
            let (bytes, places) = (packed(sendbuf), Place::parts(recvbuf));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::gather(handle(self), self.root_rank(), bytes, places) }
        }
    }

    forms! {
        /// Receives a part of the elements of the root.
        fn scatter_into,
        immediate_scatter_into<Sc, R>(self, recvbuf: &mut R)
        where R: BufferMut + ?Sized
        {
            is_root(self, false);
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::scatter(handle(self), self.root_rank(), None, Place::of(recvbuf)) }
        }
    }

    forms! {
        /// Gives each rank its part of the elements.
        fn scatter_into_root,
        immediate_scatter_into_root<Sc, S, R>(self, sendbuf: &S, recvbuf: &mut R)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized
        {
            is_root(self, true);
            let (parts, place) = (packed_equally(sendbuf, ranks(self)), Place::of(recvbuf));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::scatter(handle(self), self.root_rank(), Some(parts), place) }
        }
    }

    forms! {
        /// As [`scatter_into`](Self::scatter_into), with parts of different lengths.
        fn scatter_varcount_into,
        immediate_scatter_varcount_into<Sc, R>(self, recvbuf: &mut R)
        where R: BufferMut + ?Sized
        {
            is_root(self, false);
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::scatter(handle(self), self.root_rank(), None, Place::of(recvbuf)) }
        }
    }

    forms! {
        /// As [`scatter_into_root`](Self::scatter_into_root), with parts of different lengths.
        fn scatter_varcount_into_root,
        immediate_scatter_varcount_into_root<Sc, S, R>(self, sendbuf: &S, recvbuf: &mut R)
        where S: PartitionedBuffer + ?Sized, R: BufferMut + ?Sized
        {
            is_root(self, true);
            let (parts, place) = (packed_parts(sendbuf), Place::of(recvbuf));
            // SAFETY: all forms borrow the buffer as long as the call may be polled.
            unsafe { begin::scatter(handle(self), self.root_rank(), Some(parts), place) }
        }
    }

    forms! {
        /// Gives the root the elements of the rank that calls it, to be combined with those of all,
        /// one by one.
        fn reduce_into,
        immediate_reduce_into<Sc, S, O>(self, sendbuf: &S, op: O)
        where S: Buffer + ?Sized, O: Operation
        {
            is_root(self, false);
            let reduction = Reduction::new(sendbuf, &op);
            // SAFETY: nothing is received; all forms borrow the operation while the call is polled.
            unsafe { begin::reduce(handle(self), self.root_rank(), reduction, None) }
        }
    }

    forms! {
        /// Combines the elements of all ranks one by one.
        fn reduce_into_root,
        immediate_reduce_into_root<Sc, S, R, O>(self, sendbuf: &S, recvbuf: &mut R, op: O)
        where S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation
        {
            is_root(self, true);
            let (reduction, place) = (Reduction::new(sendbuf, &op), Place::of(recvbuf));
            // SAFETY: all forms borrow buffer and operation as long as the call may be polled.
            unsafe { begin::reduce(handle(self), self.root_rank(), reduction, Some(place)) }
        }
    }

    /// Starts ranks that run a program.
    ///
    /// # Errors
    /// [`MpiError::Spawn`]: none can be started here, where ranks are calls of a function.
    fn spawn(&self, command: &Command, maxprocs: Rank) -> Result<InterCommunicator, MpiError> {
        let _ = command;
        Err(MpiError::Spawn(maxprocs, maxprocs))
    }

    /// As [`spawn`](Self::spawn), of several programs.
    ///
    /// # Errors
    /// As there.
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
