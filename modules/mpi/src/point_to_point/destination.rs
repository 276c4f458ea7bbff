//! Destinations of messages, and all modes of sending.

use graphmap_runtime::mpi::SendMode;

use crate::buffer_range::Content;
use crate::datatype::traits::Buffer;
use crate::forms::forms;
use crate::request::Send;
use crate::shared::AsHandle;
use crate::topology::{AsCommunicator, Process, Rank, number};
use crate::{CallError, Tag};

/// Begins to send the elements of a buffer. The elements are copied, so the buffer may be used
/// again at once. Errors are reported when the returned send is polled.
///
/// # Panics
/// If the rank was finalized.
#[track_caller]
pub(super) fn begin<D: Destination + ?Sized>(
    to: &D,
    mode: SendMode,
    content: Content<'_>,
    tag: Tag,
) -> Send {
    let by = to.as_communicator().as_handle().groups().messages();
    Send::new(content.send(by, number(to.destination_rank()), tag, mode))
}

/// The rank that messages are sent to. Calls without a tag parameter send tag 0. The immediate
/// forms do not block, and report errors when the request is completed.
///
/// # Panics
/// All functions panic if the rank was finalized. A call that must wait panics if the caller is not
/// on the stack of a rank, is inside an operation of a reduction or the poll of a future, or would
/// have to block while its stack is unwinding. The functions whose names do not begin with `try_`
/// also panic if the run has ended.
pub trait Destination: AsCommunicator {
    /// Returns the rank in the communicator to which messages are sent.
    fn destination_rank(&self) -> Rank;

    forms! {
        /// Sends a copy of the elements of a buffer (`MPI_Send`). Blocks until the message is
        /// received if it is longer than 64 KiB, or if 64 messages wait at the destination already.
        /// If the destination runs on another thread, also blocks if too many bytes wait there.
        ///
        /// # Panics
        /// If the destination does not exist or the tag is negative: see
        /// [`try_send_with_tag`](Self::try_send_with_tag). Also if the calling rank was finalized,
        /// the run ends, or the call must wait and the caller is not on the stack of a rank.
        fn send_with_tag,
        /// # Errors
        /// [`CallError::Rank`], [`CallError::Tag`], [`CallError::Over`].
        try_send_with_tag,
        immediate_send_with_tag<Sc, Buf>(self, buf: &Buf, tag: Tag)
        where Buf: Buffer + ?Sized
        {
            begin(self, SendMode::Standard, Content::of(buf), tag)
        }
    }

    forms! {
        /// Sends the elements of a buffer with tag 0: see [`send_with_tag`](Self::send_with_tag).
        ///
        /// # Panics
        /// If the destination does not exist. Also if the calling rank was finalized, the run ends,
        /// or the call must wait and the caller is not on the stack of a rank.
        fn send,
        immediate_send<Sc, Buf>(self, buf: &Buf)
        where Buf: Buffer + ?Sized
        {
            begin(self, SendMode::Standard, Content::of(buf), Tag::default())
        }
    }

    forms! {
        /// Sends the elements of a buffer without blocking (`MPI_Bsend`). The message takes memory
        /// until it is received.
        ///
        /// # Panics
        /// If the destination does not exist or the tag is negative: see
        /// [`try_buffered_send_with_tag`](Self::try_buffered_send_with_tag). Also if the calling
        /// rank was finalized, or the run has ended.
        fn buffered_send_with_tag,
        /// # Errors
        /// [`CallError::Rank`], [`CallError::Tag`], [`CallError::Over`].
        try_buffered_send_with_tag,
        immediate_buffered_send_with_tag<Sc, Buf>(self, buf: &Buf, tag: Tag)
        where Buf: Buffer + ?Sized
        {
            begin(self, SendMode::Buffered, Content::of(buf), tag)
        }
    }

    forms! {
        /// Sends the elements of a buffer with tag 0, without blocking: see
        /// [`buffered_send_with_tag`](Self::buffered_send_with_tag).
        ///
        /// # Panics
        /// If the destination does not exist. Also if the calling rank was finalized, or the run
        /// has ended.
        fn buffered_send,
        immediate_buffered_send<Sc, Buf>(self, buf: &Buf)
        where Buf: Buffer + ?Sized
        {
            begin(self, SendMode::Buffered, Content::of(buf), Tag::default())
        }
    }

    forms! {
        /// Sends the elements of a buffer, and blocks until a receive has taken them (`MPI_Ssend`).
        ///
        /// # Panics
        /// If the destination does not exist or the tag is negative: see
        /// [`try_synchronous_send_with_tag`](Self::try_synchronous_send_with_tag). Also if the
        /// calling rank was finalized, the run ends, or the call must wait and the caller is not on
        /// the stack of a rank.
        fn synchronous_send_with_tag,
        /// # Errors
        /// [`CallError::Rank`], [`CallError::Tag`], [`CallError::Over`].
        try_synchronous_send_with_tag,
        immediate_synchronous_send_with_tag<Sc, Buf>(self, buf: &Buf, tag: Tag)
        where Buf: Buffer + ?Sized
        {
            begin(self, SendMode::Synchronous, Content::of(buf), tag)
        }
    }

    forms! {
        /// Sends the elements of a buffer with tag 0, and blocks until a receive has taken them:
        /// see [`synchronous_send_with_tag`](Self::synchronous_send_with_tag).
        ///
        /// # Panics
        /// If the destination does not exist. Also if the calling rank was finalized, the run ends,
        /// or the call must wait and the caller is not on the stack of a rank.
        fn synchronous_send,
        immediate_synchronous_send<Sc, Buf>(self, buf: &Buf)
        where Buf: Buffer + ?Sized
        {
            begin(self, SendMode::Synchronous, Content::of(buf), Tag::default())
        }
    }

    forms! {
        /// Sends the elements of a buffer to a rank whose matching receive was started already
        /// (`MPI_Rsend`). If there is no such receive, the message is not sent.
        ///
        /// # Panics
        /// If no matching receive was started, if the destination does not exist, or if the tag is
        /// negative: see [`try_ready_send_with_tag`](Self::try_ready_send_with_tag). Also if the
        /// calling rank was finalized, the run ends, or the call must wait and the caller is not on
        /// the stack of a rank.
        ///
        /// # Safety
        /// No conditions here: if there is no matching receive, the send is an error.
        [unsafe] fn ready_send_with_tag,
        /// # Errors
        /// [`CallError::Rank`], [`CallError::Tag`], [`CallError::Over`], [`CallError::NotReady`].
        try_ready_send_with_tag,
        /// # Safety
        /// No conditions here: if there is no matching receive, the send is an error.
        immediate_ready_send_with_tag<Sc, Buf>(self, buf: &Buf, tag: Tag)
        where Buf: Buffer + ?Sized
        {
            begin(self, SendMode::Ready, Content::of(buf), tag)
        }
    }

    forms! {
        /// Sends the elements of a buffer with tag 0 to a rank whose matching receive was started
        /// already: see [`ready_send_with_tag`](Self::ready_send_with_tag).
        ///
        /// # Panics
        /// If no matching receive was started, or if the destination does not exist. Also if the
        /// calling rank was finalized, the run ends, or the call must wait and the caller is not on
        /// the stack of a rank.
        ///
        /// # Safety
        /// No conditions here: if there is no matching receive, the send is an error.
        [unsafe] fn ready_send,
        /// # Safety
        /// No conditions here: if there is no matching receive, the send is an error.
        immediate_ready_send<Sc, Buf>(self, buf: &Buf)
        where Buf: Buffer + ?Sized
        {
            begin(self, SendMode::Ready, Content::of(buf), Tag::default())
        }
    }
}

impl Destination for Process<'_> {
    fn destination_rank(&self) -> Rank {
        self.rank()
    }
}
