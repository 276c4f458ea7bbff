//! Whom messages are sent to.

use graphmap_runtime::mpi::SendMode;

use crate::datatype::traits::Buffer;
use crate::forms::forms;
use crate::place::Content;
use crate::request::Send;
use crate::shared::AsHandle;
use crate::topology::{AsCommunicator, Process, Rank, number};
use crate::{CallError, Tag};

/// Begins to send the elements of a buffer, which may be used again at once.
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

/// Whom messages are sent to. Those without a tag are sent with tag 0.
pub trait Destination: AsCommunicator {
    /// Which rank.
    fn destination_rank(&self) -> Rank;

    forms! {
        /// Sends the elements of a buffer: done when they are on their way.
        ///
        /// # Panics
        /// If there is no such rank or tag: see [`try_send_with_tag`](Self::try_send_with_tag).
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
        /// As [`send_with_tag`](Self::send_with_tag).
        fn send,
        immediate_send<Sc, Buf>(self, buf: &Buf)
        where Buf: Buffer + ?Sized
        {
            begin(self, SendMode::Standard, Content::of(buf), Tag::default())
        }
    }

    forms! {
        /// Sends the elements of a buffer, and never waits: what it takes is memory.
        ///
        /// # Panics
        /// If there is no such rank or tag: see
        /// [`try_buffered_send_with_tag`](Self::try_buffered_send_with_tag).
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
        /// As [`buffered_send_with_tag`](Self::buffered_send_with_tag).
        fn buffered_send,
        immediate_buffered_send<Sc, Buf>(self, buf: &Buf)
        where Buf: Buffer + ?Sized
        {
            begin(self, SendMode::Buffered, Content::of(buf), Tag::default())
        }
    }

    forms! {
        /// Sends the elements of a buffer: done when a receive has taken them.
        ///
        /// # Panics
        /// If there is no such rank or tag: see
        /// [`try_synchronous_send_with_tag`](Self::try_synchronous_send_with_tag).
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
        /// As [`synchronous_send_with_tag`](Self::synchronous_send_with_tag).
        fn synchronous_send,
        immediate_synchronous_send<Sc, Buf>(self, buf: &Buf)
        where Buf: Buffer + ?Sized
        {
            begin(self, SendMode::Synchronous, Content::of(buf), Tag::default())
        }
    }

    forms! {
        /// Sends the elements of a buffer to a rank that waits to receive them already.
        ///
        /// # Panics
        /// If there is no such rank or tag: see
        /// [`try_ready_send_with_tag`](Self::try_ready_send_with_tag).
        ///
        /// # Safety
        /// Not required here: if there is no matching receive, the send is an error.
        [unsafe] fn ready_send_with_tag,
        /// # Errors
        /// [`CallError::Rank`], [`CallError::Tag`], [`CallError::Over`], [`CallError::NotReady`].
        try_ready_send_with_tag,
        /// # Safety
        /// Not required here: if there is no matching receive, the send is an error.
        immediate_ready_send_with_tag<Sc, Buf>(self, buf: &Buf, tag: Tag)
        where Buf: Buffer + ?Sized
        {
            begin(self, SendMode::Ready, Content::of(buf), tag)
        }
    }

    forms! {
        /// As [`ready_send_with_tag`](Self::ready_send_with_tag).
        ///
        /// # Safety
        /// Not required here: if there is no matching receive, the send is an error.
        [unsafe] fn ready_send,
        /// # Safety
        /// Not required here: if there is no matching receive, the send is an error.
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
