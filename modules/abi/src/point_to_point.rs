//! Messages between two ranks (MPI-5.0, sections 3.2 to 3.7 and 3.10).

use std::ffi::{c_int, c_void};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use graphmap_runtime::mpi as core;
use graphmap_runtime::mpi::{Packed, Request as _, SendMode, Source, TagOf, Ticket};

use crate::abi::{ANY_SOURCE, ANY_TAG, Comm, Datatype, Request, Status};
use crate::buffer::Elements;
use crate::buffered::Buffers;
use crate::communicator::Communicator;
use crate::error::{Done, fail};
use crate::message::{Outgoing, Side, cancelled};
use crate::on::On;
use crate::rank::Part as _;
use crate::rank::Rank;
use crate::request::Requests;
use crate::request::{Complete, Started, write_status};
use crate::wait::{wait, wait_for};

/// Mode of a send of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A mode of the messages below.
    Plain(SendMode),
    /// A send from an attached buffer.
    Buffered,
}

pub(crate) const STANDARD: Mode = Mode::Plain(SendMode::Standard);
pub(crate) const SYNCHRONOUS: Mode = Mode::Plain(SendMode::Synchronous);
pub(crate) const READY: Mode = Mode::Plain(SendMode::Ready);

impl Outgoing {
    /// Sends the elements.
    ///
    /// # Safety
    /// The elements must be readable.
    #[inline(always)]
    unsafe fn wait(&self, this: &Rank, mode: Mode) -> Done {
        let Some(dest) = self.dest else {
            return Ok(());
        };
        match mode {
            // SAFETY: guaranteed by the caller.
            Mode::Plain(mode) => Ok(wait_for(unsafe { self.send(dest, mode) })?),
            // SAFETY: as above.
            Mode::Buffered => unsafe { Buffers::of(this).send(self, dest) }.map(drop),
        }
    }

    /// Starts a send, for a request.
    ///
    /// # Safety
    /// The elements must be readable until the send is complete.
    pub(crate) unsafe fn start(&self, this: &Rank, mode: Mode) -> Done<Box<dyn Started>> {
        let Some(dest) = self.dest else {
            return Ok(Box::new(Complete(Ok(Status::EMPTY))));
        };
        Ok(match mode {
            // SAFETY: guaranteed by the caller.
            Mode::Plain(mode) => Box::new(unsafe { Sending::new(self, dest, mode) }),
            // SAFETY: as above.
            Mode::Buffered => Box::new(unsafe { Buffers::of(this).send(self, dest) }?),
        })
    }
}

/// A started send.
struct Sending {
    by: Rc<Communicator>,
    dest: usize,
    sending: core::Sending,
    ticket: Ticket,
    is_cancelled: bool,
}

impl Sending {
    /// Starts a send.
    ///
    /// # Safety
    /// The elements must be readable.
    unsafe fn new(message: &Outgoing, dest: usize, mode: SendMode) -> Self {
        // SAFETY: guaranteed by the caller.
        let sending = unsafe { message.send(dest, mode) };
        let by = Rc::clone(&message.side.by);
        let ticket = by.messages().0.ticket();
        Sending {
            by,
            dest,
            sending,
            ticket,
            is_cancelled: false,
        }
    }
}

impl Started for Sending {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>> {
        if self.is_cancelled {
            return Poll::Ready(Ok(cancelled()));
        }
        let polled = Pin::new(&mut self.sending).poll(context);
        polled.map(|result| Ok(result.map(|()| Status::EMPTY)?))
    }

    fn disarm(&mut self) {
        self.sending.disarm();
    }

    fn cancel(&mut self) -> Done {
        let (messages, _) = self.by.messages();
        self.is_cancelled = self.sending.try_cancel() || messages.recall(self.dest, self.ticket);
        Ok(())
    }

    /// The message is sent even if its request was freed.
    fn continues(&self) -> bool {
        false
    }

    fn on(&self) -> On {
        On::Of(self.by.handle.get())
    }
}

/// Returns a source that receives accept, or `None` for `MPI_PROC_NULL`.
#[inline(always)]
pub(crate) fn source_of(by: &Communicator, source: c_int) -> Done<Option<Source>> {
    if source == ANY_SOURCE {
        return Ok(Some(Source::Any));
    }
    let offset = by.messages().1;
    Ok(by.peer(source)?.map(|rank| Source::Rank(rank + offset)))
}

/// Returns a tag that receives accept.
#[inline(always)]
pub(crate) fn tag_of(tag: c_int) -> Done<TagOf> {
    match tag {
        ANY_TAG => Ok(TagOf::Any),
        0.. => Ok(TagOf::Tag(tag)),
        _ => fail!(Tag, "the tag {tag} is negative"),
    }
}

/// Returns the status of a message.
#[inline]
pub(crate) fn status_of(by: &Communicator, status: core::Status) -> Status {
    let source = status.source - by.messages().1;
    Status::new(source as c_int, status.tag, status.count)
}

/// Checks that a message of `sent` bytes fits the elements that it was received into.
#[inline]
pub(crate) fn check_room(elements: &Elements, sent: usize) -> Done {
    let room = elements.bytes();
    if sent > room {
        return fail!(
            Truncate,
            "a message of {sent} bytes was received into {room} bytes"
        );
    }
    Ok(())
}

/// Elements to receive from a rank.
#[derive(Clone)]
pub(crate) struct Incoming {
    pub(crate) side: Side,
    /// `None` for `MPI_PROC_NULL`.
    pub(crate) source: Option<Source>,
    pub(crate) tag: TagOf,
}

impl Incoming {
    /// Checks the source and the tag.
    #[inline(always)]
    pub(crate) fn new(side: Side, source: c_int, tag: c_int) -> Done<Self> {
        let source = source_of(&side.by, source)?;
        let tag = tag_of(tag)?;
        Ok(Incoming { side, source, tag })
    }

    /// Starts a receive, for a request.
    ///
    /// # Safety
    /// The elements must be writable until the receive is complete.
    pub(crate) unsafe fn start(self) -> Box<dyn Started> {
        // SAFETY: guaranteed by the caller.
        match unsafe { self.post() } {
            Some(receiving) => Box::new(Receiving {
                receiving,
                side: self.side,
                is_cancelled: false,
                status: Status::EMPTY,
            }),
            None => Box::new(Complete(Ok(Status::PROC_NULL))),
        }
    }

    /// Receives the elements, and writes the status unless `to` is null.
    ///
    /// # Safety
    /// The elements must be writable, and `to` must be null or valid for writing.
    #[inline(always)]
    unsafe fn wait(&self, to: *mut Status) -> Done {
        // SAFETY: guaranteed by the caller.
        let Some(receiving) = (unsafe { self.post() }) else {
            // SAFETY: as above.
            unsafe { write_status(to, Status::PROC_NULL) };
            return Ok(());
        };
        let (packed, status) = wait_for(receiving)?;
        // SAFETY: as above.
        unsafe { self.side.take(&packed) };
        check_room(&self.side.elements, status.count)?;
        if !to.is_null() {
            // SAFETY: as above.
            unsafe { write_status(to, status_of(&self.side.by, status)) };
        }
        Ok(())
    }

    /// Posts a receive, unless it is from `MPI_PROC_NULL`. The sender may write to the elements.
    ///
    /// # Safety
    /// The elements must be writable until the receive is complete or dropped.
    #[inline(always)]
    unsafe fn post(&self) -> Option<core::Receiving<Packed>> {
        let source = self.source?;
        let (messages, _) = self.side.by.messages();
        Some(match self.side.elements.place() {
            // SAFETY: the caller guarantees that the elements are writable.
            Some((at, room)) => unsafe { messages.recv_packed_at(at, room, source, self.tag) },
            None => messages.recv(source, self.tag),
        })
    }
}

impl Side {
    /// Takes a received message. `packed` is empty if the sender has written to the elements.
    ///
    /// # Safety
    /// The elements must be writable.
    #[inline]
    unsafe fn take(&self, packed: &Packed) {
        if !packed.is_empty() {
            // SAFETY: guaranteed by the caller.
            unsafe { self.elements.unpack(packed) };
        }
    }
}

/// A started receive.
struct Receiving {
    receiving: core::Receiving<Packed>,
    side: Side,
    is_cancelled: bool,
    /// Status of the message, for a receive that has failed.
    status: Status,
}

impl Started for Receiving {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>> {
        if self.is_cancelled {
            return Poll::Ready(Ok(cancelled()));
        }
        let polled = Pin::new(&mut self.receiving).poll(context);
        polled.map(|result| {
            let (packed, status) = result?;
            // SAFETY: the elements are writable until the receive is complete.
            unsafe { self.side.take(&packed) };
            self.status = status_of(&self.side.by, status);
            check_room(&self.side.elements, status.count)?;
            Ok(self.status)
        })
    }

    fn disarm(&mut self) {
        self.receiving.disarm();
    }

    fn cancel(&mut self) -> Done {
        if self.receiving.is_done() {
            return Ok(());
        }
        self.is_cancelled = true;
        // The receive ends when it is dropped. This one never matches a message.
        let (messages, _) = self.side.by.messages();
        self.receiving = messages.recv(Source::Rank(usize::MAX), TagOf::Any);
        Ok(())
    }

    fn failed(&self) -> Status {
        self.status
    }

    fn on(&self) -> On {
        On::Of(self.side.by.handle.get())
    }
}

/// A started exchange. Its status is that of the receive.
struct Exchange {
    receive: Box<dyn Started>,
    received: Option<Done<Status>>,
    send: Option<core::Sending>,
    on: On,
}

impl Started for Exchange {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>> {
        if let Some(send) = &mut self.send
            && let Poll::Ready(sent) = Pin::new(send).poll(context)
        {
            self.send = None;
            if let Err(error) = sent {
                return Poll::Ready(Err(error.into()));
            }
        }
        if self.received.is_none()
            && let Poll::Ready(received) = self.receive.poll(context)
        {
            self.received = Some(received);
        }
        match (&self.send, self.received.take()) {
            (None, Some(received)) => Poll::Ready(received),
            (_, received) => {
                self.received = received;
                Poll::Pending
            }
        }
    }

    fn disarm(&mut self) {
        self.receive.disarm();
        if let Some(send) = &mut self.send {
            send.disarm();
        }
    }

    fn failed(&self) -> Status {
        self.receive.failed()
    }

    fn on(&self) -> On {
        self.on
    }
}

/// Starts a receive and a send.
///
/// # Safety
/// The elements of both must be valid until the exchange is complete, and not overlap.
unsafe fn exchange(send: &Outgoing, receive: Incoming) -> Exchange {
    // SAFETY: guaranteed by the caller.
    let receive = unsafe { receive.start() };
    // SAFETY: guaranteed by the caller.
    let send_to = |dest| unsafe { send.send(dest, SendMode::Standard) };
    Exchange {
        receive,
        received: None,
        send: send.dest.map(send_to),
        on: On::Of(send.side.by.handle.get()),
    }
}

/// Starts a send of the elements, and a receive into them.
///
/// # Safety
/// The elements must be valid until the exchange is complete.
unsafe fn replace(send: &Outgoing, receive: Incoming) -> Exchange {
    // SAFETY: guaranteed by the caller.
    let packed = send
        .dest
        .map(|dest| (dest, unsafe { send.side.elements.pack() }));
    // SAFETY: guaranteed by the caller. The elements to send were copied.
    let receive = unsafe { receive.start() };
    let (messages, _) = send.side.by.messages();
    let send_to = |(dest, packed)| messages.send_packed(packed, dest, send.tag, SendMode::Standard);
    Exchange {
        receive,
        received: None,
        send: packed.map(send_to),
        on: On::Of(send.side.by.handle.get()),
    }
}

/// Waits for an exchange.
fn wait_exchange(mut exchange: Exchange) -> Done<Status> {
    wait(poll_fn(|context| exchange.poll(context)))
}

/// Defines the blocking and the nonblocking send of a mode.
macro_rules! sends {
    ($($send:ident $send_c:ident $isend:ident $isend_c:ident $mode:expr;)*) => { export! {$(
        fn $send, $send_c<C>(
            buf: *const c_void, count: C, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
        ) on comm => |this| {
            let side = Side::new(this, buf, count.get(), datatype, comm)?;
            Outgoing::new(side, dest, tag)?.wait(this, $mode)
        };
        fn $isend, $isend_c<C>(
            buf: *const c_void, count: C, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
            request: *mut Request,
        ) on comm => |this| {
            let side = Side::new(this, buf, count.get(), datatype, comm)?;
            let started = Outgoing::new(side, dest, tag)?.start(this, $mode)?;
            request.write(Requests::of(this).add_boxed(started)?);
            Ok(())
        };
    )*}};
}

sends! {
    MPI_Send MPI_Send_c MPI_Isend MPI_Isend_c STANDARD;
    MPI_Ssend MPI_Ssend_c MPI_Issend MPI_Issend_c SYNCHRONOUS;
    MPI_Rsend MPI_Rsend_c MPI_Irsend MPI_Irsend_c READY;
    MPI_Bsend MPI_Bsend_c MPI_Ibsend MPI_Ibsend_c Mode::Buffered;
}

export! {
    fn MPI_Recv, MPI_Recv_c<C>(
        buf: *mut c_void, count: C, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        status: *mut Status,
    ) on comm => |this| {
        let side = Side::new(this, buf, count.get(), datatype, comm)?;
        Incoming::new(side, source, tag)?.wait(status)
    };
    fn MPI_Irecv, MPI_Irecv_c<C>(
        buf: *mut c_void, count: C, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        request: *mut Request,
    ) on comm => |this| {
        let side = Side::new(this, buf, count.get(), datatype, comm)?;
        let started = Incoming::new(side, source, tag)?.start();
        request.write(Requests::of(this).add_boxed(started)?);
        Ok(())
    };
    fn MPI_Sendrecv, MPI_Sendrecv_c<C>(
        sendbuf: *const c_void, sendcount: C, sendtype: Datatype, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: C, recvtype: Datatype, source: c_int, recvtag: c_int,
        comm: Comm, status: *mut Status,
    ) on comm => |this| {
        let send = Side::new(this, sendbuf, sendcount.get(), sendtype, comm)?;
        let receive = Side::new(this, recvbuf, recvcount.get(), recvtype, comm)?;
        let send = Outgoing::new(send, dest, sendtag)?;
        let receive = Incoming::new(receive, source, recvtag)?;
        write_status(status, wait_exchange(exchange(&send, receive))?);
        Ok(())
    };
    fn MPI_Isendrecv, MPI_Isendrecv_c<C>(
        sendbuf: *const c_void, sendcount: C, sendtype: Datatype, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: C, recvtype: Datatype, source: c_int, recvtag: c_int,
        comm: Comm, request: *mut Request,
    ) on comm => |this| {
        let send = Side::new(this, sendbuf, sendcount.get(), sendtype, comm)?;
        let receive = Side::new(this, recvbuf, recvcount.get(), recvtype, comm)?;
        let send = Outgoing::new(send, dest, sendtag)?;
        let receive = Incoming::new(receive, source, recvtag)?;
        request.write(Requests::of(this).add(exchange(&send, receive))?);
        Ok(())
    };
    fn MPI_Sendrecv_replace, MPI_Sendrecv_replace_c<C>(
        buf: *mut c_void, count: C, datatype: Datatype, dest: c_int, sendtag: c_int,
        source: c_int, recvtag: c_int, comm: Comm, status: *mut Status,
    ) on comm => |this| {
        let side = Side::new(this, buf, count.get(), datatype, comm)?;
        let send = Outgoing::new(side.clone(), dest, sendtag)?;
        let receive = Incoming::new(side, source, recvtag)?;
        write_status(status, wait_exchange(replace(&send, receive))?);
        Ok(())
    };
    fn MPI_Isendrecv_replace, MPI_Isendrecv_replace_c<C>(
        buf: *mut c_void, count: C, datatype: Datatype, dest: c_int, sendtag: c_int,
        source: c_int, recvtag: c_int, comm: Comm, request: *mut Request,
    ) on comm => |this| {
        let side = Side::new(this, buf, count.get(), datatype, comm)?;
        let send = Outgoing::new(side.clone(), dest, sendtag)?;
        let receive = Incoming::new(side, source, recvtag)?;
        request.write(Requests::of(this).add(replace(&send, receive))?);
        Ok(())
    };
}
