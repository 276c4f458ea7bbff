//! Whom messages are sent to.

use graphmap_runtime::mpi::SendMode;

use crate::datatype::traits::Buffer;
use crate::place::Content;
use crate::request::{Request, Scope, Send, complete};
use crate::shared::AsHandle;
use crate::topology::{AsCommunicator, Process, Rank};
use crate::{CallError, Tag, done};

/// Whom it is for; what is less than 0 is no rank.
fn rank<D: Destination + ?Sized>(to: &D) -> usize {
    usize::try_from(to.destination_rank()).unwrap_or(usize::MAX)
}

/// Begins to send the elements of a buffer, which may be used again at once.
#[track_caller]
pub(super) fn begin<D: Destination + ?Sized>(
    to: &D,
    mode: SendMode,
    content: Content<'_>,
    tag: Tag,
) -> Send {
    let communicator = to.as_communicator().as_handle().core();
    Send::new(content.send(communicator, rank(to), tag, mode))
}

/// Begins to send a buffer, and waits until it is on its way, or where the mode says that.
#[track_caller]
fn send<D: Destination + ?Sized, Buf: Buffer + ?Sized>(
    to: &D,
    mode: SendMode,
    buf: &Buf,
    tag: Tag,
) -> Result<(), CallError> {
    complete(begin(to, mode, Content::of(buf), tag)).map(drop)
}

/// Begins to send a buffer.
#[track_caller]
fn immediate<'a, D, Sc, Buf>(
    to: &D,
    mode: SendMode,
    scope: Sc,
    buf: &'a Buf,
    tag: Tag,
) -> Request<'a, Buf, Sc>
where
    D: Destination + ?Sized,
    Buf: 'a + Buffer + ?Sized,
    Sc: Scope<'a>,
{
    let sending = begin(to, mode, Content::of(buf), tag);
    // SAFETY: it is borrowed as long as `'a`, and not written to.
    unsafe { Request::begin(sending, buf, scope) }
}

/// Whom messages are sent to. Those without a tag are sent with tag 0.
pub trait Destination: AsCommunicator {
    /// Which rank.
    fn destination_rank(&self) -> Rank;

    /// Sends the elements of a buffer: done when they are on their way.
    ///
    /// # Panics
    /// If there is no such rank or tag: see [`try_send_with_tag`](Self::try_send_with_tag).
    #[track_caller]
    fn send_with_tag<Buf: Buffer + ?Sized>(&self, buf: &Buf, tag: Tag) {
        done(self.try_send_with_tag(buf, tag));
    }

    /// As [`send_with_tag`](Self::send_with_tag), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Rank`], [`CallError::Tag`], [`CallError::Over`].
    #[track_caller]
    fn try_send_with_tag<Buf: Buffer + ?Sized>(
        &self,
        buf: &Buf,
        tag: Tag,
    ) -> Result<(), CallError> {
        send(self, SendMode::Standard, buf, tag)
    }

    /// As [`send_with_tag`](Self::send_with_tag).
    #[track_caller]
    fn send<Buf: Buffer + ?Sized>(&self, buf: &Buf) {
        self.send_with_tag(buf, Tag::default());
    }

    /// As [`send_with_tag`](Self::send_with_tag), as a request.
    #[track_caller]
    fn immediate_send_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
        tag: Tag,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        immediate(self, SendMode::Standard, scope, buf, tag)
    }

    /// As [`immediate_send_with_tag`](Self::immediate_send_with_tag).
    #[track_caller]
    fn immediate_send<'a, Sc, Buf>(&self, scope: Sc, buf: &'a Buf) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        self.immediate_send_with_tag(scope, buf, Tag::default())
    }

    /// Sends the elements of a buffer, and never waits: what it takes is memory.
    ///
    /// # Panics
    /// If there is no such rank or tag: see [`try_buffered_send_with_tag`](Self::try_buffered_send_with_tag).
    #[track_caller]
    fn buffered_send_with_tag<Buf: Buffer + ?Sized>(&self, buf: &Buf, tag: Tag) {
        done(self.try_buffered_send_with_tag(buf, tag));
    }

    /// As [`buffered_send_with_tag`](Self::buffered_send_with_tag), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Rank`], [`CallError::Tag`], [`CallError::Over`].
    #[track_caller]
    fn try_buffered_send_with_tag<Buf: Buffer + ?Sized>(
        &self,
        buf: &Buf,
        tag: Tag,
    ) -> Result<(), CallError> {
        send(self, SendMode::Buffered, buf, tag)
    }

    /// As [`buffered_send_with_tag`](Self::buffered_send_with_tag).
    #[track_caller]
    fn buffered_send<Buf: Buffer + ?Sized>(&self, buf: &Buf) {
        self.buffered_send_with_tag(buf, Tag::default());
    }

    /// As [`buffered_send_with_tag`](Self::buffered_send_with_tag), as a request.
    #[track_caller]
    fn immediate_buffered_send_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
        tag: Tag,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        immediate(self, SendMode::Buffered, scope, buf, tag)
    }

    /// As [`immediate_buffered_send_with_tag`](Self::immediate_buffered_send_with_tag).
    #[track_caller]
    fn immediate_buffered_send<'a, Sc, Buf>(&self, scope: Sc, buf: &'a Buf) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        self.immediate_buffered_send_with_tag(scope, buf, Tag::default())
    }

    /// Sends the elements of a buffer: done when a receive has taken them.
    ///
    /// # Panics
    /// If there is no such rank or tag: see [`try_synchronous_send_with_tag`](Self::try_synchronous_send_with_tag).
    #[track_caller]
    fn synchronous_send_with_tag<Buf: Buffer + ?Sized>(&self, buf: &Buf, tag: Tag) {
        done(self.try_synchronous_send_with_tag(buf, tag));
    }

    /// As [`synchronous_send_with_tag`](Self::synchronous_send_with_tag), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Rank`], [`CallError::Tag`], [`CallError::Over`].
    #[track_caller]
    fn try_synchronous_send_with_tag<Buf: Buffer + ?Sized>(
        &self,
        buf: &Buf,
        tag: Tag,
    ) -> Result<(), CallError> {
        send(self, SendMode::Synchronous, buf, tag)
    }

    /// As [`synchronous_send_with_tag`](Self::synchronous_send_with_tag).
    #[track_caller]
    fn synchronous_send<Buf: Buffer + ?Sized>(&self, buf: &Buf) {
        self.synchronous_send_with_tag(buf, Tag::default());
    }

    /// As [`synchronous_send_with_tag`](Self::synchronous_send_with_tag), as a request.
    #[track_caller]
    fn immediate_synchronous_send_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
        tag: Tag,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        immediate(self, SendMode::Synchronous, scope, buf, tag)
    }

    /// As [`immediate_synchronous_send_with_tag`](Self::immediate_synchronous_send_with_tag).
    #[track_caller]
    fn immediate_synchronous_send<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        self.immediate_synchronous_send_with_tag(scope, buf, Tag::default())
    }

    /// Sends the elements of a buffer to a rank that waits to receive them already.
    ///
    /// # Panics
    /// If there is no such rank or tag: see [`try_ready_send_with_tag`](Self::try_ready_send_with_tag).
    ///
    /// # Safety
    /// None is needed here: if nobody waits to receive, it is an error.
    #[track_caller]
    unsafe fn ready_send_with_tag<Buf: Buffer + ?Sized>(&self, buf: &Buf, tag: Tag) {
        done(self.try_ready_send_with_tag(buf, tag));
    }

    /// As [`ready_send_with_tag`](Self::ready_send_with_tag), and returns what is wrong.
    ///
    /// # Errors
    /// [`CallError::Rank`], [`CallError::Tag`], [`CallError::Over`], [`CallError::NotReady`].
    #[track_caller]
    fn try_ready_send_with_tag<Buf: Buffer + ?Sized>(
        &self,
        buf: &Buf,
        tag: Tag,
    ) -> Result<(), CallError> {
        send(self, SendMode::Ready, buf, tag)
    }

    /// As [`ready_send_with_tag`](Self::ready_send_with_tag).
    ///
    /// # Safety
    /// None is needed here: if nobody waits to receive, it is an error.
    #[track_caller]
    unsafe fn ready_send<Buf: Buffer + ?Sized>(&self, buf: &Buf) {
        // SAFETY: as the caller says.
        unsafe { self.ready_send_with_tag(buf, Tag::default()) };
    }

    /// As [`ready_send_with_tag`](Self::ready_send_with_tag), as a request.
    ///
    /// # Safety
    /// None is needed here: if nobody waits to receive, it is an error.
    #[track_caller]
    unsafe fn immediate_ready_send_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
        tag: Tag,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        immediate(self, SendMode::Ready, scope, buf, tag)
    }

    /// As [`immediate_ready_send_with_tag`](Self::immediate_ready_send_with_tag).
    ///
    /// # Safety
    /// None is needed here: if nobody waits to receive, it is an error.
    #[track_caller]
    unsafe fn immediate_ready_send<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        // SAFETY: as the caller says.
        unsafe { self.immediate_ready_send_with_tag(scope, buf, Tag::default()) }
    }
}

impl Destination for Process<'_> {
    fn destination_rank(&self) -> Rank {
        self.rank()
    }
}
