//! The writing end of a flow-controlled channel.

use std::fmt;
use std::task::{Context, Poll};

use super::control::{Control, ControlChannels, Session, State};
use super::waiting::{Until, Waits};
use crate::kpn::ports::{Input, Output};
use graphmap_executor::exec::outcome::Stopped;

/// Writing end of a flow-controlled channel. It is the only one, or one of many whose tokens a
/// [`FlowSelect`](super::FlowSelect) reads.
///
/// It opens at its first write, or by [`open`](Self::open). It closes by [`close`](Self::close), or
/// when it is dropped. The reader learns of that after it has read all tokens. One of many writers
/// leaves when it closes, and may open again while another is open. When the last one closes, the
/// channel is closed, which is final.
///
/// ```
/// use graphmap_runtime::{Local, Options, State};
///
/// let mut net = Local::new();
/// let (mut tx, mut rx) = net.flow_channel::<u64>(4);
/// net.spawn(async move {
///     assert_eq!(tx.state(), State::New);
///     assert_eq!(tx.open().await, State::Open);
///     for n in 0..10 {
///         tx.write(n).await.unwrap();
///     }
///     tx.close();
///     assert_eq!(tx.state(), State::Closed);
/// });
/// net.spawn(async move {
///     let mut sum = 0;
///     while let Some(n) = rx.read().await {
///         sum += n;
///     }
///     assert_eq!((sum, rx.state()), (45, State::Closed));
/// });
/// net.run(&Options::new()).unwrap();
/// ```
pub struct FlowOutput<T> {
    pub(super) tokens: Output<T>,
    pub(super) controls: ControlChannels,
    pub(super) session: Session,
    /// Number of tokens written since it opened.
    pub(super) written: u64,
    /// True if there is one writer and one reader, so that closing is final. Known when the reader
    /// has opened, which may be before this end opens.
    pub(super) alone: Option<bool>,
    /// All tokens from before it last closed are read.
    done: bool,
    /// The reader has asked for the end.
    pub(super) asked: bool,
    connected: bool,
}

impl<T> FlowOutput<T> {
    pub(crate) fn new(tokens: Output<T>, output: Output<Control>, input: Input<Control>) -> Self {
        let connected = tokens.is_connected();
        FlowOutput {
            controls: ControlChannels::new(output, input),
            session: match connected {
                true => Session::Fresh,
                false => Session::Closed,
            },
            written: 0,
            alone: None,
            done: true,
            asked: false,
            connected,
            tokens,
        }
    }

    /// Returns an end without a channel. It is closed from the start.
    pub fn unconnected() -> Self {
        let tokens = Output::unconnected();
        FlowOutput::new(tokens, Output::unconnected(), Input::unconnected())
    }

    /// Returns true if the port has a channel, which may be closed.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Opens this end, and waits until the reader has opened the other one. Returns [`State::Open`]
    /// or [`State::Closing`], or [`State::Closed`] if the channel is closed. A writer that has
    /// closed opens again, unless the channel is closed. It first waits until all tokens that it
    /// wrote before are read. If the future is dropped before it is ready, this end continues to
    /// open.
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run.
    pub fn open(&mut self) -> impl Future<Output = State> {
        let poll = |end: &mut Self, context: &mut Context<'_>| {
            // All tokens from before it last closed must be read first.
            match end.poll_while(|end| end.session == Session::Left && !end.done, context) {
                Poll::Ready(()) => end.poll_open(true, context),
                Poll::Pending => Poll::Pending,
            }
        };
        Until { end: self, poll }
    }

    /// Writes a token, as soon as there is space for it. Opens the end if it was never open, and
    /// waits for the reader to open. If the future is dropped before it is ready, the token is
    /// dropped unwritten.
    ///
    /// # Errors
    /// [`Stopped`] if the channel or this end is closed. The token is dropped.
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run.
    #[inline]
    pub fn write(&mut self, token: T) -> impl Future<Output = Result<(), Stopped>> {
        let mut token = Some(token);
        let poll =
            move |end: &mut Self, context: &mut Context<'_>| end.poll_write(context, &mut token);
        Until { end: self, poll }
    }

    /// Closes this end. Tokens that were written will be read. If this is the last open writer, the
    /// channel is closed, which is final.
    ///
    /// This does nothing if the end is neither open nor opening. To leave for good, drop the end.
    pub fn close(&mut self) {
        match self.session {
            Session::Open if self.alone == Some(true) => self.end(),
            Session::Opening | Session::Open => {
                let after = self.written;
                self.controls.send(Control::Close { after });
                self.session = Session::Left;
                (self.written, self.asked) = (0, false);
                (self.alone, self.done) = (None, false);
            }
            Session::Fresh | Session::Left | Session::Closed => {}
        }
    }

    /// Returns the state of the channel, as far as this end knows it now. A writer that has closed
    /// while others may be open reports [`State::New`]. The result depends on the speed of other
    /// processes, so a process that uses it is not deterministic.
    pub fn state(&mut self) -> State {
        while self.session != Session::Closed {
            match self.controls.try_receive() {
                Ok(Some(control)) => self.handle(control),
                Ok(None) => self.end(),
                Err(_) => break,
            }
        }
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
            // Until all tokens are read, control tokens are from before it last closed.
            _ if !self.done && control != Control::Done => {}
            Control::Open { alone, asked } => {
                (self.alone, self.asked) = (Some(alone), self.asked || asked);
                if self.session == Session::Opening {
                    self.session = Session::Open;
                }
            }
            Control::Ask => self.asked = true,
            Control::Done => self.done = true,
            Control::Close { .. } | Control::Left { .. } => {}
        }
    }

    /// Closes the channel.
    pub(super) fn end(&mut self) {
        self.session = Session::Closed;
        self.tokens = Output::unconnected();
        self.controls = ControlChannels::unconnected();
    }

    /// Receives and handles control tokens while `holds` returns true, and is then ready. Closes
    /// the channel if the other end is gone.
    fn poll_while(&mut self, holds: impl Fn(&Self) -> bool, context: &mut Context<'_>) -> Poll<()> {
        while holds(self) {
            match self.controls.poll(context) {
                Poll::Ready(Some(control)) => self.handle(control),
                Poll::Ready(None) => self.end(),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }

    /// Opens the end if it was never open, and waits for the reader to open. If `again`, also opens
    /// an end that has left. Returns the state: [`State::New`] for an end that has left if not
    /// `again`, and [`State::Closed`] if the channel is closed.
    fn poll_open(&mut self, again: bool, context: &mut Context<'_>) -> Poll<State> {
        if self.session == Session::Fresh || again && self.session == Session::Left {
            self.session = match self.alone {
                Some(_) => Session::Open,
                None => Session::Opening,
            };
            self.controls.send(Control::Open {
                alone: true,
                asked: false,
            });
        }
        self.poll_while(|end| end.session == Session::Opening, context)
            .map(|()| self.known())
    }

    #[inline]
    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        token: &mut Option<T>,
    ) -> Poll<Result<(), Stopped>> {
        if token.is_none() {
            return Poll::Ready(Ok(())); // already written
        }
        if self.session != Session::Open {
            match self.poll_open(false, context) {
                Poll::Ready(State::Open | State::Closing) => {}
                Poll::Ready(State::New | State::Closed) => return Poll::Ready(Err(Stopped)),
                Poll::Pending => return Poll::Pending,
            }
        }
        let polled = self.tokens.poll_put(context, token);
        match polled {
            Poll::Ready(Ok(())) => self.written += 1,
            Poll::Ready(Err(Stopped)) => self.end(),
            Poll::Pending => {}
        }
        polled
    }

    pub(super) fn poll_closing(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            match self.poll_open(false, context) {
                Poll::Ready(State::Open) => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
            match self.controls.poll(context) {
                Poll::Ready(Some(control)) => self.handle(control),
                Poll::Ready(None) => self.end(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    #[inline]
    pub(super) fn turn_away(&mut self) {
        self.tokens.turn_away();
        self.controls.input.turn_away();
    }
}

impl<T> Waits for FlowOutput<T> {
    #[inline]
    fn turn_away(&mut self) {
        FlowOutput::turn_away(self);
    }
}

impl<T> fmt::Debug for FlowOutput<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowOutput")
            .field("state", &self.known())
            .finish_non_exhaustive()
    }
}
