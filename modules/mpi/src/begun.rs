//! Functions of MPI's C interface that libraries call past rsmpi, as its requests borrow what theirs own: messages and reductions that
//! are begun, and what waits for them.
//!
//! As with all requests here, nothing is written into a buffer but by who waits for it or tests it. What is wrong ends the rank, so what
//! they return is always [`MPI_SUCCESS`].

#![allow(non_snake_case)]

use std::future::poll_fn;
use std::os::raw::{c_int, c_void};

use graphmap_runtime::mpi::SendMode;

use crate::abi::{MPI_Comm, MPI_SUCCESS, MPI_Status, RSMPI_PROC_NULL};
use crate::calls::{communicator, number, rank};
use crate::collective::begin::{Reduction, all_reduce};
use crate::datatype::layout::MPI_Datatype;
use crate::fiber::wait;
use crate::operation::{Elements, MPI_Op};
use crate::place::{Content, Place, empty_status, packed_at};
use crate::point_to_point::source::{sender, tagged};
use crate::request::{
    Begun, Done, MPI_Request, Pending, RSMPI_REQUEST_NULL, Receive, Send, complete, give_way, owned,
};
use crate::{CallError, done};

/// Gives a call that was begun to whoever is to wait for it.
///
/// # Safety
/// The request has to be writable.
unsafe fn begin(begun: impl Begun + 'static, request: *mut MPI_Request) -> c_int {
    // SAFETY: as the caller says.
    unsafe { request.write(Pending::handle(Box::new(begun))) };
    MPI_SUCCESS
}

/// What has become of a message to or from no rank.
fn nothing() -> Done {
    let status = MPI_Status {
        MPI_SOURCE: RSMPI_PROC_NULL,
        ..empty_status()
    };
    Done(Some(Ok(status)))
}

/// Begins to send a message (`MPI_Isend`). Its elements are copied, so they can be changed at once.
///
/// # Safety
/// The handle has to be that of a communicator that lives, the elements have to be there, and the request has to be writable.
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
    // SAFETY: as the caller says.
    unsafe {
        let by = communicator(comm).groups().messages();
        if dest == RSMPI_PROC_NULL {
            return begin(nothing(), request);
        }
        let content = Content::at(buf.cast(), number(count), datatype.0);
        let sending = content.send(by, rank(dest), tag, SendMode::Standard);
        begin(Send::new(sending), request)
    }
}

/// Begins to receive a message (`MPI_Irecv`).
///
/// # Safety
/// The handle has to be that of a communicator that lives, and the request has to be writable; there has to be room for the elements
/// until the request is done, and nobody else may use it.
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
    // SAFETY: as the caller says.
    unsafe {
        let by = communicator(comm).groups().messages();
        if source == RSMPI_PROC_NULL {
            return begin(nothing(), request);
        }
        let place = Place::at(buf.cast(), 0, number(count), datatype.0);
        let receiving = by.communicator.recv(sender(by, source), tagged(tag));
        begin(Receive::new(receiving, place, by.offset), request)
    }
}

/// Begins a reduction whose result all ranks have.
///
/// # Safety
/// As for [`MPI_Iallreduce`].
#[track_caller]
unsafe fn reducing(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<impl Begun + use<>, CallError> {
    let (count, layout) = (number(count), datatype.0);
    let elements = Elements {
        operation: op.0,
        layout,
        count,
    };
    // SAFETY: as the caller says.
    unsafe {
        let bytes = packed_at(sendbuf.cast(), 0, count, layout);
        let place = Place::at(recvbuf.cast(), 0, count, layout);
        let groups = communicator(comm).groups();
        all_reduce(groups, Reduction::of(bytes, elements), place)
    }
}

/// Gives all ranks what the operation makes of the elements of all (`MPI_Allreduce`).
///
/// # Panics
/// If ranks have brought different numbers of elements, or the operation is not defined for them.
///
/// # Safety
/// The handle has to be that of a communicator that lives; there have to be as many elements, and room for as many, as said; and the
/// operation has to live.
#[track_caller]
pub unsafe fn MPI_Allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: as the caller says.
    let begun = unsafe { reducing(sendbuf, recvbuf, count, datatype, op, comm) };
    done(complete(begun));
    MPI_SUCCESS
}

/// As [`MPI_Allreduce`], begun (`MPI_Iallreduce`). What the rank has brought is copied, so it can be changed at once.
///
/// # Safety
/// As there; until the request is done, there has to be room for the result, which nobody else may use, and the operation has to live;
/// and the request has to be writable.
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
    // SAFETY: as the caller says.
    unsafe {
        let begun = reducing(sendbuf, recvbuf, count, datatype, op, comm);
        begin(begun, request)
    }
}

/// Says what has become of a call, to whoever wants to know.
///
/// # Safety
/// The status has to be null or writable.
unsafe fn tell(status: *mut MPI_Status, told: MPI_Status) {
    if !status.is_null() {
        // SAFETY: as the caller says.
        unsafe { status.write(told) };
    }
}

/// Waits until a call that was begun is done (`MPI_Wait`); then there is no request any more.
///
/// # Panics
/// If it has failed.
///
/// # Safety
/// The request has to be one that was begun and is not done, or none; and the status has to be writable, or `RSMPI_STATUS_IGNORE`.
#[track_caller]
pub unsafe fn MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) -> c_int {
    // SAFETY: as the caller says.
    let begun = unsafe { request.replace(RSMPI_REQUEST_NULL) };
    let mut told = empty_status();
    if begun != RSMPI_REQUEST_NULL {
        // SAFETY: it was begun, and nobody else has it.
        let pending = unsafe { owned(begun) };
        told = done(wait(poll_fn(|context| pending.poll(context))));
    }
    // SAFETY: as the caller says.
    unsafe { tell(status, told) };
    MPI_SUCCESS
}

/// Asks whether a call that was begun is done, and if so, does as [`MPI_Wait`] (`MPI_Test`). If it is not, all others have a turn.
///
/// # Panics
/// If it has failed.
///
/// # Safety
/// As there; and the flag has to be writable.
#[track_caller]
pub unsafe fn MPI_Test(
    request: *mut MPI_Request,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: as the caller says.
    let begun = unsafe { *request };
    // SAFETY: one that is not none was begun, and is this rank's.
    let is_done = begun == RSMPI_REQUEST_NULL || unsafe { &*begun.0 }.is_done();
    if is_done {
        // SAFETY: as the caller says.
        unsafe { MPI_Wait(request, status) };
    } else {
        give_way();
    }
    // SAFETY: as the caller says.
    unsafe { flag.write(c_int::from(is_done)) };
    MPI_SUCCESS
}
