//! Sources of messages: receives and probes.

use graphmap_runtime::mpi as core;

use super::message::{MatchedReceiveVec, Message};
use super::receive_future::ReceiveFuture;
use crate::abi::{RSMPI_ANY_SOURCE, RSMPI_ANY_TAG};
use crate::buffer_range::{self, BufferRange, value};
use crate::datatype::traits::{BufferMut, Equivalence};
use crate::fiber::wait;
use crate::request::{Receive, Request, Scope, complete};
use crate::shared::{AsHandle, Messages};
use crate::status::Status;
use crate::topology::{AnyProcess, AsCommunicator, Process, Rank};
use crate::{CallError, Tag, done};

/// Converts the rank of a source, which may be -2 for any rank, to a source in the communicator
/// that carries the messages. A rank that does not exist becomes another that does not exist.
pub(crate) fn sender(by: Messages<'_>, rank: Rank) -> core::Source {
    match core::Source::from(rank) {
        _ if rank == RSMPI_ANY_SOURCE => core::ANY_SOURCE,
        core::Source::Rank(rank) => core::Source::Rank(by.peer(rank)),
        any => any,
    }
}

/// Converts the tag of a receive, which may be -1 for any tag. Another negative tag is not changed,
/// and is an error of the receive.
pub(crate) fn tagged(tag: Tag) -> core::TagOf {
    match tag {
        RSMPI_ANY_TAG => core::ANY_TAG,
        tag => core::TagOf::Tag(tag),
    }
}

/// Source and tag of a receive, and the communicator that carries its message.
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
        Status::from_raw(buffer_range::status(status, self.by.offset))
    }
}

/// Begins a receive into a range. Panics if the rank was finalized. Other errors are reported when
/// the returned receive is polled. The returned receive writes into the buffer only when it is
/// polled.
///
/// # Safety
/// The buffer must be borrowed as long as the returned receive may be polled.
#[track_caller]
pub(super) unsafe fn begin<S: Source + ?Sized>(
    source: &S,
    range: BufferRange,
    tag: Tag,
) -> Receive {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let from = From::new(source, tag);
        Receive::new(from.receive(), range, from.by.offset)
    }
}

/// Begins a receive as [`begin`], but the sender may write the elements directly into the buffer.
///
/// # Safety
/// The buffer must be borrowed until the returned receive is complete or dropped. To forget the
/// receive does not end the borrow.
#[track_caller]
pub(super) unsafe fn into_buffer<S: Source + ?Sized>(
    source: &S,
    range: BufferRange,
    tag: Tag,
) -> Receive {
    let from = From::new(source, tag);
    // SAFETY: guaranteed by the caller.
    unsafe { Receive::into_buffer(from.by, from.source, from.tag, range) }
}

/// The rank that messages are received from, or any rank. Calls without a tag parameter receive any
/// tag. The functions that take a tag accept -1 for any tag.
///
/// # Panics
/// All functions panic if the rank was finalized. Functions that do not begin with
/// `immediate_receive` also panic if the caller is not on the stack of a rank, or is inside an
/// operation of a reduction or the poll of a future. The functions that receive into a buffer do so
/// only if they must wait. A function that would have to block while its stack is unwinding panics.
/// The functions whose names do not begin with `try_` also panic if the run has ended.
///
/// # Safety
/// The rank must exist in the communicator, or be -2 for any rank.
pub unsafe trait Source: AsCommunicator {
    /// Returns the rank in the communicator from which messages are received, or -2 for any rank.
    fn source_rank(&self) -> Rank;

    /// Blocks until a message can be received, and returns its status (`MPI_Probe`). The message is
    /// not received.
    ///
    /// # Panics
    /// If the source or the tag does not exist. Also if the calling rank was finalized, the run
    /// ends, or the caller is not on the stack of a rank. Also if the caller is inside an operation
    /// of a reduction or the poll of a future, or would have to block while its stack is unwinding.
    #[track_caller]
    fn probe_with_tag(&self, tag: Tag) -> Status {
        let from = From::new(self, tag);
        let found = wait(from.by.communicator.probe(from.source, from.tag));
        from.status(done(found))
    }

    /// Blocks until a message with any tag can be received: see
    /// [`probe_with_tag`](Self::probe_with_tag).
    ///
    /// # Panics
    /// As [`probe_with_tag`](Self::probe_with_tag).
    #[track_caller]
    fn probe(&self) -> Status {
        self.probe_with_tag(RSMPI_ANY_TAG)
    }

    /// Blocks until a message can be received, and takes it out of the queue (`MPI_Mprobe`). No
    /// other receive takes it.
    ///
    /// # Panics
    /// If the source or the tag does not exist. Also if the calling rank was finalized, the run
    /// ends, or the caller is not on the stack of a rank.
    #[track_caller]
    fn matched_probe_with_tag(&self, tag: Tag) -> (Message, Status) {
        let from = From::new(self, tag);
        let found = wait(from.by.communicator.mprobe(from.source, from.tag));
        Message::found(done(found), from.by.offset)
    }

    /// Blocks until a message with any tag can be received, and takes it: see
    /// [`matched_probe_with_tag`](Self::matched_probe_with_tag).
    ///
    /// # Panics
    /// As [`matched_probe_with_tag`](Self::matched_probe_with_tag).
    #[track_caller]
    fn matched_probe(&self) -> (Message, Status) {
        self.matched_probe_with_tag(RSMPI_ANY_TAG)
    }

    /// Blocks until a message has arrived, and returns it as a value (`MPI_Recv`).
    ///
    /// # Panics
    /// If the message is not a value of this type, or on another error of
    /// [`try_receive_with_tag`](Self::try_receive_with_tag). Also as that function.
    #[track_caller]
    fn receive_with_tag<Msg: Equivalence>(&self, tag: Tag) -> (Msg, Status) {
        done(self.try_receive_with_tag(tag))
    }

    /// Receives a value as [`receive_with_tag`](Self::receive_with_tag), but returns errors.
    ///
    /// # Errors
    /// [`CallError::Truncated`] if the message is too long, [`CallError::Count`] if it is too
    /// short, and [`CallError::Unreadable`] if a byte is not a valid `bool`. The message is then
    /// lost. [`CallError::Rank`] or [`CallError::Tag`] if the rank or the tag does not exist, and
    /// [`CallError::Over`] if the run has ended.
    ///
    /// # Panics
    /// If the datatype of `Msg` extends beyond a value. Also if the calling rank was finalized, or
    /// the caller is not on the stack of a rank.
    #[track_caller]
    fn try_receive_with_tag<Msg: Equivalence>(&self, tag: Tag) -> Result<(Msg, Status), CallError> {
        let from = From::new(self, tag);
        let (bytes, core_status) = wait(from.receive())?;
        Ok((value(&bytes)?, from.status(core_status)))
    }

    /// Receives a value with any tag: see [`receive_with_tag`](Self::receive_with_tag).
    ///
    /// # Panics
    /// As [`receive_with_tag`](Self::receive_with_tag).
    #[track_caller]
    fn receive<Msg: Equivalence>(&self) -> (Msg, Status) {
        self.receive_with_tag(RSMPI_ANY_TAG)
    }

    /// Blocks until a message has arrived, and receives it into a buffer. The buffer may be longer
    /// than the message: its other elements stay unchanged.
    ///
    /// # Panics
    /// If the buffer is shorter than the message, or on another error of
    /// [`try_receive_into_with_tag`](Self::try_receive_into_with_tag). Also as that function.
    #[track_caller]
    fn receive_into_with_tag<Buf: BufferMut + ?Sized>(&self, buf: &mut Buf, tag: Tag) -> Status {
        done(self.try_receive_into_with_tag(buf, tag))
    }

    /// Receives into a buffer as [`receive_into_with_tag`](Self::receive_into_with_tag), but
    /// returns errors.
    ///
    /// # Errors
    /// [`CallError::Truncated`] if the buffer is shorter than the message. The buffer then contains
    /// the beginning of the message. [`CallError::Unreadable`] if a byte is not a valid `bool`.
    /// [`CallError::Rank`], [`CallError::Tag`] and [`CallError::Over`] as for
    /// [`try_receive_with_tag`](Self::try_receive_with_tag).
    ///
    /// # Panics
    /// If the calling rank was finalized, or if the call must wait and the caller is not on the
    /// stack of a rank.
    #[track_caller]
    fn try_receive_into_with_tag<Buf: BufferMut + ?Sized>(
        &self,
        buf: &mut Buf,
        tag: Tag,
    ) -> Result<Status, CallError> {
        // SAFETY: the buffer is borrowed until this function returns or unwinds, and the receive
        // ends before. If the stack is never resumed, it is kept, and the borrow with it.
        let started = unsafe { into_buffer(self, BufferRange::of(buf), tag) };
        complete(started).map(Status::from_raw)
    }

    /// Receives a message with any tag into a buffer: see
    /// [`receive_into_with_tag`](Self::receive_into_with_tag).
    ///
    /// # Panics
    /// As [`receive_into_with_tag`](Self::receive_into_with_tag).
    #[track_caller]
    fn receive_into<Buf: BufferMut + ?Sized>(&self, buf: &mut Buf) -> Status {
        self.receive_into_with_tag(buf, RSMPI_ANY_TAG)
    }

    /// Blocks until a message has arrived, and returns all of its values. Returns no values if
    /// values have a size of 0.
    ///
    /// # Panics
    /// If the length of the message is not a multiple of the size of a value, if a byte is not a
    /// valid `bool`, if the extent of the datatype is not the size of a value, or if the source or
    /// the tag does not exist. Also if the calling rank was finalized, the run ends, or the caller
    /// is not on the stack of a rank.
    #[track_caller]
    fn receive_vec_with_tag<Msg: Equivalence>(&self, tag: Tag) -> (Vec<Msg>, Status) {
        self.matched_probe_with_tag(tag).matched_receive_vec()
    }

    /// Receives all values of a message with any tag: see
    /// [`receive_vec_with_tag`](Self::receive_vec_with_tag).
    ///
    /// # Panics
    /// As [`receive_vec_with_tag`](Self::receive_vec_with_tag).
    #[track_caller]
    fn receive_vec<Msg: Equivalence>(&self) -> (Vec<Msg>, Status) {
        self.receive_vec_with_tag(RSMPI_ANY_TAG)
    }

    /// Begins to receive into a buffer (`MPI_Irecv`). Does not block. The request has the errors of
    /// [`try_receive_into_with_tag`](Self::try_receive_into_with_tag). Panics if the calling rank
    /// was finalized.
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
        // SAFETY: the buffer is borrowed for `'a`.
        let range = BufferRange::of(unsafe { &mut *data });
        // SAFETY: the buffer is borrowed for `'a`, and only the request accesses it.
        unsafe { Request::begin(begin(self, range, tag), data, scope) }
    }

    /// Begins to receive a message with any tag into a buffer: see
    /// [`immediate_receive_into_with_tag`](Self::immediate_receive_into_with_tag).
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

    /// Begins to receive a value (`MPI_Irecv`). The functions of the returned future panic on
    /// errors of the receive. Does not block. Panics if the calling rank was finalized.
    #[track_caller]
    fn immediate_receive_with_tag<Msg: Equivalence>(&self, tag: Tag) -> ReceiveFuture<Msg> {
        let from = From::new(self, tag);
        ReceiveFuture::new(from.receive(), from.by.offset)
    }

    /// Begins to receive a value with any tag: see
    /// [`immediate_receive_with_tag`](Self::immediate_receive_with_tag).
    #[track_caller]
    fn immediate_receive<Msg: Equivalence>(&self) -> ReceiveFuture<Msg> {
        self.immediate_receive_with_tag(RSMPI_ANY_TAG)
    }

    /// Returns the status of a message that can be received now (`MPI_Iprobe`). If there is no such
    /// message, lets all other ranks run once and returns `None`.
    ///
    /// # Panics
    /// If the source or the tag does not exist. Also if the calling rank was finalized, the run
    /// ends, or the caller is not on the stack of a rank.
    #[track_caller]
    fn immediate_probe_with_tag(&self, tag: Tag) -> Option<Status> {
        let from = From::new(self, tag);
        let found = done(wait(from.by.communicator.iprobe(from.source, from.tag)));
        found.map(|found| from.status(found))
    }

    /// Returns the status of a message with any tag: see
    /// [`immediate_probe_with_tag`](Self::immediate_probe_with_tag).
    ///
    /// # Panics
    /// As [`immediate_probe_with_tag`](Self::immediate_probe_with_tag).
    #[track_caller]
    fn immediate_probe(&self) -> Option<Status> {
        self.immediate_probe_with_tag(RSMPI_ANY_TAG)
    }

    /// Takes a message that can be received now out of the queue (`MPI_Improbe`). If there is no
    /// such message, lets all other ranks run once and returns `None`.
    ///
    /// # Panics
    /// If the source or the tag does not exist. Also if the calling rank was finalized, the run
    /// ends, or the caller is not on the stack of a rank.
    #[track_caller]
    fn immediate_matched_probe_with_tag(&self, tag: Tag) -> Option<(Message, Status)> {
        let from = From::new(self, tag);
        let found = done(wait(from.by.communicator.improbe(from.source, from.tag)));
        found.map(|found| Message::found(found, from.by.offset))
    }

    /// Takes a message with any tag out of the queue: see
    /// [`immediate_matched_probe_with_tag`](Self::immediate_matched_probe_with_tag).
    ///
    /// # Panics
    /// As [`immediate_matched_probe_with_tag`](Self::immediate_matched_probe_with_tag).
    #[track_caller]
    fn immediate_matched_probe(&self) -> Option<(Message, Status)> {
        self.immediate_matched_probe_with_tag(RSMPI_ANY_TAG)
    }
}

// SAFETY: the value stands for any rank of the communicator.
unsafe impl Source for AnyProcess<'_> {
    fn source_rank(&self) -> Rank {
        RSMPI_ANY_SOURCE
    }
}

// SAFETY: the code that made the `Process` has checked that the rank exists.
unsafe impl Source for Process<'_> {
    fn source_rank(&self) -> Rank {
        self.rank()
    }
}
