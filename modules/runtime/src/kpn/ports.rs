//! Ports: the two ends of a channel, as a process sees them.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::channel::{Channel, Put, Take};
use super::end::{End, Make};
use super::stop::Stop;
use crate::exec::outcome::Stopped;
use crate::exec::scheduler::{self, Scheduler};
use crate::link::waiter::{ARMED, GONE, HOOK, is_hooked};

#[cold]
#[inline(never)]
fn outside() -> ! {
    panic!("a port can wait only inside of a process of a run");
}

/// Calls `f` with the scheduler whose process is going to wait.
#[inline(always)]
fn waiting<R>(f: impl FnOnce(&Scheduler) -> R) -> R {
    scheduler::with_current(f).unwrap_or_else(|| outside())
}

/// The reading end of a channel.
///
/// A port that no channel is joined to is at its end from the start.
pub struct Input<T> {
    end: End<T>,
}

/// The writing end of a channel.
///
/// A port that no channel is joined to answers [`Stopped`] at once.
pub struct Output<T> {
    end: End<T>,
}

impl<T> Input<T> {
    pub(crate) fn new(end: End<T>) -> Self {
        Input { end }
    }

    /// An input that is joined to nothing: at its end from the start.
    pub const fn unconnected() -> Self {
        Input { end: End::NONE }
    }

    /// Whether a channel is joined to the port.
    pub fn is_connected(&self) -> bool {
        self.end.pointer.is_some()
    }

    /// The next token; `None` at the end of the stream, when the writer has finished and
    /// everything it wrote has been read.
    ///
    /// Dropping the future before it is ready takes no token.
    #[inline]
    pub fn read(&mut self) -> Read<'_, T> {
        Read { input: self }
    }

    /// The next token; `None` at the end of the stream, or when the reader of `output` has left:
    /// the loop of a filter that is to end as soon as nobody wants its results. What is here to be
    /// read comes first, so it costs nothing while tokens flow. [`select!`](crate::select!) with
    /// [`Output::stopped`] tells the two ends apart.
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
    #[inline]
    pub fn read_for<U>(&mut self, output: &mut Output<U>) -> impl Future<Output = Option<T>> {
        std::future::poll_fn(move |context| match self.poll_read(context) {
            Poll::Pending => output.poll_stopped(context).map(|()| None),
            ready => ready,
        })
    }

    /// The next token if there is one now: `Ok(None)` means the end of the stream, an error that
    /// the writer is slower.
    #[inline]
    pub fn try_read(&mut self) -> Result<Option<T>, Empty> {
        match self.take() {
            Take::Token(token) => Ok(Some(token)),
            Take::End => Ok(None),
            Take::Empty => Err(Empty),
        }
    }

    #[inline(always)]
    pub(crate) fn take(&mut self) -> Take<T> {
        match self.end.make() {
            Make::Here(channel) => channel.take(),
            // SAFETY: there is one input for a channel; it is not `Send`.
            Make::Cross(channel) => unsafe { channel.take() },
            Make::None => Take::End,
        }
    }

    /// Polls for the next token: what [`read`](Self::read) awaits.
    #[inline(always)]
    pub fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        // The common case is written out; whatever is rare happens in `poll_read_slowly`.
        if let Some(channel) = self.end.near() {
            if let Take::Token(token) = channel.take() {
                return Poll::Ready(Some(token));
            }
            if channel.writer().get() & GONE == 0
                && !is_hooked(channel.reader().get())
                && let Some(waiter) = scheduler::plain_waiter(context)
            {
                channel.reader().set(ARMED | waiter);
                return Poll::Pending;
            }
        }
        self.poll_read_slowly(context)
    }

    #[cold]
    #[inline(never)]
    fn poll_read_slowly(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        loop {
            match self.take() {
                Take::Token(token) => return Poll::Ready(Some(token)),
                Take::End => return Poll::Ready(None),
                Take::Empty => {}
            }
            let waits = waiting(|scheduler| {
                let waiter = scheduler.waiter(context, self.word());
                if scheduler.probing() {
                    scheduler.note(self.end.wait(false));
                } else if waiter & HOOK == 0
                    && let Make::Cross(channel) = self.end.make()
                    && channel.watch_reader(scheduler, waiter)
                {
                    return true;
                }
                self.arm(waiter)
            });
            if waits {
                return Poll::Pending;
            }
        }
    }

    #[inline(always)]
    fn word(&self) -> u32 {
        match self.end.make() {
            Make::Here(channel) => channel.reader().get(),
            _ => 0,
        }
    }

    /// Has `waiter` woken when something changes; false: it has changed already.
    #[inline(always)]
    pub(crate) fn arm(&self, waiter: u32) -> bool {
        match self.end.make() {
            Make::Here(channel) => {
                channel.reader().set(ARMED | waiter);
                true
            }
            Make::Cross(channel) => channel.arm_reader(waiter),
            Make::None => false,
        }
    }

    /// Tells a block round that somebody waits for this port.
    pub(crate) fn note(&self, scheduler: &Scheduler) {
        scheduler.note(self.end.wait(false));
    }
}

impl<T> Output<T> {
    pub(crate) fn new(end: End<T>) -> Self {
        Output { end }
    }

    /// An output that is joined to nothing: it answers [`Stopped`].
    pub const fn unconnected() -> Self {
        Output { end: End::NONE }
    }

    /// Whether a channel is joined to the port.
    pub fn is_connected(&self) -> bool {
        self.end.pointer.is_some()
    }

    /// Writes a token, as soon as there is room for it.
    ///
    /// Dropping the future before it is ready drops the token, unwritten.
    ///
    /// # Errors
    /// [`Stopped`] if the reader has left: the token is dropped.
    #[inline]
    pub fn write(&mut self, token: T) -> Write<'_, T> {
        Write {
            output: self,
            token: Token::Fresh(token),
        }
    }

    /// Writes a token if there is room for it now.
    ///
    /// # Errors
    /// Gives the token back, and says why.
    #[inline]
    pub fn try_write(&mut self, token: T) -> Result<(), TryWriteError<T>> {
        match self.put(token) {
            Put::Done => Ok(()),
            Put::Full(token) => Err(TryWriteError::Full(token)),
            Put::Stopped(token) => Err(TryWriteError::Stopped(token)),
        }
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, token: T) -> Put<T> {
        match self.end.make() {
            Make::Here(channel) => channel.put(token),
            // SAFETY: there is one output for a channel; it is not `Send`.
            Make::Cross(channel) => unsafe { channel.put(token) },
            Make::None => Put::Stopped(token),
        }
    }

    /// Waits until the reader has left, without writing. A port joined to nothing is ready at once.
    ///
    /// A process that reads for long before it writes again learns of the request to stop only at
    /// that write; with this in a [`select!`](crate::select!) it learns at once.
    ///
    /// ```
    /// # use graphmap_runtime::{Local, Options, Stopped, select};
    /// # let mut net = Local::new();
    /// # let (mut tx, mut numbers) = net.channel::<u64>(1);
    /// # let (mut rest, rx) = net.channel::<u64>(1);
    /// # net.spawn(async move { loop { tx.write(4).await?; } #[allow(unreachable_code)] Ok::<(), Stopped>(()) });
    /// # net.spawn(async move { drop(rx) });
    /// # net.spawn(async move {
    /// loop {
    ///     select! {
    ///         number = numbers => if number % 2 != 0 { rest.write(number).await? },
    ///         () = rest.stopped() => break,
    ///         else => break, // the end of the numbers
    ///     }
    /// }
    /// # Ok::<(), Stopped>(())
    /// # });
    /// # net.run(&Options::new()).unwrap();
    /// ```
    #[inline]
    pub fn stopped(&mut self) -> Stop<'_, T> {
        Stop::one(self)
    }

    #[inline(always)]
    pub(crate) fn poll_stopped(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(channel) = self.end.near() {
            if channel.reader().get() & GONE != 0 {
                return Poll::Ready(());
            }
            if !is_hooked(channel.writer().get())
                && let Some(waiter) = scheduler::plain_waiter(context)
            {
                // Not armed: tokens that are taken out wake nobody, the reader's leaving does.
                channel.writer().set(waiter);
                return Poll::Pending;
            }
        }
        self.poll_stopped_slowly(context)
    }

    #[cold]
    #[inline(never)]
    fn poll_stopped_slowly(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(stopped) = self.end.is_stopped() else {
            return Poll::Ready(());
        };
        if stopped {
            return Poll::Ready(());
        }
        waiting(|scheduler| {
            let waiter = scheduler.waiter(context, self.word());
            if scheduler.probing() {
                scheduler.note(self.end.wait_for_stop());
            }
            // A hook may get another owner once it has fired, so only an armed word may name one.
            let word = if waiter & HOOK != 0 {
                ARMED | waiter
            } else {
                waiter
            };
            match self.end.make() {
                Make::Here(channel) => channel.writer().set(word),
                Make::Cross(channel) => {
                    if channel.arm_stop(word) {
                        return Poll::Ready(());
                    }
                }
                Make::None => {}
            }
            Poll::Pending
        })
    }

    #[inline(always)]
    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        token: &mut Token<T>,
    ) -> Poll<Result<(), Stopped>> {
        // The common case is written out; whatever is rare happens in `poll_write_slowly`.
        if let Some(channel) = self.end.near() {
            if let Token::Fresh(_) = token {
                if channel.has_room() {
                    if let Token::Fresh(token) = mem::replace(token, Token::Done) {
                        channel.put_in(token);
                    }
                    return Poll::Ready(Ok(()));
                }
                if channel.reader().get() & GONE == 0
                    && !channel.has_one_in_hand()
                    && !is_hooked(channel.writer().get())
                    && let Some(waiter) = scheduler::plain_waiter(context)
                {
                    if let Token::Fresh(token) = mem::replace(token, Token::Handed) {
                        channel.hand(token);
                    }
                    channel.writer().set(ARMED | waiter);
                    return Poll::Pending;
                }
            } else if !channel.has_one_in_hand() && channel.reader().get() & GONE == 0 {
                *token = Token::Done;
                return Poll::Ready(Ok(()));
            }
        }
        self.poll_write_slowly(context, token)
    }

    #[cold]
    #[inline(never)]
    fn poll_write_slowly(
        &mut self,
        context: &mut Context<'_>,
        token: &mut Token<T>,
    ) -> Poll<Result<(), Stopped>> {
        loop {
            *token = match mem::replace(token, Token::Done) {
                Token::Done => return Poll::Ready(Ok(())),
                Token::Fresh(value) => match self.put(value) {
                    Put::Done => return Poll::Ready(Ok(())),
                    Put::Stopped(_) => return Poll::Ready(Err(Stopped)),
                    Put::Full(value) => Token::Fresh(value),
                },
                Token::Handed => match self.end.near() {
                    Some(channel) if channel.refused() => {
                        return Poll::Ready(Err(Stopped));
                    }
                    Some(channel) if channel.has_one_in_hand() => Token::Handed,
                    _ => return Poll::Ready(Ok(())),
                },
            };
            let waits = waiting(|scheduler| {
                let waiter = scheduler.waiter(context, self.word());
                if scheduler.probing() {
                    scheduler.note(self.end.wait(true));
                } else if waiter & HOOK == 0
                    && let Make::Cross(channel) = self.end.make()
                    && channel.watch_writer(scheduler, waiter)
                {
                    return true;
                }
                self.arm(waiter)
            });
            if waits {
                return Poll::Pending;
            }
        }
    }

    #[inline(always)]
    fn word(&self) -> u32 {
        match self.end.make() {
            Make::Here(channel) => channel.writer().get(),
            _ => 0,
        }
    }

    /// Has `waiter` woken when something changes; false: it has changed already.
    #[inline(always)]
    pub(crate) fn arm(&self, waiter: u32) -> bool {
        match self.end.make() {
            Make::Here(channel) => {
                channel.writer().set(ARMED | waiter);
                true
            }
            Make::Cross(channel) => channel.arm_writer(waiter),
            Make::None => false,
        }
    }

    /// A write was cancelled: takes back what it left in hand.
    #[cold]
    #[inline(never)]
    fn take_back(&self) {
        if let Some(channel) = self.end.near() {
            drop(channel.take_back());
        }
    }

    /// Tells a block round that somebody waits for this port.
    pub(crate) fn note(&self, scheduler: &Scheduler) {
        scheduler.note(self.end.wait(true));
    }
}

/// Frees the hook of an end that leaves while a foreign waker waits at it.
fn unhook(word: u32) {
    if is_hooked(word) {
        scheduler::with_current(|scheduler| scheduler.unhook(word));
    }
}

impl<T> Drop for Input<T> {
    fn drop(&mut self) {
        match self.end.make() {
            Make::Here(channel) => {
                unhook(channel.reader().get());
                if let Some(channel) = self.end.channel() {
                    // SAFETY: this is the one input, and it goes now.
                    unsafe { Channel::close_reader(channel) };
                }
            }
            Make::Cross(channel) => {
                // SAFETY: as above; the Arc goes after the last use.
                unsafe {
                    channel.close_reader();
                    self.end.release();
                }
            }
            Make::None => {}
        }
    }
}

impl<T> Drop for Output<T> {
    fn drop(&mut self) {
        match self.end.make() {
            Make::Here(channel) => {
                unhook(channel.writer().get());
                if let Some(channel) = self.end.channel() {
                    // SAFETY: this is the one output, and it goes now.
                    unsafe { Channel::close_writer(channel) };
                }
            }
            Make::Cross(channel) => {
                channel.close_writer();
                // SAFETY: as above; the Arc goes after the last use.
                unsafe { self.end.release() };
            }
            Make::None => {}
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

impl<T> fmt::Debug for Output<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("connected", &self.is_connected())
            .finish()
    }
}

/// Nothing to read at the moment; the writer has not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Empty;

impl fmt::Display for Empty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is nothing to read yet")
    }
}

impl std::error::Error for Empty {}

/// Why a token was not written, with the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TryWriteError<T> {
    /// There is no room for it at the moment.
    Full(T),
    /// The reader has left.
    Stopped(T),
}

impl<T> fmt::Display for TryWriteError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryWriteError::Full(_) => "there is no room for the token yet",
            TryWriteError::Stopped(_) => "the reader has left",
        })
    }
}

impl<T: fmt::Debug> std::error::Error for TryWriteError<T> {}

/// The future of [`Input::read`].
#[must_use = "a read does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Read<'a, T> {
    input: &'a mut Input<T>,
}

impl<T> Future for Read<'_, T> {
    type Output = Option<T>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.input.poll_read(context)
    }
}

/// The future of [`Output::write`].
#[must_use = "a write does nothing unless it is awaited"]
pub struct Write<'a, T> {
    output: &'a mut Output<T>,
    token: Token<T>,
}

/// How far a write has come.
enum Token<T> {
    Fresh(T),
    /// It is in the channel, one more than the capacity allows.
    Handed,
    Done,
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
        if let Token::Handed = self.token {
            self.output.take_back();
        }
    }
}

impl<T> fmt::Debug for Write<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Write")
            .field("output", self.output)
            .finish_non_exhaustive()
    }
}
