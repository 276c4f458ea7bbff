//! Buffers of buffered sends (MPI-5.0, section 3.6).
//!
//! The library copies messages itself, so a buffer only counts the bytes of the messages that were
//! not received yet. Its memory is never used, and can be detached at any time. A flush has no
//! effect, because the library delivers the messages.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use graphmap_runtime::mpi as core;
use graphmap_runtime::mpi::{Request as _, SendMode};

use crate::abi::{Comm, Request, Session, Status};
use crate::communicator::Communicators;
use crate::error::{Done, fail};
use crate::export::Number;
use crate::message::{Outgoing, cancelled};
use crate::on::On;
use crate::rank::{Part, Rank, Slot};
use crate::request::Requests;
use crate::request::{Complete, Started};
use crate::session::Sessions;

/// `MPI_BUFFER_AUTOMATIC`: a buffer without a limit.
const AUTOMATIC: usize = 2;

/// Object that a buffer is attached to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    Rank,
    Comm(Comm),
    Session(Session),
}

/// A message in a buffer. It has left the buffer when the send is done.
type Message = Rc<RefCell<core::Sending>>;

/// An attached buffer.
struct Buffer {
    address: usize,
    size: i64,
    /// Number of bytes of `messages`.
    used: usize,
    messages: VecDeque<(usize, Message)>,
}

impl Buffer {
    /// Removes the messages that were received.
    fn clean(&mut self) {
        let used = &mut self.used;
        self.messages.retain(|(bytes, message)| {
            let waits = !message.borrow().is_done();
            *used -= if waits { 0 } else { *bytes };
            waits
        });
    }

    /// Returns true if there is room for `bytes`.
    fn has_room(&mut self, bytes: usize) -> bool {
        while let Some((bytes, message)) = self.messages.front()
            && message.borrow().is_done()
        {
            self.used -= bytes;
            self.messages.pop_front();
        }
        let fits = |used: usize| self.address == AUTOMATIC || (used + bytes) as i64 <= self.size;
        fits(self.used) || {
            self.clean();
            (self.used + bytes) as i64 <= self.size
        }
    }
}

/// All buffers that a rank has attached.
#[derive(Default)]
pub(crate) struct Buffers {
    all: RefCell<HashMap<Owner, Buffer>>,
}

impl Part for Buffers {
    const SLOT: Slot = Slot::Buffers;
}

impl Buffers {
    /// Starts a buffered send of a message to `dest`, from the buffer of the communicator, of the
    /// rank, or of a session, whichever exists first.
    ///
    /// # Errors
    /// [`Class::Buffer`] if the buffer does not exist or has no room.
    ///
    /// # Safety
    /// The elements must be readable.
    pub(crate) unsafe fn send(&self, message: &Outgoing, dest: usize) -> Done<Buffered> {
        let mut all = self.all.borrow_mut();
        let comm = message.side.by.handle.get();
        let is_session = |owner: &Owner| matches!(owner, Owner::Session(_));
        let owner = [Owner::Comm(comm), Owner::Rank].into_iter();
        let owner = owner.chain(all.keys().copied().filter(is_session));
        let owner = owner.clone().find(|owner| all.contains_key(owner));
        let Some(buffer) = owner.and_then(|owner| all.get_mut(&owner)) else {
            return fail!(Buffer, "a buffered send needs an attached buffer");
        };
        let bytes = message.side.elements.bytes();
        if !buffer.has_room(bytes) {
            return fail!(
                Buffer,
                "the attached buffer of {} bytes has no room for {bytes} bytes",
                buffer.size
            );
        }
        // SAFETY: guaranteed by the caller.
        let sending = unsafe { message.send(dest, SendMode::Synchronous) };
        let sending = Rc::new(RefCell::new(sending));
        buffer.used += bytes;
        buffer.messages.push_back((bytes, Rc::clone(&sending)));
        Ok(Buffered {
            message: sending,
            comm,
            is_cancelled: false,
        })
    }

    fn attach(&self, owner: Owner, address: *mut c_void, size: i64) -> Done {
        if size < 0 {
            return fail!(Arg, "the size {size} is negative");
        }
        let mut all = self.all.borrow_mut();
        if all.contains_key(&owner) {
            return fail!(Buffer, "a buffer is attached already");
        }
        let buffer = Buffer {
            address: address as usize,
            size,
            used: 0,
            messages: VecDeque::new(),
        };
        all.insert(owner, buffer);
        Ok(())
    }

    /// Detaches a buffer, and writes its address and its size. Both are 0 if no buffer is attached.
    ///
    /// # Safety
    /// `address` must point to a pointer, and `size` must be valid for writing.
    unsafe fn detach<C: Number>(&self, owner: Owner, address: *mut c_void, size: *mut C) -> Done {
        let mut all = self.all.borrow_mut();
        let (from, bytes) = all
            .get(&owner)
            .map_or((0, 0), |buffer| (buffer.address, buffer.size));
        let Some(bytes) = C::of(bytes) else {
            return fail!(ValueTooLarge, "the size {bytes} does not fit an int");
        };
        all.remove(&owner);
        // SAFETY: guaranteed by the caller.
        unsafe {
            address.cast::<usize>().write(from);
            size.write(bytes);
        }
        Ok(())
    }
}

/// A buffered send.
pub(crate) struct Buffered {
    message: Message,
    comm: Comm,
    is_cancelled: bool,
}

impl Started for Buffered {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>> {
        if self.is_cancelled {
            return Poll::Ready(Ok(cancelled()));
        }
        let mut message = self.message.borrow_mut();
        if message.is_done()
            && let Poll::Ready(Err(error)) = Pin::new(&mut *message).poll(context)
            && error != core::Error::Inactive
        {
            return Poll::Ready(Err(error.into()));
        }
        Poll::Ready(Ok(Status::EMPTY))
    }

    fn cancel(&mut self) -> Done {
        self.is_cancelled = self.message.borrow_mut().try_cancel();
        Ok(())
    }

    fn continues(&self) -> bool {
        false
    }

    fn on(&self) -> On {
        On::Of(self.comm)
    }
}

/// Adds a request that is complete.
fn complete(this: &Rank) -> Done<Request> {
    Requests::of(this).add(Complete(Ok(Status::EMPTY)))
}

export! {
    fn MPI_Buffer_attach, MPI_Buffer_attach_c<C>(
        buffer: *mut c_void, size: C,
    ) on World => |this| Buffers::of(this).attach(Owner::Rank, buffer, size.get());
    fn MPI_Buffer_detach, MPI_Buffer_detach_c<C>(
        buffer: *mut c_void, size: *mut C,
    ) on World => |this| Buffers::of(this).detach(Owner::Rank, buffer, size);
    fn MPI_Buffer_flush() on World => |_| Ok(());
    fn MPI_Buffer_iflush(request: *mut Request) on World => |this| {
        request.write(complete(this)?);
        Ok(())
    };
    fn MPI_Comm_attach_buffer, MPI_Comm_attach_buffer_c<C>(
        comm: Comm, buffer: *mut c_void, size: C,
    ) on comm => |this| {
        Communicators::of(this).get(comm)?;
        Buffers::of(this).attach(Owner::Comm(comm), buffer, size.get())
    };
    fn MPI_Comm_detach_buffer, MPI_Comm_detach_buffer_c<C>(
        comm: Comm, buffer: *mut c_void, size: *mut C,
    ) on comm => |this| {
        Communicators::of(this).get(comm)?;
        Buffers::of(this).detach(Owner::Comm(comm), buffer, size)
    };
    fn MPI_Session_attach_buffer, MPI_Session_attach_buffer_c<C>(
        session: Session, buffer: *mut c_void, size: C,
    ) on session => |this| {
        Sessions::of(this).check(session)?;
        Buffers::of(this).attach(Owner::Session(session), buffer, size.get())
    };
    fn MPI_Session_detach_buffer, MPI_Session_detach_buffer_c<C>(
        session: Session, buffer: *mut c_void, size: *mut C,
    ) on session => |this| {
        Sessions::of(this).check(session)?;
        Buffers::of(this).detach(Owner::Session(session), buffer, size)
    };
    fn MPI_Session_flush_buffer(session: Session) on session => |this| Sessions::of(this).check(session);
    fn MPI_Session_iflush_buffer(session: Session, request: *mut Request) on session => |this| {
        Sessions::of(this).check(session)?;
        request.write(complete(this)?);
        Ok(())
    };
    fn MPI_Comm_flush_buffer(comm: Comm) on comm => |this| Communicators::of(this).get(comm).map(drop);
    fn MPI_Comm_iflush_buffer(comm: Comm, request: *mut Request) on comm => |this| {
        Communicators::of(this).get(comm)?;
        request.write(complete(this)?);
        Ok(())
    };
}
