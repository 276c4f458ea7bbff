//! Collective calls of all ranks alike.

use super::begin::{self, Reduction};
use super::operation::Operation;
use crate::datatype::traits::{Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut};
use crate::place::{Place, count, packed, packed_equally, packed_parts};
use crate::request::{Request, Scope, StaticScope, complete};
use crate::topology::Communicator;
use crate::{CallError, done};

/// How many ranks there are.
fn ranks<C: Communicator + ?Sized>(of: &C) -> usize {
    usize::try_from(of.target_size()).unwrap_or(0)
}

/// Collective calls of all ranks alike. Each makes the same calls in the same order.
///
/// # Panics
/// All of them, if ranks have made different calls, or brought something else than is to be received: see those of them whose names
/// begin with `try_`, which return what is wrong. Operations keep the order of ranks.
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
        complete(begin::barrier(self.as_handle())).map(drop)
    }

    /// As [`barrier`](Self::barrier), as a request.
    #[track_caller]
    fn immediate_barrier(&self) -> Request<'static, ()> {
        // SAFETY: nothing is borrowed.
        unsafe { Request::begin(begin::barrier(self.as_handle()), &(), StaticScope) }
    }

    /// Gives all ranks the elements of all, in the order of ranks.
    #[track_caller]
    fn all_gather_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        done(self.try_all_gather_into(sendbuf, recvbuf));
    }

    /// As [`all_gather_into`](Self::all_gather_into), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Mismatch`], [`CallError::Count`] and others.
    #[track_caller]
    fn try_all_gather_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), CallError>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        // SAFETY: it is borrowed until this returns.
        complete(unsafe {
            begin::all_gather(
                self.as_handle(),
                packed(sendbuf),
                Place::equal(recvbuf, ranks(self)),
            )
        })
        .map(drop)
    }

    /// As [`all_gather_into`](Self::all_gather_into), as a request.
    #[track_caller]
    fn immediate_all_gather_into<'a, S, R, Sc>(
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
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::all_gather(
                self.as_handle(),
                packed(sendbuf),
                Place::equal(&mut *data, ranks(self)),
            );
            Request::begin(begun, data, scope)
        }
    }

    /// As [`all_gather_into`](Self::all_gather_into), where ranks may have different numbers of elements.
    #[track_caller]
    fn all_gather_varcount_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        done(self.try_all_gather_varcount_into(sendbuf, recvbuf));
    }

    /// As [`all_gather_varcount_into`](Self::all_gather_varcount_into), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Mismatch`], [`CallError::Count`] and others.
    #[track_caller]
    fn try_all_gather_varcount_into<S, R>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
    ) -> Result<(), CallError>
    where
        S: Buffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        // SAFETY: it is borrowed until this returns.
        complete(unsafe {
            begin::all_gather(self.as_handle(), packed(sendbuf), Place::parts(recvbuf))
        })
        .map(drop)
    }

    /// As [`all_gather_varcount_into`](Self::all_gather_varcount_into), as a request.
    #[track_caller]
    fn immediate_all_gather_varcount_into<'a, S, R, Sc>(
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
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun =
                begin::all_gather(self.as_handle(), packed(sendbuf), Place::parts(&mut *data));
            Request::begin(begun, data, scope)
        }
    }

    /// Gives each rank its part of the elements of all, in the order of ranks.
    #[track_caller]
    fn all_to_all_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        done(self.try_all_to_all_into(sendbuf, recvbuf));
    }

    /// As [`all_to_all_into`](Self::all_to_all_into), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Mismatch`], [`CallError::Count`] and others.
    #[track_caller]
    fn try_all_to_all_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), CallError>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        // SAFETY: it is borrowed until this returns.
        complete(unsafe {
            begin::all_to_all(
                self.as_handle(),
                packed_equally(sendbuf, ranks(self)),
                Place::equal(recvbuf, ranks(self)),
            )
        })
        .map(drop)
    }

    /// As [`all_to_all_into`](Self::all_to_all_into), as a request.
    #[track_caller]
    fn immediate_all_to_all_into<'a, S, R, Sc>(
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
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::all_to_all(
                self.as_handle(),
                packed_equally(sendbuf, ranks(self)),
                Place::equal(&mut *data, ranks(self)),
            );
            Request::begin(begun, data, scope)
        }
    }

    /// As [`all_to_all_into`](Self::all_to_all_into), with parts of different lengths.
    #[track_caller]
    fn all_to_all_varcount_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: PartitionedBuffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        done(self.try_all_to_all_varcount_into(sendbuf, recvbuf));
    }

    /// As [`all_to_all_varcount_into`](Self::all_to_all_varcount_into), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Mismatch`], [`CallError::Count`] and others.
    #[track_caller]
    fn try_all_to_all_varcount_into<S, R>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
    ) -> Result<(), CallError>
    where
        S: PartitionedBuffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        // SAFETY: it is borrowed until this returns.
        complete(unsafe {
            begin::all_to_all(
                self.as_handle(),
                packed_parts(sendbuf),
                Place::parts(recvbuf),
            )
        })
        .map(drop)
    }

    /// As [`all_to_all_varcount_into`](Self::all_to_all_varcount_into), as a request.
    #[track_caller]
    fn immediate_all_to_all_varcount_into<'a, S, R, Sc>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + PartitionedBuffer + ?Sized,
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::all_to_all(
                self.as_handle(),
                packed_parts(sendbuf),
                Place::parts(&mut *data),
            );
            Request::begin(begun, data, scope)
        }
    }

    /// Combines the elements of all ranks one by one, and gives the result to all.
    #[track_caller]
    fn all_reduce_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        done(self.try_all_reduce_into(sendbuf, recvbuf, op));
    }

    /// As [`all_reduce_into`](Self::all_reduce_into), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Mismatch`], [`CallError::Count`] and others.
    #[track_caller]
    fn try_all_reduce_into<S, R, O>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
        op: O,
    ) -> Result<(), CallError>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        // SAFETY: it is borrowed until this returns.
        complete(unsafe {
            begin::all_reduce(
                self.as_handle().core(),
                Reduction::new(sendbuf, &op),
                Place::of(recvbuf),
            )
        })
        .map(drop)
    }

    /// As [`all_reduce_into`](Self::all_reduce_into), as a request.
    #[track_caller]
    fn immediate_all_reduce_into<'a, S, R, O, Sc>(
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
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::all_reduce(
                self.as_handle().core(),
                Reduction::new(sendbuf, &op),
                Place::of(&mut *data),
            );
            Request::begin(begun, data, scope)
        }
    }

    /// As [`all_reduce_into`](Self::all_reduce_into), and gives each rank its part of the result.
    #[track_caller]
    fn reduce_scatter_block_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        done(self.try_reduce_scatter_block_into(sendbuf, recvbuf, op));
    }

    /// As [`reduce_scatter_block_into`](Self::reduce_scatter_block_into), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Mismatch`], [`CallError::Count`] and others.
    #[track_caller]
    fn try_reduce_scatter_block_into<S, R, O>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
        op: O,
    ) -> Result<(), CallError>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        assert_eq!(
            count(recvbuf) * ranks(self),
            count(sendbuf),
            "each rank receives its part of what is sent"
        );
        // SAFETY: it is borrowed until this returns.
        complete(unsafe {
            begin::reduce_scatter(
                self.as_handle(),
                Reduction::new(sendbuf, &op),
                Place::of(recvbuf),
            )
        })
        .map(drop)
    }

    /// As [`reduce_scatter_block_into`](Self::reduce_scatter_block_into), as a request.
    #[track_caller]
    fn immediate_reduce_scatter_block_into<'a, S, R, O, Sc>(
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
        assert_eq!(
            count(recvbuf) * ranks(self),
            count(sendbuf),
            "each rank receives its part of what is sent"
        );
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::reduce_scatter(
                self.as_handle(),
                Reduction::new(sendbuf, &op),
                Place::of(&mut *data),
            );
            Request::begin(begun, data, scope)
        }
    }

    /// Combines the elements of all ranks up to the one that calls it.
    #[track_caller]
    fn scan_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        done(self.try_scan_into(sendbuf, recvbuf, op));
    }

    /// As [`scan_into`](Self::scan_into), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Mismatch`], [`CallError::Count`] and others.
    #[track_caller]
    fn try_scan_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O) -> Result<(), CallError>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        // SAFETY: it is borrowed until this returns.
        complete(unsafe {
            begin::scan(
                self.as_handle(),
                Reduction::new(sendbuf, &op),
                Place::of(recvbuf),
            )
        })
        .map(drop)
    }

    /// As [`scan_into`](Self::scan_into), as a request.
    #[track_caller]
    fn immediate_scan_into<'a, S, R, O, Sc>(
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
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::scan(
                self.as_handle(),
                Reduction::new(sendbuf, &op),
                Place::of(&mut *data),
            );
            Request::begin(begun, data, scope)
        }
    }

    /// Combines the elements of all ranks before the one that calls it; the first receives nothing.
    #[track_caller]
    fn exclusive_scan_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        done(self.try_exclusive_scan_into(sendbuf, recvbuf, op));
    }

    /// As [`exclusive_scan_into`](Self::exclusive_scan_into), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Mismatch`], [`CallError::Count`] and others.
    #[track_caller]
    fn try_exclusive_scan_into<S, R, O>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
        op: O,
    ) -> Result<(), CallError>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        // SAFETY: it is borrowed until this returns.
        complete(unsafe {
            begin::exclusive_scan(
                self.as_handle(),
                Reduction::new(sendbuf, &op),
                Place::of(recvbuf),
            )
        })
        .map(drop)
    }

    /// As [`exclusive_scan_into`](Self::exclusive_scan_into), as a request.
    #[track_caller]
    fn immediate_exclusive_scan_into<'a, S, R, O, Sc>(
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
        let data: *mut R = recvbuf;
        // SAFETY: it is borrowed as long as `'a`.
        unsafe {
            let begun = begin::exclusive_scan(
                self.as_handle(),
                Reduction::new(sendbuf, &op),
                Place::of(&mut *data),
            );
            Request::begin(begun, data, scope)
        }
    }
}

impl<C: Communicator + ?Sized> CommunicatorCollectives for C {}
