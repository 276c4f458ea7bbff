//! Messages between two ranks.

use std::ffi::{c_int, c_void};
use std::pin::Pin;
use std::task::{Context, Poll};

use graphmap_runtime::mpi as core;
use graphmap_runtime::mpi::{Packed, Request as _, SendMode, Source, TagOf};

use crate::abi::{ANY_SOURCE, ANY_TAG, Comm, Datatype, Request, Status};
use crate::buffer::Elements;
use crate::communicator::Communicator;
use crate::error::{Done, fail};
use crate::export::Number;
use crate::request::{Started, write_status};
use crate::wait::wait;

/// Starts a send.
///
/// # Safety
/// The elements must be readable.
unsafe fn send(
    by: &Communicator,
    elements: &Elements,
    dest: usize,
    tag: c_int,
    mode: SendMode,
) -> Done<core::Sending> {
    if tag < 0 {
        return fail!(Tag, "the tag {tag} is negative");
    }
    let (messages, offset) = by.messages();
    let dest = dest + offset;
    // SAFETY: the caller guarantees that the elements are readable.
    Ok(match unsafe { elements.as_bytes() } {
        Some(bytes) => messages.send_bytes(bytes, dest, tag, mode),
        // SAFETY: as above.
        None => messages.send_packed(unsafe { elements.pack() }, dest, tag, mode),
    })
}

/// A started send.
struct Sending(core::Sending);

impl Started for Sending {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>> {
        let polled = Pin::new(&mut self.0).poll(context);
        polled.map(|result| Ok(result.map(|()| Status::EMPTY)?))
    }

    fn is_done(&self) -> bool {
        self.0.is_done()
    }
}

/// A started receive.
struct Receiving {
    receiving: core::Receiving<Packed>,
    elements: Elements,
    /// True if the sender may write to the elements.
    direct: bool,
    /// Rank in the carrying communicator of rank 0 of the peers.
    offset: usize,
}

impl Receiving {
    /// Starts a receive.
    ///
    /// # Safety
    /// The elements must be writable until the receive is complete.
    unsafe fn new(by: &Communicator, elements: Elements, source: c_int, tag: c_int) -> Done<Self> {
        let (messages, offset) = by.messages();
        let source = match source {
            ANY_SOURCE => Source::Any,
            rank => Source::Rank(rank as usize + offset),
        };
        let tag = match tag {
            ANY_TAG => TagOf::Any,
            tag if tag < 0 => return fail!(Tag, "the tag {tag} is negative"),
            tag => TagOf::Tag(tag),
        };
        let place = elements.place();
        let direct = place.is_some();
        let receiving = match place {
            // SAFETY: the caller guarantees that the elements are writable.
            Some((at, room)) => unsafe { messages.recv_packed_at(at, room, source, tag) },
            None => messages.recv(source, tag),
        };
        Ok(Receiving {
            receiving,
            elements,
            direct,
            offset,
        })
    }
}

impl Started for Receiving {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>> {
        let polled = Pin::new(&mut self.receiving).poll(context);
        polled.map(|result| {
            let (packed, status) = result?;
            let sent = status.count;
            if !(self.direct && packed.is_empty()) {
                // SAFETY: the elements are writable until the receive is complete.
                unsafe { self.elements.unpack(&packed) };
            }
            let room = self.elements.bytes();
            if sent > room {
                return fail!(
                    Truncate,
                    "a message of {sent} bytes was received into {room} bytes"
                );
            }
            let source = status.source - self.offset;
            Ok(Status::new(source as c_int, status.tag, sent))
        })
    }

    fn is_done(&self) -> bool {
        self.receiving.is_done()
    }
}

/// A call that is complete.
struct Complete(Status);

impl Started for Complete {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Done<Status>> {
        Poll::Ready(Ok(self.0))
    }

    fn is_done(&self) -> bool {
        true
    }
}

export! {
    fn MPI_Send, MPI_Send_c<C>(
        buf: *const c_void, count: C, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
    ) on comm => |this| {
        let by = this.communicators.get(comm)?;
        let elements = Elements::new(this, buf, count.get(), datatype)?;
        match by.peer(dest)? {
            None => Ok(()),
            Some(dest) => Ok(wait(send(&by, &elements, dest, tag, SendMode::Standard)?)?),
        }
    };
    fn MPI_Isend, MPI_Isend_c<C>(
        buf: *const c_void, count: C, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        request: *mut Request,
    ) on comm => |this| {
        let by = this.communicators.get(comm)?;
        let elements = Elements::new(this, buf, count.get(), datatype)?;
        request.write(match by.peer(dest)? {
            None => this.requests.add(Complete(Status::PROC_NULL))?,
            Some(dest) => {
                this.requests.add(Sending(send(&by, &elements, dest, tag, SendMode::Standard)?))?
            }
        });
        Ok(())
    };
    fn MPI_Recv, MPI_Recv_c<C>(
        buf: *mut c_void, count: C, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        status: *mut Status,
    ) on comm => |this| {
        let by = this.communicators.get(comm)?;
        let elements = Elements::new(this, buf, count.get(), datatype)?;
        if source != ANY_SOURCE && by.peer(source)?.is_none() {
            write_status(status, Status::PROC_NULL);
            return Ok(());
        }
        let mut receiving = Receiving::new(&by, elements, source, tag)?;
        let result = wait(std::future::poll_fn(|context| receiving.poll(context)))?;
        write_status(status, result);
        Ok(())
    };
    fn MPI_Irecv, MPI_Irecv_c<C>(
        buf: *mut c_void, count: C, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        request: *mut Request,
    ) on comm => |this| {
        let by = this.communicators.get(comm)?;
        let elements = Elements::new(this, buf, count.get(), datatype)?;
        request.write(match source != ANY_SOURCE && by.peer(source)?.is_none() {
            true => this.requests.add(Complete(Status::PROC_NULL))?,
            false => this.requests.add(Receiving::new(&by, elements, source, tag)?)?,
        });
        Ok(())
    };
}
