//! Functions of MPI's C interface that libraries call directly: nonblocking messages and
//! reductions, and the functions that complete them.
//!
//! Libraries do not use rsmpi for these calls, because rsmpi's requests borrow their buffers and a
//! library may own its buffers itself. As with all requests of this crate, a buffer is written to
//! only while its request is waited for or tested. All functions return [`MPI_SUCCESS`], because an
//! error ends the rank.

#![allow(non_snake_case)]

use std::future::poll_fn;
use std::os::raw::{c_int, c_void};

use graphmap_runtime::mpi::SendMode;

use crate::abi::{MPI_Comm, MPI_SUCCESS, MPI_Status, RSMPI_PROC_NULL};
use crate::buffer_range::{BufferRange, Content, empty_status, packed_at};
use crate::calls::{communicator, number, rank};
use crate::collective::begin::{Reduction, all_reduce};
use crate::datatype::layout::MPI_Datatype;
use crate::fiber::wait;
use crate::operation::{Elements, MPI_Op};
use crate::point_to_point::source::{sender, tagged};
use crate::request::{
    Done, MPI_Request, Pending, RSMPI_REQUEST_NULL, Receive, Send, StartedCall, complete, owned,
    yield_to_ranks,
};
use crate::{CallError, done};

/// Writes a request for a started call to `request`, and returns [`MPI_SUCCESS`].
///
/// # Safety
/// `request` must be valid for writing.
unsafe fn begin(started: impl StartedCall + 'static, request: *mut MPI_Request) -> c_int {
    // SAFETY: by the contract of this function, `request` is writable.
    unsafe { request.write(Pending::handle(Box::new(started))) };
    MPI_SUCCESS
}

/// Returns the completed call for a message to or from `MPI_PROC_NULL`. Its status has the source
/// `MPI_PROC_NULL`, any tag (-1), and no bytes.
fn null_rank_done() -> Done {
    let status = MPI_Status {
        MPI_SOURCE: RSMPI_PROC_NULL,
        ..empty_status()
    };
    Done(Some(Ok(status)))
}

/// Starts a standard send (`MPI_Isend`). The elements are copied, so the buffer can be changed as
/// soon as the call returns. A send to `MPI_PROC_NULL` has no effect. Writes the handle to
/// `request`, and always returns `MPI_SUCCESS`.
///
/// # Panics
/// If `comm` is null, the rank is finalized, or there is not enough memory. Other errors panic when
/// the request is completed.
///
/// # Safety
/// `comm` must be null or the handle of a live communicator. `buf` must point to `count` elements
/// of `datatype`. `request` must be valid for writing.
#[track_caller]
pub unsafe fn MPI_Isend(
    buf: *const c_void,
    count: c_int,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe {
        let by = communicator(comm).groups().messages();
        if dest == RSMPI_PROC_NULL {
            return begin(null_rank_done(), request);
        }
        let content = Content::at(buf.cast(), number(count), datatype.0);
        let sending = content.send(by, rank(dest), tag, SendMode::Standard);
        begin(Send::new(sending), request)
    }
}

/// Starts a receive (`MPI_Irecv`). The message may be shorter than the buffer. A receive from
/// `MPI_PROC_NULL` has no effect. Writes the handle to `request`, and always returns `MPI_SUCCESS`.
/// The buffer is written to only while the request is waited for or tested.
///
/// # Panics
/// If `comm` is null or the rank is finalized. Other errors panic when the request is completed.
///
/// # Safety
/// `comm` must be null or the handle of a live communicator, and `request` must be valid for
/// writing. `buf` must have space for `count` elements of `datatype`, and must not be accessed
/// otherwise until the request is complete.
#[track_caller]
pub unsafe fn MPI_Irecv(
    buf: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe {
        let by = communicator(comm).groups().messages();
        if source == RSMPI_PROC_NULL {
            return begin(null_rank_done(), request);
        }
        let range = BufferRange::at(buf.cast(), 0, number(count), datatype.0);
        let receiving = by.communicator.recv(sender(by, source), tagged(tag));
        begin(Receive::new(receiving, range, by.offset), request)
    }
}

/// Starts a reduction whose result all ranks receive. `recvbuf` is written to when the returned
/// call completes.
///
/// # Errors
/// [`CallError::Unreadable`] if the operation is not defined for the datatype.
///
/// # Panics
/// If `comm` is null, the rank is finalized, or there is not enough memory.
///
/// # Safety
/// As for [`MPI_Iallreduce`], except for its request.
#[track_caller]
unsafe fn start_allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<impl StartedCall + use<>, CallError> {
    let (count, layout) = (number(count), datatype.0);
    let elements = Elements {
        operation: op.0,
        layout,
        count,
    };
    // SAFETY: by the contract of this function.
    unsafe {
        let bytes = packed_at(sendbuf.cast(), 0, count, layout);
        let range = BufferRange::at(recvbuf.cast(), 0, count, layout);
        let groups = communicator(comm).groups();
        all_reduce(groups, Reduction::of(bytes, elements), range)
    }
}

/// Combines the elements of all ranks, and gives all ranks the result (`MPI_Allreduce`). Blocks
/// until the call is complete, and always returns `MPI_SUCCESS`.
///
/// # Panics
/// If ranks have made different calls or have passed different numbers of elements, or if the
/// operation is not defined for the datatype or panics. If `comm` is null, the rank is finalized,
/// the run ends, there is not enough memory, or the caller is not on the stack of a rank.
///
/// # Safety
/// `comm` must be null or the handle of a live communicator. `sendbuf` must point to `count`
/// elements of `datatype`, and `recvbuf` must have space for as many. The operation must be valid
/// until the call returns.
#[track_caller]
pub unsafe fn MPI_Allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: by the contract of this function.
    let started = unsafe { start_allreduce(sendbuf, recvbuf, count, datatype, op, comm) };
    done(complete(started));
    MPI_SUCCESS
}

/// Starts an [`MPI_Allreduce`] (`MPI_Iallreduce`). The elements are copied, so `sendbuf` can be
/// changed as soon as the call returns. Writes the handle to `request`, and always returns
/// `MPI_SUCCESS`.
///
/// # Panics
/// If `comm` is null, the rank is finalized, or there is not enough memory. Other errors panic when
/// the request is completed.
///
/// # Safety
/// As for [`MPI_Allreduce`]. In addition, until the request is complete, `recvbuf` must not be
/// accessed otherwise and the operation must be valid. `request` must be valid for writing.
#[track_caller]
pub unsafe fn MPI_Iallreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: by the contract of this function.
    unsafe {
        let started = start_allreduce(sendbuf, recvbuf, count, datatype, op, comm);
        begin(started, request)
    }
}

/// Writes a status, unless the pointer is null.
///
/// # Safety
/// `status` must be null or valid for writing.
unsafe fn write_status(status: *mut MPI_Status, result: MPI_Status) {
    if !status.is_null() {
        // SAFETY: the pointer is not null, so it is writable by the contract of this function.
        unsafe { status.write(result) };
    }
}

/// Blocks until a started call is complete, writes its status, and sets the request to
/// `RSMPI_REQUEST_NULL` (`MPI_Wait`). If the request is `RSMPI_REQUEST_NULL` already, writes an
/// empty status and does not block. Always returns `MPI_SUCCESS`.
///
/// # Panics
/// If the call has failed, or if the caller is not on the stack of a rank. The request is then set
/// to `RSMPI_REQUEST_NULL`, too.
///
/// # Safety
/// `request` must be valid for reading and writing. It must contain `RSMPI_REQUEST_NULL` or a
/// started request that is not complete. `status` must be valid for writing, or
/// `RSMPI_STATUS_IGNORE`.
#[track_caller]
pub unsafe fn MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) -> c_int {
    // SAFETY: by the contract of this function, `request` is readable and writable.
    let started = unsafe { request.replace(RSMPI_REQUEST_NULL) };
    let mut result = empty_status();
    if started != RSMPI_REQUEST_NULL {
        // SAFETY: the request was started, and the handle was just replaced, so this is its only
        // owner.
        let pending = unsafe { owned(started) };
        result = done(wait(poll_fn(|context| pending.poll(context))));
    }
    // SAFETY: by the contract of this function.
    unsafe { write_status(status, result) };
    MPI_SUCCESS
}

/// Completes a started call as [`MPI_Wait`] does and writes 1 to `flag`, if that is possible
/// without blocking (`MPI_Test`). Otherwise yields once to the other processes of the scheduler,
/// writes 0 to `flag`, and leaves `request` and `status` unchanged. Always returns `MPI_SUCCESS`.
///
/// # Panics
/// As [`MPI_Wait`].
///
/// # Safety
/// As for [`MPI_Wait`]. In addition, `flag` must be valid for writing.
#[track_caller]
pub unsafe fn MPI_Test(
    request: *mut MPI_Request,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: by the contract of this function, `request` is readable.
    let started = unsafe { *request };
    // SAFETY: a request that is not null was started by this rank, and is valid until it is
    // complete.
    let is_done = started == RSMPI_REQUEST_NULL || unsafe { &*started.0 }.is_done();
    if is_done {
        // SAFETY: by the contract of this function.
        unsafe { MPI_Wait(request, status) };
    } else {
        yield_to_ranks();
    }
    // SAFETY: by the contract of this function, `flag` is writable.
    unsafe { flag.write(c_int::from(is_done)) };
    MPI_SUCCESS
}
