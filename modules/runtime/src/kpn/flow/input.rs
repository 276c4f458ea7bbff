//! The reading end of a flow-controlled channel.

use std::fmt;
use std::task::{Context, Poll};

use super::control::{Control, ControlChannels, Session, State};
use super::waiting::{Until, Waits};
use crate::kpn::ports::{Input, Output};
use crate::kpn::select::Source;

/// Reading end of a flow-controlled channel. It is the only one, or one of many to which a
/// [`FlowShare`](super::FlowShare) distributes tokens.
///
/// It opens at its first read, or by [`open`](Self::open). To end without the loss of a token, call
/// [`close`](Self::close), and then read until there are no more tokens. A reader that is dropped
/// leaves at once, and the tokens that it was given are dropped with it.
///
/// ```
/// use graphmap_runtime::{Local, Options, State};
///
/// let mut net = Local::new();
/// let (mut tx, mut rx) = net.flow_channel::<u64>(4);
/// net.spawn(async move {
///     for n in 0.. {
///         if tx.state() == State::Closing {
///             break; // dropped, so closed
///         }
///         tx.write(n).await?;
///     }
///     Ok::<(), graphmap_runtime::Stopped>(())
/// });
/// net.spawn(async move {
///     let mut next = 0;
///     while let Some(n) = rx.read().await {
///         assert_eq!(n, next);
///         next += 1;
///         if n == 100 {
///             rx.close(); // asks for the end: earlier tokens are still to be read
///         }
///     }
///     assert!(next > 100);
///     assert_eq!(rx.state(), State::Closed);
/// });
/// net.run(&Options::new()).unwrap();
/// ```
pub struct FlowInput<T> {
    pub(super) tokens: Input<T>,
    pub(super) controls: ControlChannels,
    pub(super) session: Session,
    /// Number of tokens read since it opened, and their final number, once that is known.
    pub(super) read: u64,
    pub(super) until: Option<u64>,
    /// The writer has closed, so `until` is the end of the channel.
    pub(super) last: bool,
    pub(super) asked: bool,
    /// The writer has opened before this end.
    pub(super) writer_opened: bool,
    connected: bool,
}

impl<T> FlowInput<T> {
    pub(crate) fn new(tokens: Input<T>, output: Output<Control>, input: Input<Control>) -> Self {
        let connected = tokens.is_connected();
        FlowInput {
            controls: ControlChannels::new(output, input),
            session: match connected {
                true => Session::Fresh,
                false => Session::Closed,
            },
            read: 0,
            until: None,
            last: false,
            asked: false,
            writer_opened: false,
            connected,
            tokens,
        }
    }

    /// Returns an end without a channel. It is closed from the start.
    pub fn unconnected() -> Self {
        let tokens = Input::unconnected();
        FlowInput::new(tokens, Output::unconnected(), Input::unconnected())
    }

    /// Returns true if the port has a channel, which may be closed.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Opens this end, and waits until the writer has opened the other one. Returns [`State::Open`]
    /// or [`State::Closing`], or [`State::Closed`] if the channel is closed. A reader that has left
    /// opens again. If the future is dropped before it is ready, this end continues to open.
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run.
    pub fn open(&mut self) -> impl Future<Output = State> {
        let poll = Self::poll_open;
        Until { end: self, poll }
    }

    /// Reads the next token. Returns `None` when the channel is closed, or when this reader has
    /// left after a [`close`](Self::close), until it [opens](Self::open) again. Opens the end if it
    /// was never open, and waits for the writer to open. If the future is dropped before it is
    /// ready, no token is taken.
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run.
    #[inline]
    pub fn read(&mut self) -> impl Future<Output = Option<T>> {
        let poll = Self::poll_read;
        Until { end: self, poll }
    }

    /// Asks for the end of reading. Afterwards, read until there are no more tokens.
    ///
    /// If other readers are open, this one leaves. It still reads the tokens that it was given, and
    /// may open again. If it is the last one, this asks the writer to close the channel. Tokens
    /// flow until the writer closes it, or another reader opens.
    ///
    /// This does nothing if the end is neither open nor opening, or if it has asked before. To
    /// leave for good, drop the end.
    pub fn close(&mut self) {
        if matches!(self.session, Session::Opening | Session::Open) && !self.asked {
            self.asked = true;
            self.controls.send(Control::Ask);
        }
    }

    /// Returns the state of the channel, as far as this end knows it now. A reader that has left
    /// reports [`State::New`]. The channel is not closed before all tokens are read. The result
    /// depends on the speed of other processes, so a process that uses it is not deterministic.
    pub fn state(&mut self) -> State {
        loop {
            match self.controls.try_receive() {
                Ok(Some(control)) => self.handle(control),
                Ok(None) if self.session != Session::Open => {
                    self.end();
                    break;
                }
                Ok(None) | Err(_) => break,
            }
        }
        self.leave_if_read();
        self.known()
    }

    fn known(&self) -> State {
        match self.session {
            Session::Fresh | Session::Opening | Session::Left => State::New,
            Session::Open if self.asked => State::Closing,
            Session::Open => State::Open,
            Session::Closed => State::Closed,
        }
    }

    fn handle(&mut self, control: Control) {
        match control {
            Control::Open { .. } if self.session == Session::Opening => {
                self.session = Session::Open;
            }
            Control::Open { .. } if self.session == Session::Fresh => self.writer_opened = true,
            Control::Left { after } => self.until = Some(after),
            Control::Close { after } => (self.until, self.last) = (Some(after), true),
            Control::Open { .. } | Control::Ask | Control::Done => {}
        }
    }

    /// Opens the end, and reports that to the writer, if it was never open or has left. Otherwise
    /// has no effect. The opened end is `Open` if the writer was open before, and otherwise
    /// `Opening`.
    fn begin(&mut self) {
        if matches!(self.session, Session::Fresh | Session::Left) {
            self.session = match std::mem::take(&mut self.writer_opened) {
                true => Session::Open,
                false => Session::Opening,
            };
            self.controls.send(Control::Open {
                alone: true,
                asked: false,
            });
        }
    }

    /// Leaves, or closes the channel, if the final number of tokens is known and all are read.
    fn leave_if_read(&mut self) {
        if self.until != Some(self.read) {
            return;
        }
        if self.last {
            return self.end();
        }
        self.session = Session::Left;
        (self.read, self.until, self.asked) = (0, None, false);
    }

    /// Closes the channel, in which no token is left.
    fn end(&mut self) {
        self.session = Session::Closed;
        self.tokens = Input::unconnected();
        self.controls = ControlChannels::unconnected();
    }

    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<State> {
        self.leave_if_read();
        self.begin();
        while self.session == Session::Opening {
            match self.controls.poll(context) {
                Poll::Ready(Some(control)) => self.handle(control),
                Poll::Ready(None) => self.end(),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(self.known())
    }

    /// Polls for the next token, as the future of [`read`](Self::read) does. While this is pending,
    /// the process counts as waiting for the port until it is woken, polls again, or calls
    /// [`turn_away`](Self::turn_away).
    ///
    /// # Panics
    /// Panics if it must wait outside of a process of a run.
    #[inline]
    pub fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        if self.session == Session::Fresh {
            self.begin();
        }
        loop {
            self.leave_if_read();
            if matches!(self.session, Session::Left | Session::Closed) {
                return Poll::Ready(None);
            }
            match self.tokens.poll_read(context) {
                Poll::Ready(Some(token)) => {
                    // The writer knows that this end is open, because it has written a token.
                    self.session = Session::Open;
                    self.read += 1;
                    return Poll::Ready(Some(token));
                }
                Poll::Ready(None) => {
                    self.end();
                    return Poll::Ready(None);
                }
                Poll::Pending => {}
            }
            match self.controls.poll(context) {
                Poll::Ready(Some(control)) => self.handle(control),
                // If the writer has been dropped, the end of its tokens is on its way.
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Cancels the wait of a pending [`poll_read`](Self::poll_read): the process no longer counts
    /// as waiting for the port.
    #[inline]
    pub fn turn_away(&mut self) {
        self.tokens.turn_away();
        self.controls.input.turn_away();
    }
}

impl<T> Waits for FlowInput<T> {
    #[inline]
    fn turn_away(&mut self) {
        FlowInput::turn_away(self);
    }
}

impl<T> Source for FlowInput<T> {
    type Item = T;

    #[inline]
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_read(context)
    }

    #[inline]
    fn turn_away(&mut self) {
        FlowInput::turn_away(self);
    }
}

impl<T> fmt::Debug for FlowInput<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowInput")
            .field("state", &self.known())
            .finish_non_exhaustive()
    }
}
