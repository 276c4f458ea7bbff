//! Messages between two ranks.

use std::ffi::{c_int, c_void};
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::task::{Context, Poll};

use graphmap_runtime::mpi as core;
use graphmap_runtime::mpi::{Packed, Request as _, SendMode, Source, TagOf};

use crate::abi::{ANY_SOURCE, ANY_TAG, Comm, Datatype, PROC_NULL, Request, Status};
use crate::communicator::{Communicator, Ranks};
use crate::datatype::Type;
use crate::error::{Class, Done, Fail, fail};
use crate::export::Number;
use crate::rank::Rank;
use crate::request::{Started, write_status};
use crate::wait::wait;

/// Elements in memory.
struct Elements {
    address: *mut u8,
    count: usize,
    layout: Rc<Type>,
}

impl Elements {
    /// Checks the arguments that describe elements.
    fn new(this: &Rank, address: *const c_void, count: i64, of: Datatype) -> Done<Self> {
        let Ok(count) = usize::try_from(count) else {
            return fail!(Count, "the count {count} is negative");
        };
        Ok(Elements {
            address: address.cast_mut().cast(),
            count,
            layout: this.datatypes.get(of)?,
        })
    }

    fn bytes(&self) -> usize {
        self.count * self.layout.size
    }

    /// Sends the elements.
    ///
    /// # Safety
    /// The elements must be readable.
    unsafe fn send(
        &self,
        by: &Communicator,
        dest: usize,
        tag: c_int,
        mode: SendMode,
    ) -> Done<core::Sending> {
        let intra = by.intra()?;
        if tag < 0 {
            return fail!(Tag, "the tag {tag} is negative");
        }
        if self.layout.is_contiguous() {
            let bytes = match self.bytes() {
                0 => &[][..],
                // SAFETY: the elements are in a row.
                bytes => unsafe { std::slice::from_raw_parts(self.address, bytes) },
            };
            return Ok(intra.send_bytes(bytes, dest, tag, mode));
        }
        let mut bytes = Vec::new();
        // SAFETY: the caller guarantees that the elements are readable.
        unsafe { self.layout.pack(self.address, self.count, &mut bytes) };
        Ok(intra.send_packed(bytes.into(), dest, tag, mode))
    }
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
}

impl Receiving {
    /// Starts a receive.
    ///
    /// # Safety
    /// The elements must be writable until the receive is complete.
    unsafe fn new(by: &Communicator, elements: Elements, source: c_int, tag: c_int) -> Done<Self> {
        let Ranks::Intra(intra) = &by.ranks else {
            return fail!(Comm, "not implemented");
        };
        let source = match source {
            ANY_SOURCE => Source::Any,
            rank => Source::Rank(rank as usize),
        };
        let tag = match tag {
            ANY_TAG => TagOf::Any,
            tag if tag < 0 => return fail!(Tag, "the tag {tag} is negative"),
            tag => TagOf::Tag(tag),
        };
        let at = NonNull::new(elements.address).filter(|_| elements.layout.is_contiguous());
        let receiving = match at {
            // SAFETY: the caller guarantees that the elements are writable.
            Some(at) => unsafe { intra.recv_packed_at(at, elements.bytes(), source, tag) },
            None => intra.recv(source, tag),
        };
        let direct = at.is_some();
        Ok(Receiving {
            receiving,
            elements,
            direct,
        })
    }
}

impl Started for Receiving {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>> {
        let polled = Pin::new(&mut self.receiving).poll(context);
        polled.map(|result| {
            let (packed, status) = result?;
            let sent = status.count;
            let Elements {
                address,
                count,
                layout,
            } = &self.elements;
            if !(self.direct && packed.is_empty()) {
                // SAFETY: the elements are writable until the receive is complete.
                unsafe { layout.unpack(&packed, *address, *count) };
            }
            let room = self.elements.bytes();
            if sent > room {
                return fail!(
                    Truncate,
                    "a message of {sent} bytes was received into {room} bytes"
                );
            }
            Ok(Status::new(status.source as c_int, status.tag, sent))
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
            Some(dest) => Ok(wait(elements.send(&by, dest, tag, SendMode::Standard)?)?),
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
                this.requests.add(Sending(elements.send(&by, dest, tag, SendMode::Standard)?))?
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

#[allow(dead_code)]
const _: (Class, c_int) = (Class::Tag, PROC_NULL);
#[allow(dead_code)]
fn unused(fail: Fail) -> Fail {
    fail
}
