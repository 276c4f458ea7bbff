//! Probes and matched receives (MPI-5.0, section 3.8).

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use graphmap_runtime::mpi as core;
use graphmap_runtime::mpi::Packed;

use crate::abi::{Comm, Datatype, Message, Request, Status};
use crate::buffer::Elements;
use crate::communicator::Communicator;
use crate::communicator::Communicators;
use crate::error::{Class, Done, Fail};
use crate::on::On;
use crate::point_to_point::{check_room, source_of, status_of, tag_of};
use crate::rank::{Part, Rank, Slot, invalid};
use crate::request::Requests;
use crate::request::{Started, write_status};
use crate::table::Table;
use crate::wait::wait;

/// A message that a probe has taken out of the queue.
struct Found {
    message: core::Message,
    by: Rc<Communicator>,
}

/// All messages that the rank has probed and not received.
#[derive(Default)]
pub(crate) struct Messages {
    table: RefCell<Table<Found>>,
}

impl Part for Messages {
    const SLOT: Slot = Slot::Messages;
}

impl Messages {
    fn add(&self, by: Rc<Communicator>, message: core::Message) -> Done<(Message, Status)> {
        let status = status_of(&by, message.status());
        let handle = self.table.borrow_mut().add(Found { message, by });
        let handle = handle.ok_or_else(|| Fail::new(Class::NoMem, "too many messages"))?;
        Ok((Message(handle), status))
    }
}

/// A matched receive. The outcome is known from the beginning.
struct Matched {
    outcome: Done<Status>,
    status: Status,
    on: On,
}

impl Started for Matched {
    fn poll(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Done<Status>> {
        std::task::Poll::Ready(self.outcome.clone())
    }

    fn failed(&self) -> Status {
        self.status
    }

    fn on(&self) -> On {
        self.on
    }
}

/// Receives a probed message.
///
/// # Safety
/// The elements must be writable.
unsafe fn receive(this: &Rank, handle: &mut Message, elements: &Elements) -> Done<Matched> {
    if *handle == Message::NO_PROC {
        *handle = Message::NULL;
        return Ok(Matched {
            outcome: Ok(Status::PROC_NULL),
            status: Status::PROC_NULL,
            on: On::World,
        });
    }
    let Some(Found { message, by }) = Messages::of(this).table.borrow_mut().remove(handle.0) else {
        return invalid(Class::Request, "message", handle.0);
    };
    *handle = Message::NULL;
    let status = status_of(&by, message.status());
    let received = message.recv::<Packed>();
    let outcome = received.map_err(Fail::from).and_then(|(packed, received)| {
        // SAFETY: guaranteed by the caller.
        unsafe { elements.unpack(&packed) };
        check_room(elements, received.count)?;
        Ok(status)
    });
    Ok(Matched {
        outcome,
        status,
        on: On::Of(by.handle.get()),
    })
}

/// Writes the result of a matched probe.
///
/// # Safety
/// `to` must be valid for writing, and `status` must be null or valid for writing.
unsafe fn found(
    this: &Rank,
    by: Rc<Communicator>,
    message: core::Message,
    to: *mut Message,
    status: *mut Status,
) -> Done {
    let (handle, result) = Messages::of(this).add(by, message)?;
    // SAFETY: guaranteed by the caller.
    unsafe {
        to.write(handle);
        write_status(status, result);
    }
    Ok(())
}

export! {
    fn MPI_Probe(source: c_int, tag: c_int, comm: Comm, status: *mut Status) on comm => |this| {
        let by = Communicators::of(this).get(comm)?;
        let (source, tag) = (source_of(&by, source)?, tag_of(tag)?);
        write_status(status, match source {
            Some(source) => status_of(&by, wait(by.messages().0.probe(source, tag))?),
            None => Status::PROC_NULL,
        });
        Ok(())
    };
    fn MPI_Iprobe(
        source: c_int, tag: c_int, comm: Comm, flag: *mut c_int, status: *mut Status,
    ) on comm => |this| {
        let by = Communicators::of(this).get(comm)?;
        let (source, tag) = (source_of(&by, source)?, tag_of(tag)?);
        let found = match source {
            Some(source) => {
                let found = wait(by.messages().0.iprobe(source, tag))?;
                found.map(|found| status_of(&by, found))
            }
            None => Some(Status::PROC_NULL),
        };
        flag.write(found.is_some().into());
        if let Some(found) = found {
            write_status(status, found);
        }
        Ok(())
    };
    fn MPI_Mprobe(
        source: c_int, tag: c_int, comm: Comm, message: *mut Message, status: *mut Status,
    ) on comm => |this| {
        let by = Communicators::of(this).get(comm)?;
        let (source, tag) = (source_of(&by, source)?, tag_of(tag)?);
        let Some(source) = source else {
            message.write(Message::NO_PROC);
            write_status(status, Status::PROC_NULL);
            return Ok(());
        };
        let taken = wait(by.messages().0.mprobe(source, tag))?;
        found(this, by, taken, message, status)
    };
    fn MPI_Improbe(
        source: c_int, tag: c_int, comm: Comm, flag: *mut c_int, message: *mut Message,
        status: *mut Status,
    ) on comm => |this| {
        let by = Communicators::of(this).get(comm)?;
        let (source, tag) = (source_of(&by, source)?, tag_of(tag)?);
        let Some(source) = source else {
            flag.write(1);
            message.write(Message::NO_PROC);
            write_status(status, Status::PROC_NULL);
            return Ok(());
        };
        let taken = wait(by.messages().0.improbe(source, tag))?;
        flag.write(taken.is_some().into());
        match taken {
            Some(taken) => found(this, by, taken, message, status),
            None => Ok(()),
        }
    };
    fn MPI_Mrecv, MPI_Mrecv_c<C>(
        buf: *mut c_void, count: C, datatype: Datatype, message: *mut Message,
        status: *mut Status,
    ) on Requests => |this| {
        let elements = Elements::new(this, buf, count.get(), datatype)?;
        let matched = receive(this, &mut *message, &elements)?;
        Requests::of(this).set_failing(matched.on);
        write_status(status, matched.outcome?);
        Ok(())
    };
    fn MPI_Imrecv, MPI_Imrecv_c<C>(
        buf: *mut c_void, count: C, datatype: Datatype, message: *mut Message,
        request: *mut Request,
    ) on World => |this| {
        let elements = Elements::new(this, buf, count.get(), datatype)?;
        let matched = receive(this, &mut *message, &elements)?;
        request.write(Requests::of(this).add(matched)?);
        Ok(())
    };
}
