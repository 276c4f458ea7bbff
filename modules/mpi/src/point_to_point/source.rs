//! Whom messages are received from.

use graphmap_runtime::mpi as core;

use super::message::{MatchedReceiveVec, Message};
use super::receive_future::ReceiveFuture;
use crate::abi::{RSMPI_ANY_SOURCE, RSMPI_ANY_TAG};
use crate::datatype::traits::{BufferMut, Equivalence};
use crate::fiber::wait;
use crate::place::{self, Place, value};
use crate::request::{Receive, Request, Scope, complete};
use crate::shared::{AsHandle, Messages};
use crate::status::Status;
use crate::topology::{AnyProcess, AsCommunicator, Process, Rank};
use crate::{CallError, Tag, done};

/// A source as the runtime has it.
pub(crate) fn sender(by: Messages<'_>, rank: Rank) -> core::Source {
    match core::Source::from(rank) {
        _ if rank == RSMPI_ANY_SOURCE => core::ANY_SOURCE,
        core::Source::Rank(rank) => core::Source::Rank(by.peer(rank)),
        any => any,
    }
}

/// What tag a receive takes.
pub(crate) fn tagged(tag: Tag) -> core::TagOf {
    match tag {
        RSMPI_ANY_TAG => core::ANY_TAG,
        tag => core::TagOf::Tag(tag),
    }
}

/// Where messages come from, and on which communicator.
struct From<'a> {
    by: Messages<'a>,
    source: core::Source,
    tag: core::TagOf,
}

impl<'a> From<'a> {
    #[track_caller]
    fn new<S: Source + ?Sized>(source: &'a S, tag: Tag) -> Self {
        let by = source.as_communicator().as_handle().groups().messages();
        From {
            by,
            source: sender(by, source.source_rank()),
            tag: tagged(tag),
        }
    }

    #[track_caller]
    fn receive(&self) -> core::Receiving<core::Packed> {
        self.by.communicator.recv(self.source, self.tag)
    }

    fn status(&self, status: core::Status) -> Status {
        Status::from_raw(place::status(status, self.by.offset))
    }
}

/// Begins a receive into a place.
///
/// # Safety
/// The buffer has to be borrowed as long as what is returned may be polled.
#[track_caller]
pub(super) unsafe fn begin<S: Source + ?Sized>(source: &S, place: Place, tag: Tag) -> Receive {
    // SAFETY: as the caller says.
    unsafe {
        let from = From::new(source, tag);
        Receive::new(from.receive(), place, from.by.offset)
    }
}

/// As [`begin`], and who sends may put the elements in their place.
///
/// # Safety
/// The buffer has to be borrowed until what is returned is done or dropped: to forget it ends neither.
#[track_caller]
pub(super) unsafe fn into_place<S: Source + ?Sized>(source: &S, place: Place, tag: Tag) -> Receive {
    let from = From::new(source, tag);
    // SAFETY: as the caller says.
    unsafe { Receive::into_place(from.by, from.source, from.tag, place) }
}

/// Whom messages are received from: a rank or any. Those without a tag take messages with any.
///
/// # Safety
/// The rank has to be one of the communicator.
pub unsafe trait Source: AsCommunicator {
    /// Which rank: -2 for any.
    fn source_rank(&self) -> Rank;

    /// Waits until a message has come, and says which. It stays where it is.
    #[track_caller]
    fn probe_with_tag(&self, tag: Tag) -> Status {
        let from = From::new(self, tag);
        let found = wait(from.by.communicator.probe(from.source, from.tag));
        from.status(done(found))
    }

    /// As [`probe_with_tag`](Self::probe_with_tag).
    #[track_caller]
    fn probe(&self) -> Status {
        self.probe_with_tag(RSMPI_ANY_TAG)
    }

    /// Waits until a message has come, and takes it: nobody else will receive it.
    #[track_caller]
    fn matched_probe_with_tag(&self, tag: Tag) -> (Message, Status) {
        let from = From::new(self, tag);
        let found = wait(from.by.communicator.mprobe(from.source, from.tag));
        Message::found(done(found), from.by.offset)
    }

    /// As [`matched_probe_with_tag`](Self::matched_probe_with_tag).
    #[track_caller]
    fn matched_probe(&self) -> (Message, Status) {
        self.matched_probe_with_tag(RSMPI_ANY_TAG)
    }

    /// Receives a value.
    ///
    /// # Panics
    /// If the message is no such value: see [`try_receive_with_tag`](Self::try_receive_with_tag).
    #[track_caller]
    fn receive_with_tag<Msg: Equivalence>(&self, tag: Tag) -> (Msg, Status) {
        done(self.try_receive_with_tag(tag))
    }

    /// As [`receive_with_tag`](Self::receive_with_tag), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Truncated`], [`CallError::Count`]: it is too long or too short.
    #[track_caller]
    fn try_receive_with_tag<Msg: Equivalence>(&self, tag: Tag) -> Result<(Msg, Status), CallError> {
        let from = From::new(self, tag);
        let (bytes, told) = wait(from.receive())?;
        Ok((value(&bytes)?, from.status(told)))
    }

    /// As [`receive_with_tag`](Self::receive_with_tag).
    #[track_caller]
    fn receive<Msg: Equivalence>(&self) -> (Msg, Status) {
        self.receive_with_tag(RSMPI_ANY_TAG)
    }

    /// Receives into a buffer, which may be longer than the message.
    ///
    /// # Panics
    /// If it is shorter: see [`try_receive_into_with_tag`](Self::try_receive_into_with_tag).
    #[track_caller]
    fn receive_into_with_tag<Buf: BufferMut + ?Sized>(&self, buf: &mut Buf, tag: Tag) -> Status {
        done(self.try_receive_into_with_tag(buf, tag))
    }

    /// As [`receive_into_with_tag`](Self::receive_into_with_tag), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Truncated`]: the buffer is shorter than the message, and full of the beginning of it.
    #[track_caller]
    fn try_receive_into_with_tag<Buf: BufferMut + ?Sized>(
        &self,
        buf: &mut Buf,
        tag: Tag,
    ) -> Result<Status, CallError> {
        // SAFETY: it is borrowed until this returns, or the stack unwinds: the receive is over before. A stack that is never gone on
        // with is kept, with what it borrows.
        let begun = unsafe { into_place(self, Place::of(buf), tag) };
        complete(begun).map(Status::from_raw)
    }

    /// As [`receive_into_with_tag`](Self::receive_into_with_tag).
    #[track_caller]
    fn receive_into<Buf: BufferMut + ?Sized>(&self, buf: &mut Buf) -> Status {
        self.receive_into_with_tag(buf, RSMPI_ANY_TAG)
    }

    /// Receives as many values as the message has.
    #[track_caller]
    fn receive_vec_with_tag<Msg: Equivalence>(&self, tag: Tag) -> (Vec<Msg>, Status) {
        self.matched_probe_with_tag(tag).matched_receive_vec()
    }

    /// As [`receive_vec_with_tag`](Self::receive_vec_with_tag).
    #[track_caller]
    fn receive_vec<Msg: Equivalence>(&self) -> (Vec<Msg>, Status) {
        self.receive_vec_with_tag(RSMPI_ANY_TAG)
    }

    /// Begins to receive into a buffer.
    #[track_caller]
    fn immediate_receive_into_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a mut Buf,
        tag: Tag,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let data: *mut Buf = buf;
        // SAFETY: it is borrowed as long as `'a`.
        let place = Place::of(unsafe { &mut *data });
        // SAFETY: likewise.
        unsafe { Request::begin(begin(self, place, tag), data, scope) }
    }

    /// As [`immediate_receive_into_with_tag`](Self::immediate_receive_into_with_tag).
    #[track_caller]
    fn immediate_receive_into<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a mut Buf,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        self.immediate_receive_into_with_tag(scope, buf, RSMPI_ANY_TAG)
    }

    /// Begins to receive a value.
    #[track_caller]
    fn immediate_receive_with_tag<Msg: Equivalence>(&self, tag: Tag) -> ReceiveFuture<Msg> {
        let from = From::new(self, tag);
        ReceiveFuture::new(from.receive(), from.by.offset)
    }

    /// As [`immediate_receive_with_tag`](Self::immediate_receive_with_tag).
    #[track_caller]
    fn immediate_receive<Msg: Equivalence>(&self) -> ReceiveFuture<Msg> {
        self.immediate_receive_with_tag(RSMPI_ANY_TAG)
    }

    /// Which message has come; if none has, all other ranks have a turn first.
    #[track_caller]
    fn immediate_probe_with_tag(&self, tag: Tag) -> Option<Status> {
        let from = From::new(self, tag);
        let found = done(wait(from.by.communicator.iprobe(from.source, from.tag)));
        found.map(|found| from.status(found))
    }

    /// As [`immediate_probe_with_tag`](Self::immediate_probe_with_tag).
    #[track_caller]
    fn immediate_probe(&self) -> Option<Status> {
        self.immediate_probe_with_tag(RSMPI_ANY_TAG)
    }

    /// Takes a message that has come; if none has, all other ranks have a turn first.
    #[track_caller]
    fn immediate_matched_probe_with_tag(&self, tag: Tag) -> Option<(Message, Status)> {
        let from = From::new(self, tag);
        let found = done(wait(from.by.communicator.improbe(from.source, from.tag)));
        found.map(|found| Message::found(found, from.by.offset))
    }

    /// As [`immediate_matched_probe_with_tag`](Self::immediate_matched_probe_with_tag).
    #[track_caller]
    fn immediate_matched_probe(&self) -> Option<(Message, Status)> {
        self.immediate_matched_probe_with_tag(RSMPI_ANY_TAG)
    }
}

// SAFETY: any.
unsafe impl Source for AnyProcess<'_> {
    fn source_rank(&self) -> Rank {
        RSMPI_ANY_SOURCE
    }
}

// SAFETY: whoever has made it has looked.
unsafe impl Source for Process<'_> {
    fn source_rank(&self) -> Rank {
        self.rank()
    }
}
