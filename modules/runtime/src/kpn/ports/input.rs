//! The reading end of a channel.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::borrowed::Borrowed;
use super::output::Output;
use crate::kpn::channel::{Channel, Take};
use crate::kpn::cross::Cross;
use crate::kpn::end::{End, Form};
use graphmap_executor::exec::current::{self, waiting};
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::link::waiter::{ARMED, HOOK, STOP, may_be_hooked};

/// The reading end of a channel.
///
/// An unconnected input is at its end from the start.
///
/// A process of a nested run cannot wait for an input of the outer run whose writer is on another
/// scheduler of the same OS process: that wait panics.
///
/// Dropping an input closes this end of the channel and then drops the unread tokens. If the writer
/// is on the same scheduler, the tokens are dropped at once. Otherwise they are dropped when the
/// process next waits or ends. The same applies while 32 such drops are in progress in the run,
/// which limits the depth of the stack if tokens contain ports whose channels contain ports.
pub struct Input<T> {
    end: End<T>,
}

impl<T> Input<T> {
    pub(crate) fn new(end: End<T>) -> Self {
        Input { end }
    }

    /// Creates an unconnected input, which is at its end from the start.
    pub const fn unconnected() -> Self {
        Input { end: End::NONE }
    }

    #[inline(always)]
    fn borrowed(&mut self) -> Borrowed<'_, Self> {
        Borrowed::new(self, |port| Input { end: port.end })
    }

    /// Returns true if a channel is joined to the port. The answer stays the same at the end of the
    /// stream.
    pub fn is_connected(&self) -> bool {
        self.end.is_some()
    }

    /// Reads the next token. Waits while the channel is empty.
    ///
    /// Returns `None` at the end of the stream: the writer has finished, and all its tokens have
    /// been read.
    ///
    /// Dropping the future before it is ready takes no token.
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run, or if it is polled after it
    /// was ready.
    #[inline]
    pub fn read(&mut self) -> Read<'_, T> {
        Read {
            input: Some(self.borrowed()),
        }
    }

    /// Reads the next token. Waits while the channel is empty. Returns `None` at the end of the
    /// stream, or if the channel is empty and the reader of `output` has left. An unconnected
    /// `output` counts as one whose reader has left. Dropping the future before it is ready takes
    /// no token.
    ///
    /// A filter that reads with this function ends as soon as its results are no longer needed. The
    /// input is checked first, so the check of `output` costs nothing while tokens flow. To
    /// distinguish the two cases, use [`select!`](crate::select!) with [`Output::stopped`].
    ///
    /// ```
    /// # use graphmap_runtime::{Input, Output, Stopped};
    /// async fn odd(mut numbers: Input<u64>, mut rest: Output<u64>) -> Result<(), Stopped> {
    ///     while let Some(number) = numbers.read_for(&mut rest).await {
    ///         if number % 2 != 0 {
    ///             rest.write(number).await?;
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run.
    #[inline]
    pub fn read_for<U>(&mut self, output: &mut Output<U>) -> impl Future<Output = Option<T>> {
        ReadFor {
            input: self.borrowed(),
            output: output.borrowed(),
            waits: false,
        }
    }

    /// Reads the next token without waiting. Returns `Ok(None)` at the end of the stream, or if the
    /// input is unconnected. The result depends on the speed of the writer, so a process that uses
    /// this is not deterministic.
    ///
    /// # Errors
    /// Returns [`Empty`] if there is no token yet and the writer has not finished.
    #[inline]
    pub fn try_read(&mut self) -> Result<Option<T>, Empty> {
        match self.take() {
            Take::Token(token) => Ok(Some(token)),
            Take::End => Ok(None),
            Take::Empty => Err(Empty),
        }
    }

    /// Takes the next token without waiting, and wakes a waiting writer. Returns `Take::Empty` if
    /// there is no token yet, and `Take::End` at the end of the stream or if the input is
    /// unconnected.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Take<T> {
        match self.end.as_here() {
            Some(channel) => channel.take(),
            None => self.take_slowly(),
        }
    }

    #[inline(never)]
    fn take_slowly(&mut self) -> Take<T> {
        let taken = match self.end.form() {
            Form::Here(channel) => channel.take(),
            // SAFETY: a channel has one input, which is not `Send`.
            Form::Cross(channel) => unsafe { channel.take() },
            Form::Remote(_) | Form::None => Take::End,
        };
        if let (Some(meter), Take::Token(token)) = (self.end.meter(), &taken) {
            meter.count(token);
        }
        taken
    }

    /// Polls for the next token, as the future of [`read`](Self::read) does. Returns `Ready(None)`
    /// at the end of the stream.
    ///
    /// After a pending poll, deadlock detection counts the process as waiting for this port until
    /// it is woken, polls again, or calls [`turn_away`](Self::turn_away). Call `turn_away` if you
    /// stop waiting. The futures of this crate do so when they are dropped.
    ///
    /// # Panics
    /// Panics if it must wait outside of a process of a run.
    #[inline(always)]
    pub fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        // Fast path. `poll_read_slowly` handles all other cases.
        if let Some(channel) = self.end.as_here() {
            if let Take::Token(token) = channel.take() {
                return Poll::Ready(Some(token));
            }
            let point = channel.point();
            if !point.is_gone(Side::Write)
                && !may_be_hooked(point.word(Side::Read))
                && let Some(waiter) = current::plain_waiter(context)
            {
                point.arm(Side::Read, ARMED | waiter);
                return Poll::Pending;
            }
        }
        self.poll_read_slowly(context)
    }

    #[inline(never)]
    fn poll_read_slowly(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        if let Some(channel) = self.end.between() {
            // SAFETY: a channel has one input, which is not `Send`.
            if let Some(token) = unsafe { channel.take_at_once() } {
                return Poll::Ready(Some(token));
            }
            // In a separate function, so that this one saves and restores fewer registers.
            return self.poll_read_in_place(context);
        }
        self.poll_read_metered(context)
    }

    /// Polls for the next token, as [`poll_read`](Self::poll_read) does. Called for an input that
    /// has a meter, for example because its writer is in another OS process, and for an unconnected
    /// one.
    #[inline(never)]
    fn poll_read_metered(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        if let Some((meter, channel)) = self.end.as_metered_here()
            && let Take::Token(token) = channel.take()
        {
            meter.count(&token);
            return Poll::Ready(Some(token));
        }
        self.poll_read_rarely(context)
    }

    #[inline(never)]
    fn poll_read_in_place(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        if let Some(channel) = self.end.between() {
            // SAFETY: a channel has one input, which is not `Send`.
            match unsafe { channel.take_in_place() } {
                Some(Take::Token(token)) => return Poll::Ready(Some(token)),
                // Also inlined, because the process at the other end waits in the meantime.
                Some(Take::Empty)
                    if waiting(|me| channel.wait_for_change(me, context, Side::Read)) =>
                {
                    return Poll::Pending;
                }
                _ => {}
            }
        }
        self.poll_read_otherwise(context)
    }

    #[inline(never)]
    fn poll_read_otherwise(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        if let Some(channel) = self.end.between() {
            // SAFETY: a channel has one input, which is not `Send`.
            match unsafe { channel.take() } {
                Take::Token(token) => return Poll::Ready(Some(token)),
                Take::End => return Poll::Ready(None),
                Take::Empty if self.end.wait_for_change(context, Side::Read) => {
                    return Poll::Pending;
                }
                Take::Empty => {}
            }
        }
        self.poll_read_rarely(context)
    }

    #[cold]
    #[inline(never)]
    fn poll_read_rarely(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        loop {
            match self.take() {
                Take::Token(token) => return Poll::Ready(Some(token)),
                Take::End => return Poll::Ready(None),
                Take::Empty => {}
            }
            if self.end.wait_for_change(context, Side::Read) {
                return Poll::Pending;
            }
        }
    }

    /// Cancels the wait of a pending [`poll_read`](Self::poll_read). Has no effect if there is no
    /// wait.
    #[inline]
    pub fn turn_away(&mut self) {
        self.end.disarm(Side::Read);
    }

    #[cold]
    #[inline(never)]
    fn cancel(&mut self) {
        self.turn_away();
    }

    /// Registers `hook` to be woken when the channel gets a token or its end. Returns false,
    /// without registering it, if the channel has one of these already, or if the input is
    /// unconnected. If the writer is on another scheduler, panics outside of a run and in a nested
    /// run.
    #[inline(always)]
    pub(crate) fn arm(&self, hook: u32) -> bool {
        self.end.arm(hook, Side::Read)
    }

    /// Returns the number of the channel, if it belongs to the run of `scheduler`. Returns `None`
    /// otherwise.
    pub(crate) fn number(&self, scheduler: &Scheduler) -> Option<u32> {
        self.end.number(scheduler)
    }
}

impl<T> Drop for Input<T> {
    fn drop(&mut self) {
        // SAFETY: this is the only input of the channel, and it is not used again. Tokens that are
        // left in the channel are not counted.
        let end = unsafe { self.end.without_meter() };
        match end.form() {
            // SAFETY: as above.
            Form::Here(_) => unsafe { Channel::close_reader(end.channel()) },
            // SAFETY: as above.
            Form::Cross(_) => Cross::leave(unsafe { end.into_cross() }, Side::Read),
            Form::Remote(_) | Form::None => {}
        }
    }
}

impl<T> fmt::Debug for Input<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("connected", &self.is_connected())
            .finish()
    }
}

/// Error of [`Input::try_read`]: the channel is empty, and the writer has not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Empty;

impl fmt::Display for Empty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no token to read yet")
    }
}

impl std::error::Error for Empty {}

/// The future of [`Input::read`].
#[must_use = "a read does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Read<'a, T> {
    /// `None` after the read has completed: then there is no wait to cancel.
    input: Option<Borrowed<'a, Input<T>>>,
}

impl<T> Future for Read<'_, T> {
    type Output = Option<T>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(input) = &mut self.input else {
            polled_again();
        };
        let polled = input.poll_read(context);
        if polled.is_ready() {
            self.input = None;
        }
        polled
    }
}

#[cold]
fn polled_again() -> ! {
    panic!("a read was polled after it completed");
}

impl<T> Drop for Read<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(input) = &mut self.input {
            input.cancel();
        }
    }
}

/// The future of [`Input::read_for`].
#[derive(Debug)]
struct ReadFor<'a, 'b, T, U> {
    input: Borrowed<'a, Input<T>>,
    output: Borrowed<'b, Output<U>>,
    /// True after a pending poll, whose wait must be cancelled.
    waits: bool,
}

impl<T, U> Future for ReadFor<'_, '_, T, U> {
    type Output = Option<T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = &mut *self;
        // Fast path, as in `poll_read`.
        if let (Some(from), Some(to)) = (this.input.end.as_here(), this.output.as_here()) {
            if let Take::Token(token) = from.take() {
                if this.waits {
                    // The wait at the input ended when the token arrived, so only the output's is
                    // cancelled.
                    this.output.turn_away();
                }
                this.waits = false;
                return Poll::Ready(Some(token));
            }
            let words = from.point().word(Side::Read) | to.point().word(Side::Write);
            if !from.point().is_gone(Side::Write)
                && !to.point().is_gone(Side::Read)
                && !may_be_hooked(words)
                && let Some(waiter) = current::plain_waiter(context)
                && waiter & HOOK == 0
            {
                from.point().arm(Side::Read, ARMED | waiter);
                // Not armed: the waiter is woken when the reader leaves, but not when it takes a
                // token.
                to.point().arm(Side::Write, STOP | waiter);
                this.waits = true;
                return Poll::Pending;
            }
        }
        this.poll_slowly(context)
    }
}

impl<T, U> ReadFor<'_, '_, T, U> {
    #[cold]
    #[inline(never)]
    fn poll_slowly(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        match self.input.poll_read(context) {
            Poll::Pending => {
                self.waits = true;
                self.output.poll_stopped(context).map(|()| None)
            }
            ready => {
                if mem::take(&mut self.waits) {
                    self.output.turn_away();
                }
                ready
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn cancel(&mut self) {
        self.input.turn_away();
        self.output.turn_away();
    }
}

impl<T, U> Drop for ReadFor<'_, '_, T, U> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.waits {
            self.cancel();
        }
    }
}
