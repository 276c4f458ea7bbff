//! Collective calls with a root: one rank that gives or gets.

use std::process::Command;

use super::begin::{self, Reduction};
use super::operation::Operation;
use crate::datatype::traits::{Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut};
use crate::place::{Place, packed, packed_equally, packed_parts};
use crate::request::{Request, Scope, complete};
use crate::shared::AsHandle;
use crate::shared::CommunicatorHandle;
use crate::topology::{AsCommunicator, Communicator, InterCommunicator, Process, Rank};
use crate::{CallError, MpiError, done};

/// The communicator of a root.
fn handle<T: Root + ?Sized>(root: &T) -> &CommunicatorHandle {
    root.as_communicator().as_handle()
}

/// How many ranks there are.
fn ranks<T: Root + ?Sized>(root: &T) -> usize {
    usize::try_from(root.as_communicator().target_size()).unwrap_or(0)
}

/// # Panics
/// If the rank that calls this is not the root, or if it is.
#[track_caller]
fn is_root<T: Root + ?Sized>(root: &T, expected: bool) {
    let (rank, root) = (root.as_communicator().rank(), root.root_rank());
    match expected {
        true => assert!(
            rank == root,
            "rank {rank} has made the call of the root, which is rank {root}"
        ),
        false => assert!(
            rank != root,
            "rank {rank} is the root, and has made the call of the others"
        ),
    }
}

/// Collective calls with a root. What the root calls has a name that ends with `_root`.
///
/// # Panics
/// As those of [`CommunicatorCollectives`](super::CommunicatorCollectives); and if the root makes the call of the others, or another
/// one that of the root.
pub trait Root: AsCommunicator {
    /// Which rank is the root.
    fn root_rank(&self) -> Rank;

    /// Gives all ranks the elements of the root.
    #[track_caller]
    fn broadcast_into<Buf: BufferMut + ?Sized>(&self, buffer: &mut Buf) {
        done(self.try_broadcast_into(buffer));
    }

    /// As [`broadcast_into`](Self::broadcast_into), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Mismatch`], [`CallError::Count`] and others.
    #[track_caller]
    fn try_broadcast_into<Buf: BufferMut + ?Sized>(
        &self,
        buffer: &mut Buf,
    ) -> Result<(), CallError> {
        // SAFETY: it is borrowed until this returns.
        complete(unsafe { begin::broadcast(handle(self), self.root_rank(), Place::of(buffer)) })
            .map(drop)
    }

    /// As [`broadcast_into`](Self::broadcast_into), as a request.
    #[track_caller]
    fn immediate_broadcast_into<'a, Buf, Sc>(
        &self,
        scope: Sc,
        buf: &'a mut Buf,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let data: *mut Buf = buf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::broadcast(handle(self), self.root_rank(), Place::of(&mut *data));
            Request::begin(begun, data, scope)
        }
    }

    /// Gives the root the elements of the rank that calls it.
    #[track_caller]
    fn gather_into<S>(&self, sendbuf: &S)
    where
        S: Buffer + ?Sized,
    {
        is_root(self, false);
        // SAFETY: nothing is received.
        done(complete(unsafe {
            begin::gather(handle(self), self.root_rank(), packed(sendbuf), Vec::new())
        }));
    }

    /// As [`gather_into`](Self::gather_into), as a request.
    #[track_caller]
    fn immediate_gather_into<'a, S, Sc>(&self, scope: Sc, sendbuf: &'a S) -> Request<'a, S, Sc>
    where
        S: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, false);
        // SAFETY: nothing is received.
        unsafe {
            Request::begin(
                begin::gather(handle(self), self.root_rank(), packed(sendbuf), Vec::new()),
                sendbuf,
                scope,
            )
        }
    }

    /// Receives the elements of all ranks, in their order.
    #[track_caller]
    fn gather_into_root<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        is_root(self, true);
        // SAFETY: it is borrowed until this returns.
        done(complete(unsafe {
            begin::gather(
                handle(self),
                self.root_rank(),
                packed(sendbuf),
                Place::equal(recvbuf, ranks(self)),
            )
        }));
    }

    /// As [`gather_into_root`](Self::gather_into_root), as a request.
    #[track_caller]
    fn immediate_gather_into_root<'a, S, R, Sc>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, true);
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::gather(
                handle(self),
                self.root_rank(),
                packed(sendbuf),
                Place::equal(&mut *data, ranks(self)),
            );
            Request::begin(begun, data, scope)
        }
    }

    /// As [`gather_into`](Self::gather_into), where ranks may have different numbers of elements.
    #[track_caller]
    fn gather_varcount_into<S>(&self, sendbuf: &S)
    where
        S: Buffer + ?Sized,
    {
        is_root(self, false);
        // SAFETY: nothing is received.
        done(complete(unsafe {
            begin::gather(handle(self), self.root_rank(), packed(sendbuf), Vec::new())
        }));
    }

    /// As [`gather_varcount_into`](Self::gather_varcount_into), as a request.
    #[track_caller]
    fn immediate_gather_varcount_into<'a, Sc, S>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
    ) -> Request<'a, S, Sc>
    where
        S: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, false);
        // SAFETY: nothing is received.
        unsafe {
            Request::begin(
                begin::gather(handle(self), self.root_rank(), packed(sendbuf), Vec::new()),
                sendbuf,
                scope,
            )
        }
    }

    /// As [`gather_into_root`](Self::gather_into_root), where ranks may have different numbers of elements.
    #[track_caller]
    fn gather_varcount_into_root<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        is_root(self, true);
        // SAFETY: it is borrowed until this returns.
        done(complete(unsafe {
            begin::gather(
                handle(self),
                self.root_rank(),
                packed(sendbuf),
                Place::parts(recvbuf),
            )
        }));
    }

    /// As [`gather_varcount_into_root`](Self::gather_varcount_into_root), as a request.
    #[track_caller]
    fn immediate_gather_varcount_into_root<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, true);
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::gather(
                handle(self),
                self.root_rank(),
                packed(sendbuf),
                Place::parts(&mut *data),
            );
            Request::begin(begun, data, scope)
        }
    }

    /// Receives a part of the elements of the root.
    #[track_caller]
    fn scatter_into<R: BufferMut + ?Sized>(&self, recvbuf: &mut R) {
        is_root(self, false);
        // SAFETY: it is borrowed until this returns.
        done(complete(unsafe {
            begin::scatter(handle(self), self.root_rank(), None, Place::of(recvbuf))
        }));
    }

    /// As [`scatter_into`](Self::scatter_into), as a request.
    #[track_caller]
    fn immediate_scatter_into<'a, Sc, R>(&self, scope: Sc, recvbuf: &'a mut R) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, false);
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::scatter(handle(self), self.root_rank(), None, Place::of(&mut *data));
            Request::begin(begun, data, scope)
        }
    }

    /// Gives each rank its part of the elements.
    #[track_caller]
    fn scatter_into_root<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        is_root(self, true);
        // SAFETY: it is borrowed until this returns.
        done(complete(unsafe {
            begin::scatter(
                handle(self),
                self.root_rank(),
                Some(packed_equally(sendbuf, ranks(self))),
                Place::of(recvbuf),
            )
        }));
    }

    /// As [`scatter_into_root`](Self::scatter_into_root), as a request.
    #[track_caller]
    fn immediate_scatter_into_root<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, true);
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::scatter(
                handle(self),
                self.root_rank(),
                Some(packed_equally(sendbuf, ranks(self))),
                Place::of(&mut *data),
            );
            Request::begin(begun, data, scope)
        }
    }

    /// As [`scatter_into`](Self::scatter_into), with parts of different lengths.
    #[track_caller]
    fn scatter_varcount_into<R: BufferMut + ?Sized>(&self, recvbuf: &mut R) {
        is_root(self, false);
        // SAFETY: it is borrowed until this returns.
        done(complete(unsafe {
            begin::scatter(handle(self), self.root_rank(), None, Place::of(recvbuf))
        }));
    }

    /// As [`scatter_varcount_into`](Self::scatter_varcount_into), as a request.
    #[track_caller]
    fn immediate_scatter_varcount_into<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, false);
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::scatter(handle(self), self.root_rank(), None, Place::of(&mut *data));
            Request::begin(begun, data, scope)
        }
    }

    /// As [`scatter_into_root`](Self::scatter_into_root), with parts of different lengths.
    #[track_caller]
    fn scatter_varcount_into_root<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: PartitionedBuffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        is_root(self, true);
        // SAFETY: it is borrowed until this returns.
        done(complete(unsafe {
            begin::scatter(
                handle(self),
                self.root_rank(),
                Some(packed_parts(sendbuf)),
                Place::of(recvbuf),
            )
        }));
    }

    /// As [`scatter_varcount_into_root`](Self::scatter_varcount_into_root), as a request.
    #[track_caller]
    fn immediate_scatter_varcount_into_root<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + PartitionedBuffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, true);
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::scatter(
                handle(self),
                self.root_rank(),
                Some(packed_parts(sendbuf)),
                Place::of(&mut *data),
            );
            Request::begin(begun, data, scope)
        }
    }

    /// Gives the root the elements of the rank that calls it, to be combined with those of all, one by one.
    #[track_caller]
    fn reduce_into<S, O>(&self, sendbuf: &S, op: O)
    where
        S: Buffer + ?Sized,
        O: Operation,
    {
        is_root(self, false);
        // SAFETY: nothing is received.
        done(complete(unsafe {
            begin::reduce(
                handle(self),
                self.root_rank(),
                Reduction::new(sendbuf, &op),
                None,
            )
        }));
    }

    /// As [`reduce_into`](Self::reduce_into), as a request.
    #[track_caller]
    fn immediate_reduce_into<'a, Sc, S, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        op: O,
    ) -> Request<'a, S, Sc>
    where
        S: 'a + Buffer + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        is_root(self, false);
        // SAFETY: nothing is received.
        unsafe {
            Request::begin(
                begin::reduce(
                    handle(self),
                    self.root_rank(),
                    Reduction::new(sendbuf, &op),
                    None,
                ),
                sendbuf,
                scope,
            )
        }
    }

    /// Combines the elements of all ranks one by one.
    #[track_caller]
    fn reduce_into_root<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        is_root(self, true);
        // SAFETY: it is borrowed until this returns.
        done(complete(unsafe {
            begin::reduce(
                handle(self),
                self.root_rank(),
                Reduction::new(sendbuf, &op),
                Some(Place::of(recvbuf)),
            )
        }));
    }

    /// As [`reduce_into_root`](Self::reduce_into_root), as a request.
    #[track_caller]
    fn immediate_reduce_into_root<'a, Sc, S, R, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
        op: O,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        is_root(self, true);
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::reduce(
                handle(self),
                self.root_rank(),
                Reduction::new(sendbuf, &op),
                Some(Place::of(&mut *data)),
            );
            Request::begin(begun, data, scope)
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
