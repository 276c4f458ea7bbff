//! One reader.

use std::fmt;
use std::task::{Context, Poll};

use super::control::{Control, ControlLine, Session, State};
use super::waiting::{Until, Waits};
use crate::kpn::ports::{Input, Output};
use crate::kpn::select::Source;

/// The reading end of a flow-controlled channel: alone, or one of many that a [`FlowShare`](super::FlowShare)
/// hands tokens to.
///
/// It opens with its first read, or with [`open`](Self::open). Who wants no more calls
/// [`close`](Self::close), and reads on until there is no more: nothing that was written is lost. A
/// reader that is dropped leaves at once, and with it go the tokens that were handed to it.
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
///             rx.close(); // asks: what was written by then is still to be read
///         }
///     }
///     assert!(next > 100);
///     assert_eq!(rx.state(), State::Closed);
/// });
/// net.run(&Options::new()).unwrap();
/// ```
pub struct FlowInput<T> {
    pub(super) tokens: Input<T>,
    pub(super) line: ControlLine,
    pub(super) session: Session,
    /// How many tokens were read since it opened, and how many there are, once that is known.
    pub(super) read: u64,
    pub(super) until: Option<u64>,
    /// It is the writer that has closed.
    pub(super) last: bool,
    pub(super) asked: bool,
    /// The writer has opened before this end did.
    pub(super) writer_opened: bool,
    connected: bool,
}

impl<T> FlowInput<T> {
    pub(crate) fn new(tokens: Input<T>, tells: Output<Control>, hears: Input<Control>) -> Self {
        let connected = tokens.is_connected();
        FlowInput {
            line: ControlLine::new(tells, hears),
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

    /// An end that is joined to nothing: the channel is closed from the start.
    pub fn unconnected() -> Self {
        let tokens = Input::unconnected();
        FlowInput::new(tokens, Output::unconnected(), Input::unconnected())
    }

    /// Whether a channel is joined to the port. It stays so when the channel is closed.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Opens this end, and waits until the writer has opened the other: [`State::Open`] or
    /// [`State::Closing`], or [`State::Closed`] if the channel is closed for ever. A reader that has left opens
    /// anew. Dropping the future before it is ready leaves the end as one that opens.
    pub fn open(&mut self) -> impl Future<Output = State> {
        let poll = Self::poll_open;
        Until { end: self, poll }
    }

    /// The next token; `None` when the channel is closed, or when this reader has left, as it wished. Opens the end
    /// if it never was open. Dropping the future before it is ready takes no token.
    #[inline]
    pub fn read(&mut self) -> impl Future<Output = Option<T>> {
        let poll = Self::poll_read;
        Until { end: self, poll }
    }

    /// Asks for the end of reading. A reader beside which others are open leaves: it reads what it was handed by
    /// then, and may open anew. The last asks the writer to close the channel, which goes on until the
    /// writer does, or until another reader opens. Either way, read on until there is no more.
    ///
    /// On an end that is not open this does nothing: an end that is dropped is out for good.
    pub fn close(&mut self) {
        if matches!(self.session, Session::Opening | Session::Open) && !self.asked {
            self.asked = true;
            self.line.tell(Control::Ask);
        }
    }

    /// What the channel is, as far as this end knows now. It is [`State::Open`] until all tokens are read.
    /// What it answers depends on how fast others are, so a process that asks is not deterministic.
    pub fn state(&mut self) -> State {
        loop {
            match self.line.try_hear() {
                Ok(Some(control)) => self.hear(control),
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

    fn hear(&mut self, control: Control) {
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

    /// Opens the end, if it is not open.
    fn begin(&mut self) {
        if matches!(self.session, Session::Fresh | Session::Left) {
            self.session = match std::mem::take(&mut self.writer_opened) {
                true => Session::Open,
                false => Session::Opening,
            };
            self.line.tell(Control::Open {
                alone: true,
                asked: false,
            });
        }
    }

    /// Leaves, or closes, if all tokens are read and that is known.
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

    /// The channel is closed. No token is left in it.
    fn end(&mut self) {
        self.session = Session::Closed;
        self.tokens = Input::unconnected();
        self.line = ControlLine::unconnected();
    }

    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<State> {
        self.leave_if_read();
        self.begin();
        while self.session == Session::Opening {
            match self.line.poll(context) {
                Poll::Ready(Some(control)) => self.hear(control),
                Poll::Ready(None) => self.end(),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(self.known())
    }

    /// Polls for the next token: what [`read`](Self::read) awaits. Who polls by hand counts as waiting as with
    /// [`Input::poll_read`].
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
                    // Who writes has heard that this end is open.
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
            match self.line.poll(context) {
                Poll::Ready(Some(control)) => self.hear(control),
                // The writer has gone: the end of its tokens is on its way.
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Says that nobody waits for the port any more, after [`poll_read`](Self::poll_read) was
    /// pending.
    #[inline]
    pub fn turn_away(&mut self) {
        self.tokens.turn_away();
        self.line.hears.turn_away();
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
