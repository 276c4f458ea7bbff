//! The writing end of a channel.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::borrowed::Borrowed;
use crate::kpn::channel::{Channel, Put};
use crate::kpn::cross::{Cross, Offer};
use crate::kpn::end::{End, Form};
use crate::kpn::remote_output::RemoteOutput;
use graphmap_executor::exec::current;
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::outcome::Stopped;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::link::spsc::Offered;
use graphmap_executor::link::waiter::{ARMED, HOOK, STOP, may_be_hooked};
use graphmap_executor::trace::Way;

/// The writing end of a channel.
///
/// Writes to an unconnected output return [`Stopped`] at once.
///
/// A process of a nested run cannot wait for an output of the outer run whose reader is on another
/// scheduler: that wait panics.
pub struct Output<T> {
    end: End<T>,
}

impl<T> Output<T> {
    pub(crate) fn new(end: End<T>) -> Self {
        Output { end }
    }

    /// Creates an unconnected output, whose writes return [`Stopped`].
    pub const fn unconnected() -> Self {
        Output { end: End::NONE }
    }

    #[inline(always)]
    pub(super) fn borrowed(&mut self) -> Borrowed<'_, Self> {
        Borrowed::new(self, |port| Output { end: port.end })
    }

    /// Returns true if a channel is joined to the port. The answer stays the same when the reader
    /// leaves.
    pub fn is_connected(&self) -> bool {
        self.end.is_some()
    }

    /// Writes a token. Waits while the channel is full.
    ///
    /// Dropping the future before it is ready withdraws the token, unless the reader has taken it
    /// by then. In that case the token has been written, although the writer did not learn of it.
    ///
    /// # Errors
    /// Returns [`Stopped`] if the reader has left, or if the output is unconnected. The token is
    /// dropped.
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run.
    #[inline]
    pub fn write(&mut self, token: T) -> Write<'_, T> {
        Write {
            output: self.borrowed(),
            token: Token::Fresh(token),
        }
    }

    /// Writes a token, or drops it if the reader has left or the output is unconnected. Waits while
    /// the channel is full.
    ///
    /// With [`write`](Self::write), the time of [`Stopped`] depends on how far the writer is ahead
    /// of its reader, and therefore on the order in which processes run. If the writer then does
    /// anything except end, or if others wait for its end, the results of the network depend on
    /// that order. A writer that uses this function does the same whether or not its reader has
    /// left.
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run.
    pub async fn write_or_discard(&mut self, token: T) {
        let _: Result<(), Stopped> = self.write(token).await;
    }

    /// Writes a token without waiting. The result depends on the speed of the reader, so a process
    /// that uses this is not deterministic.
    ///
    /// # Errors
    /// Returns the token in [`TryWriteError::Full`] if the channel is full. Returns it in
    /// [`TryWriteError::Stopped`] if the reader has left or the output is unconnected.
    #[inline]
    pub fn try_write(&mut self, token: T) -> Result<(), TryWriteError<T>> {
        match self.put(token) {
            Put::Done => Ok(()),
            Put::Full(token) => Err(TryWriteError::Full(token)),
            Put::Stopped(token) => Err(TryWriteError::Stopped(token)),
        }
    }

    /// Writes a token without waiting and without the rendezvous slot. Returns the token if the
    /// channel is full, or if the reader has left or the output is unconnected.
    #[inline(always)]
    pub(crate) fn put(&mut self, token: T) -> Put<T> {
        if self.end.meter().is_some() {
            return self.put_counted(token);
        }
        self.put_at(token)
    }

    #[inline(always)]
    fn put_at(&mut self, token: T) -> Put<T> {
        match self.end.form() {
            Form::Here(channel) => channel.put(token),
            // SAFETY: a channel has one output, which is not `Send`.
            Form::Cross(channel) => unsafe { channel.put(token) },
            Form::Remote(output) => output.put(token),
            Form::None => Put::Stopped(token),
        }
    }

    #[inline(never)]
    fn put_counted(&mut self, token: T) -> Put<T> {
        let put = self.put_at(token);
        if let (Put::Done, Some(meter)) = (&put, self.end.meter()) {
            meter.count_written();
        }
        put
    }

    /// Writes the token as soon as there is space, without the rendezvous slot. Until then, the
    /// token stays with the caller in `token`. Returns `Ok` if `token` is `None`, because the token
    /// was then written before.
    ///
    /// # Errors
    /// Returns [`Stopped`] if the reader has left or the output is unconnected. The token is
    /// dropped.
    ///
    /// # Panics
    /// Panics if it must wait outside of a process of a run.
    pub(crate) fn poll_put(
        &mut self,
        context: &mut Context<'_>,
        token: &mut Option<T>,
    ) -> Poll<Result<(), Stopped>> {
        while let Some(value) = token.take() {
            match self.put(value) {
                Put::Done => break,
                Put::Stopped(_) => return Poll::Ready(Err(Stopped)),
                Put::Full(value) => *token = Some(value),
            }
            if self.wait_for_room(context) {
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Registers the task of `context` to be woken when there is space or the reader leaves.
    /// Returns false if one of these is true already, or if the output is unconnected.
    ///
    /// # Panics
    /// Panics outside of a run, and in a nested run if the reader is on another scheduler of the
    /// outer run.
    pub(crate) fn wait_for_room(&self, context: &Context<'_>) -> bool {
        self.end.wait_for_change(context, Side::Write)
    }

    /// Writes a token like [`Output::put`]. If the channel is between schedulers, has capacity one
    /// and is full, leaves the token in the rendezvous slot.
    #[inline(always)]
    fn offer(&mut self, token: T) -> Offer<T> {
        let offer = match self.end.form() {
            // SAFETY: as in `put_at`.
            Form::Cross(channel) => unsafe { channel.offer(token) },
            _ => return Offer::Put(self.put(token)),
        };
        if let (Offer::Put(Put::Done) | Offer::Offered, Some(meter)) = (&offer, self.end.meter()) {
            meter.count_written();
        }
        offer
    }

    /// Polls until the reader has left. Ready at once if the output is unconnected.
    ///
    /// # Panics
    /// Panics if it must wait outside of a process of a run.
    #[inline(always)]
    pub(crate) fn poll_stopped(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(channel) = self.end.as_here() {
            let point = channel.point();
            if point.is_gone(Side::Read) {
                return Poll::Ready(());
            }
            if !may_be_hooked(point.word(Side::Write))
                && let Some(waiter) = current::plain_waiter(context)
                && waiter & HOOK == 0
            {
                // Not armed: the waiter is woken when the reader leaves, but not when it takes a
                // token.
                point.arm(Side::Write, STOP | waiter);
                return Poll::Pending;
            }
        }
        self.poll_stopped_slowly(context)
    }

    #[cold]
    #[inline(never)]
    fn poll_stopped_slowly(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let stopped = self.end.is_stopped().unwrap_or(true);
        if stopped || !self.end.wait_for_stop(context) {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Returns the channel, if both ends are on the same scheduler and this end has no meter.
    #[inline(always)]
    pub(crate) fn as_here(&self) -> Option<&Channel<T>> {
        self.end.as_here()
    }

    /// Cancels the wait of a future that is dropped.
    #[inline(always)]
    pub(crate) fn turn_away(&mut self) {
        self.end.disarm(Side::Write);
    }

    #[inline(always)]
    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        token: &mut Token<T>,
    ) -> Poll<Result<(), Stopped>> {
        // Fast path. `poll_write_slowly` handles all other cases.
        if let Some(channel) = self.end.as_here()
            && let Some(polled) = poll_here(channel, context, token)
        {
            return polled;
        }
        self.poll_write_slowly(context, token)
    }

    #[inline(never)]
    fn poll_write_slowly(
        &mut self,
        context: &mut Context<'_>,
        token: &mut Token<T>,
    ) -> Poll<Result<(), Stopped>> {
        if let Token::Fresh(_) = token
            && let Some(channel) = self.end.between()
        {
            // SAFETY: a channel has one output, which is not `Send`.
            if unsafe { channel.put_at_once(|| token.take_fresh()) } {
                return Poll::Ready(Ok(()));
            }
            // In a separate function, so that this one saves and restores fewer registers.
            return self.poll_write_in_place(context, token);
        }
        self.poll_write_otherwise(context, token)
    }

    #[inline(never)]
    fn poll_write_in_place(
        &mut self,
        context: &mut Context<'_>,
        token: &mut Token<T>,
    ) -> Poll<Result<(), Stopped>> {
        if let Token::Fresh(_) = token
            && let Some(channel) = self.end.between()
        {
            // SAFETY: a channel has one output, which is not `Send`.
            if unsafe { channel.put_in_place(|| token.take_fresh()) } {
                return Poll::Ready(Ok(()));
            }
        }
        self.poll_write_otherwise(context, token)
    }

    #[inline(never)]
    fn poll_write_otherwise(
        &mut self,
        context: &mut Context<'_>,
        token: &mut Token<T>,
    ) -> Poll<Result<(), Stopped>> {
        if let Token::Fresh(fresh) = token
            && let Some(output) = self.end.remote_output()
            && output.has_room()
        {
            let sent = output.send(fresh);
            // The token is dropped after it was sent, because its destructor is user code.
            if let Token::Fresh(fresh) = mem::replace(token, Token::Done)
                && !sent
            {
                output.lend(fresh);
            }
            return Poll::Ready(Ok(()));
        }
        if let Some((meter, channel)) = self.end.as_metered_here() {
            let is_fresh = matches!(token, Token::Fresh(_));
            let polled = poll_here(channel, context, token);
            if is_fresh && !matches!(token, Token::Fresh(_)) {
                meter.count_written();
            }
            if let Some(polled) = polled {
                if polled.is_pending() {
                    meter.waits(Way::Write);
                }
                return polled;
            }
        }
        if let Token::Fresh(_) = token
            && let Some(channel) = self.end.between()
            && let Token::Fresh(fresh) = mem::replace(token, Token::Done)
        {
            // Also inlined, because the process at the other end waits in the meantime.
            // SAFETY: a channel has one output, which is not `Send`.
            *token = match unsafe { channel.offer(fresh) } {
                Offer::Put(Put::Done) => return Poll::Ready(Ok(())),
                Offer::Put(Put::Stopped(_)) => return Poll::Ready(Err(Stopped)),
                Offer::Put(Put::Full(fresh)) => Token::Fresh(fresh),
                Offer::Offered => Token::Offered,
            };
            if self.end.wait_for_change(context, Side::Write) {
                return Poll::Pending;
            }
        }
        self.poll_write_rarely(context, token)
    }

    #[cold]
    #[inline(never)]
    fn poll_write_rarely(
        &mut self,
        context: &mut Context<'_>,
        token: &mut Token<T>,
    ) -> Poll<Result<(), Stopped>> {
        loop {
            *token = match mem::replace(token, Token::Done) {
                Token::Done => return Poll::Ready(Ok(())),
                Token::Fresh(value) => match self.offer(value) {
                    Offer::Put(Put::Done) => return Poll::Ready(Ok(())),
                    Offer::Put(Put::Stopped(_)) => return Poll::Ready(Err(Stopped)),
                    Offer::Put(Put::Full(value)) => Token::Fresh(value),
                    Offer::Offered => Token::Offered,
                },
                Token::Offered => match self.end.offered() {
                    Offered::Refused => return Poll::Ready(Err(Stopped)),
                    Offered::Done => return Poll::Ready(Ok(())),
                    Offered::Waits => Token::Offered,
                },
            };
            if self.end.wait_for_change(context, Side::Write) {
                return Poll::Pending;
            }
        }
    }

    /// Returns the sender to another OS process, if the reader is in one. Returns `None` otherwise.
    pub(crate) fn remote(&self) -> Option<&RemoteOutput<T>> {
        match self.end.form() {
            Form::Remote(output) => Some(output),
            _ => None,
        }
    }

    /// Waits until a reader in another OS process has space or has left. The future of any other
    /// output is ready at once. The future panics if it must wait outside of a process of a run.
    pub(crate) fn room(&mut self) -> Room<'_, T> {
        Room(self)
    }

    /// Counts a token that a broadcast has sent to several outputs at once. Does nothing if this
    /// end has no meter.
    pub(crate) fn count_written(&self) {
        if let Some(meter) = self.end.meter() {
            meter.count_written();
        }
    }

    /// Registers `hook` to be woken when the channel gets space or the reader leaves. Returns
    /// false, without registering it, if one of these is true already, or if the output is
    /// unconnected. If the reader is on another scheduler, panics outside of a run and in a nested
    /// run.
    #[inline(always)]
    pub(crate) fn arm(&self, hook: u32) -> bool {
        self.end.arm(hook, Side::Write)
    }

    /// Cancels the wait of a write. If `offered`, also withdraws its token from the rendezvous slot
    /// and drops it, unless the reader has taken the token.
    #[cold]
    #[inline(never)]
    fn cancel(&mut self, offered: bool) {
        self.turn_away();
        if offered {
            drop(self.end.take_back());
        }
    }

    /// Returns the number of the channel, if it belongs to the run of `scheduler`. Returns `None`
    /// otherwise.
    pub(crate) fn number(&self, scheduler: &Scheduler) -> Option<u32> {
        self.end.number(scheduler)
    }
}

/// The future of [`Output::room`].
pub(crate) struct Room<'a, T>(&'a mut Output<T>);

impl<T> Future for Room<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            match self.0.remote() {
                Some(output) if !output.has_room() && !output.is_stopped() => {}
                _ => return Poll::Ready(()),
            }
            if self.0.wait_for_room(context) {
                return Poll::Pending;
            }
        }
    }
}

impl<T> Drop for Room<'_, T> {
    fn drop(&mut self) {
        self.0.turn_away();
    }
}

/// Polls a write to a channel within the scheduler. A fresh token is put in if there is space.
/// Otherwise it goes into the rendezvous slot, and the poll is pending. A token that is no longer
/// in that slot is written, and the poll is ready.
///
/// Returns `None`, with `token` unchanged, in the rare cases, which the caller must handle: the
/// reader has left, a token still is in that slot, or the waker is not plain.
#[inline(always)]
fn poll_here<T>(
    channel: &Channel<T>,
    context: &Context<'_>,
    token: &mut Token<T>,
) -> Option<Poll<Result<(), Stopped>>> {
    if let Token::Fresh(_) = token {
        if channel.has_room() {
            if let Token::Fresh(value) = mem::replace(token, Token::Done) {
                // SAFETY: `has_room` has returned true, and no user code has run since.
                unsafe { channel.put_in(value) };
            }
            // Repeated, so that the compiler knows the state when the write is dropped.
            mem::forget(mem::replace(token, Token::Done));
            return Some(Poll::Ready(Ok(())));
        }
        let point = channel.point();
        if !point.is_gone(Side::Read)
            && !channel.has_offer()
            && !may_be_hooked(point.word(Side::Write))
            && let Some(waiter) = current::plain_waiter(context)
        {
            if let Token::Fresh(token) = mem::replace(token, Token::Offered) {
                channel.offer(token);
            }
            point.arm(Side::Write, ARMED | waiter);
            return Some(Poll::Pending);
        }
    } else if !channel.has_offer() && !channel.point().is_gone(Side::Read) {
        *token = Token::Done;
        return Some(Poll::Ready(Ok(())));
    }
    None
}

impl<T> Drop for Output<T> {
    fn drop(&mut self) {
        // SAFETY: this is the only output of the channel, and it is not used again.
        let end = unsafe { self.end.without_meter() };
        match end.form() {
            // SAFETY: as above.
            Form::Here(_) => unsafe { Channel::close_writer(end.channel()) },
            // SAFETY: as above.
            Form::Cross(_) => Cross::leave(unsafe { end.into_cross() }, Side::Write),
            // SAFETY: as above.
            Form::Remote(_) => unsafe { end.free_remote() },
            Form::None => {}
        }
    }
}

impl<T> fmt::Debug for Output<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("connected", &self.is_connected())
            .finish()
    }
}

/// Error of [`Output::try_write`]. Contains the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TryWriteError<T> {
    /// The channel is full.
    Full(T),
    /// The reader has left.
    Stopped(T),
}

impl<T> fmt::Display for TryWriteError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryWriteError::Full(_) => "no space for the token yet",
            TryWriteError::Stopped(_) => "the reader has left",
        })
    }
}

impl<T: fmt::Debug> std::error::Error for TryWriteError<T> {}

/// The future of [`Output::write`].
#[must_use = "a write does nothing unless it is awaited"]
pub struct Write<'a, T> {
    output: Borrowed<'a, Output<T>>,
    token: Token<T>,
}

/// Progress of a write.
enum Token<T> {
    Fresh(T),
    /// The token is in the rendezvous slot, beyond the capacity of the channel.
    Offered,
    Done,
}

impl<T> Token<T> {
    /// Takes the token of a write that has not put it into the channel. Panics for another write.
    #[inline(always)]
    fn take_fresh(&mut self) -> T {
        match mem::replace(self, Token::Done) {
            Token::Fresh(fresh) => fresh,
            Token::Offered | Token::Done => unreachable!(),
        }
    }
}

// The token is moved out and never pinned.
impl<T> Unpin for Write<'_, T> {}

impl<T> Future for Write<'_, T> {
    type Output = Result<(), Stopped>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Stopped>> {
        let this = self.get_mut();
        this.output.poll_write(context, &mut this.token)
    }
}

impl<T> Drop for Write<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // The wait is cancelled before the token is dropped, because its destructor is user code.
        if !matches!(self.token, Token::Done) {
            self.output.cancel(matches!(self.token, Token::Offered));
        }
    }
}

impl<T> fmt::Debug for Write<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Write")
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}
