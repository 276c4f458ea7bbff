//! Ports: the two ends of a channel, as a process sees them.

use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::block::Wait;
use super::channel::{Channel, Put, Take};
use super::cross::Cross;
use crate::exec::outcome::Stopped;
use crate::exec::scheduler::{self, Scheduler};
use crate::link::waiter::{ARMED, GONE, HOOK, ID};

/// A pointer to a channel of either make, in one word: the lowest bit says which.
pub(crate) struct End<T> {
    pointer: Option<NonNull<u8>>,
    _token: PhantomData<*const T>,
}

enum Make<'a, T> {
    Here(&'a Channel<T>),
    Cross(&'a Cross<T>),
    None,
}

const CROSS: usize = 1;

impl<T> Clone for End<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for End<T> {}

impl<T> End<T> {
    pub(crate) const NONE: Self = End {
        pointer: None,
        _token: PhantomData,
    };

    /// The two ends of a new channel within a scheduler: for the writer and for the reader.
    pub(crate) fn here(number: u32, capacity: u32) -> (Self, Self) {
        let end = End {
            pointer: Some(Channel::<T>::create(number, capacity).cast()),
            _token: PhantomData,
        };
        (end, end)
    }

    /// The two ends of a new channel between schedulers.
    pub(crate) fn cross(number: u32, capacity: u32, homes: (u32, u32), run: u64) -> (Self, Self) {
        let writer = Cross::<T>::create(number, capacity, homes, run);
        let end = |cross: Arc<Cross<T>>| End {
            pointer: NonNull::new(
                Arc::into_raw(cross)
                    .cast_mut()
                    .map_addr(|a| a | CROSS)
                    .cast(),
            ),
            _token: PhantomData,
        };
        (end(Arc::clone(&writer)), end(writer))
    }

    pub(crate) fn into_raw(self) -> *mut u8 {
        self.pointer.map_or(std::ptr::null_mut(), NonNull::as_ptr)
    }

    /// # Safety
    /// `raw` came from [`End::into_raw`] of the same type, and this is the only use of it.
    pub(crate) unsafe fn from_raw(raw: *mut u8) -> Self {
        End {
            pointer: NonNull::new(raw),
            _token: PhantomData,
        }
    }

    #[inline(always)]
    fn make(&self) -> Make<'_, T> {
        let Some(pointer) = self.pointer else {
            return Make::None;
        };
        if pointer.as_ptr().addr() & CROSS == 0 {
            // SAFETY: an end keeps its channel alive; this kind of channel has no mark.
            Make::Here(unsafe { &*pointer.as_ptr().cast::<Channel<T>>() })
        } else {
            // SAFETY: as above, with the mark taken off.
            Make::Cross(unsafe { &*pointer.as_ptr().cast::<Cross<T>>().map_addr(|a| a & !CROSS) })
        }
    }

    /// The channel, if it is one within the scheduler: the way that has to be fast.
    #[inline(always)]
    fn near(&self) -> Option<&Channel<T>> {
        match self.pointer {
            Some(pointer) if pointer.as_ptr().addr() & CROSS == 0 => {
                // SAFETY: an end keeps its channel alive; this kind of channel has no mark.
                Some(unsafe { &*pointer.as_ptr().cast::<Channel<T>>() })
            }
            _ => None,
        }
    }

    fn channel(&self) -> Option<NonNull<Channel<T>>> {
        self.pointer.map(NonNull::cast)
    }

    /// Gives the [`Arc`] of a channel between schedulers back, to be dropped.
    ///
    /// # Safety
    /// Once for each end, and only for this make.
    unsafe fn release(&self) {
        if let Some(pointer) = self.pointer {
            // SAFETY: the caller's promise.
            drop(unsafe {
                Arc::from_raw(pointer.as_ptr().cast::<Cross<T>>().map_addr(|a| a & !CROSS))
            });
        }
    }

    fn wait(&self, write: bool) -> Wait {
        let mut wait = Wait::unknown();
        wait.write = write;
        match self.make() {
            Make::Here(channel) => {
                wait.number = channel.number();
                wait.capacity = channel.capacity();
                let other = if write {
                    channel.reader()
                } else {
                    channel.writer()
                };
                wait.last_seen = other.get() & ID;
                wait.channel = (&raw const *channel).cast();
                wait.grow = Some(|channel, capacity| {
                    // SAFETY: made from this type just above; alive, as its writer waits at it.
                    unsafe { &*channel.cast::<Channel<T>>() }.grow(capacity);
                });
            }
            Make::Cross(channel) => {
                wait.number = channel.number;
                wait.capacity = channel.capacity();
                wait.run = channel.run;
                wait.channel = (&raw const *channel).cast();
                wait.grow = Some(|channel, capacity| {
                    // SAFETY: as above; that the threads stand still is the contract of `grow`.
                    unsafe { (*channel.cast::<Cross<T>>()).grow(capacity) };
                });
            }
            Make::None => {}
        }
        wait
    }
}

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
            let armed = waiting(|scheduler| {
                let waiter = scheduler.waiter(context, self.word());
                if scheduler.probing() {
                    scheduler.note(self.end.wait(false));
                }
                self.arm(waiter)
            });
            if armed {
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
            let armed = waiting(|scheduler| {
                let waiter = scheduler.waiter(context, self.word());
                if scheduler.probing() {
                    scheduler.note(self.end.wait(true));
                }
                self.arm(waiter)
            });
            if armed {
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

/// Frees the hook of an end that leaves while a foreign waker, or a bundle, waits at it.
fn unhook(word: u32) {
    if word & (ARMED | HOOK | GONE) == ARMED | HOOK {
        scheduler::with_current(|scheduler| scheduler.hooks().remove_foreign(word & ID));
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
