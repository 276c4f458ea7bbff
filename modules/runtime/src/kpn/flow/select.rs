//! Flow-controlled select: one reader, and many writers that open and close.

use std::fmt;
use std::task::{Context, Poll};

use super::FlowInput;
use super::control::{CONTROLS, Control, Session, State, member_of, send_control};
use super::waiting::{Until, Waits};
use crate::kpn::bundle::Select;
use crate::kpn::ports::Output;
use crate::kpn::select::Source;
use graphmap_executor::exec::current::with_current;

const _: () = assert!(CONTROLS >= 3); // a member receives Open, Ask and Done

/// Input bundle with N flow-controlled channels and one reader.
///
/// Writers may open, close and open again while one of them is open. When the last open one closes,
/// the remaining tokens are read. Then the channel is closed, which is final, also for writers that
/// were never open. The reader asks all of them for the end by [`close`](Self::close).
///
/// ```
/// use graphmap_runtime::{FlowSelect, Local, Options, State};
///
/// let mut net = Local::new();
/// let (writers, readers): (Vec<_>, Vec<_>) = (0..3).map(|_| net.flow_channel::<u32>(1)).unzip();
/// for (n, mut writer) in writers.into_iter().enumerate() {
///     net.spawn(async move {
///         for visit in 0..3 {
///             if writer.open().await == State::Closed {
///                 return; // no other was open
///             }
///             writer.write(n as u32 * 10 + visit).await.unwrap();
///             writer.close();
///         }
///     });
/// }
/// net.spawn(async move {
///     let mut select = FlowSelect::from(readers);
///     while let Some((member, token)) = select.read().await {
///         assert_eq!(token / 10, member as u32);
///     }
///     assert_eq!(select.state(), State::Closed);
/// });
/// net.run(&Options::new()).unwrap();
/// ```
pub struct FlowSelect<T> {
    tokens: Select<T>,
    control_inputs: Select<Control>,
    control_outputs: Vec<Output<Control>>,
    members: Vec<Member>,
    /// Number of open writers, and whether any was ever open.
    open: usize,
    was_open: bool,
    session: Session,
    asked: bool,
    connected: bool,
}

/// State of a writer.
#[derive(Clone, Copy, Default)]
struct Member {
    open: bool,
    /// It has opened, and this end has not handled that yet.
    opens: bool,
    /// It knows that this end is open.
    is_informed: bool,
    /// It was asked for the end.
    asked: bool,
    /// Number of its tokens read since it opened, and their final number, once it has closed.
    read: u64,
    until: Option<u64>,
}

/// Creates a bundle that continues from the state of inputs that were used before. The writer of
/// such an input was informed that it is the only one, so its close is final. The end counts as
/// asked for if all inputs that have opened have asked.
impl<T> From<Vec<FlowInput<T>>> for FlowSelect<T> {
    fn from(inputs: Vec<FlowInput<T>>) -> Self {
        let connected = inputs.iter().any(FlowInput::is_connected);
        let (mut tokens, mut control_inputs, mut control_outputs) =
            (Vec::new(), Vec::new(), Vec::new());
        let mut members = Vec::new();
        for input in inputs {
            let is_informed = matches!(input.session, Session::Opening | Session::Open);
            members.push(Member {
                open: input.session == Session::Open,
                opens: input.writer_opened,
                is_informed,
                asked: is_informed && input.asked,
                read: input.read,
                until: input.until,
            });
            tokens.push(input.tokens);
            control_inputs.push(input.controls.input);
            control_outputs.push(input.controls.output);
        }
        let open = members.iter().filter(|member| member.open).count();
        let mut informed = members
            .iter()
            .filter(|member| member.is_informed)
            .peekable();
        let asked = informed.peek().is_some() && informed.all(|member| member.asked);
        FlowSelect {
            tokens: tokens.into(),
            control_inputs: control_inputs.into(),
            control_outputs,
            members,
            open,
            was_open: open > 0,
            session: match connected {
                true => Session::Fresh,
                false => Session::Closed,
            },
            asked,
            connected,
        }
    }
}

impl<T> FlowSelect<T> {
    /// Returns the number of writers, open or not.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Returns true if the port has channels, which may be closed.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Returns the number of open writers, as far as this end knows.
    pub fn open_members(&self) -> usize {
        self.open
    }

    /// Returns true if the writer is open, as far as this end knows.
    ///
    /// # Panics
    /// Panics if there is no such member.
    #[track_caller]
    pub fn is_open(&self, member: usize) -> bool {
        member_of(&self.members, member, "flow select").open
    }

    /// Opens this end, and waits until a writer has opened. Returns [`State::Open`] or
    /// [`State::Closing`], or [`State::Closed`] if the channel is closed.
    ///
    /// # Panics
    /// The future panics if it is polled outside of a run, unless the channel is closed.
    pub fn open(&mut self) -> impl Future<Output = State> {
        let poll = Self::poll_open;
        Until { end: self, poll }
    }

    /// Reads the next token, and returns it with the index of its writer. Returns `None` when the
    /// channel is closed. Opens the end if it was never open. If the future is dropped before it is
    /// ready, no token is taken.
    ///
    /// # Panics
    /// The future panics if it is polled outside of a run, unless the channel is closed.
    #[inline]
    pub fn read(&mut self) -> impl Future<Output = Option<(usize, T)>> {
        let poll = Self::poll_read;
        Until { end: self, poll }
    }

    /// Asks all writers to close, even if they open later. Afterwards, read until there are no more
    /// tokens: the channel is closed when the last writer has closed. This does nothing if the end
    /// is closed or was never opened by [`open`](Self::open) or [`read`](Self::read), or if it has
    /// asked before.
    pub fn close(&mut self) {
        if self.session == Session::Open && !self.asked {
            self.asked = true;
            for (member, output) in self.members.iter_mut().zip(&mut self.control_outputs) {
                if member.open && !std::mem::replace(&mut member.asked, true) {
                    send_control(output, Control::Ask);
                }
            }
        }
    }

    /// Returns the state of the channel, as far as this end knows it now: [`State::New`] before a
    /// writer is open. Outside of a run, returns the state that this end knew before. The result
    /// depends on the speed of other processes, so a process that uses it is not deterministic.
    pub fn state(&mut self) -> State {
        if with_current(|_| ()).is_some() {
            self.handle_all();
        }
        self.known()
    }

    fn known(&self) -> State {
        match self.session {
            Session::Closed => State::Closed,
            Session::Open if self.open == 0 => State::New,
            Session::Open if self.asked => State::Closing,
            Session::Open => State::Open,
            Session::Fresh | Session::Opening | Session::Left => State::New,
        }
    }

    fn begin(&mut self) {
        if self.session != Session::Fresh {
            return;
        }
        self.session = Session::Open;
        for at in 0..self.members.len() {
            if std::mem::take(&mut self.members[at].opens) {
                self.opens(at);
            }
            self.leave_if_read(at);
        }
    }

    /// Handles the control tokens that are here, if this end is open. The answers report that it
    /// is. Closes the channel if the last open writer has closed and no other can still open.
    ///
    /// # Panics
    /// Panics outside of a run, if this end is open.
    fn handle_all(&mut self) {
        while self.session == Session::Open
            && let Some((at, control)) = self.control_inputs.try_change()
        {
            self.handle(at, control);
        }
        // All control tokens come first, because another writer may have opened before the last one
        // closed.
        if self.session == Session::Open && self.was_open && self.open == 0 && !self.awaits_any() {
            self.end();
        }
    }

    /// Returns true if a writer that knows this end as open has not reported that it is open. It
    /// may have written tokens.
    fn awaits_any(&self) -> bool {
        self.members
            .iter()
            .any(|member| member.is_informed && !member.open)
    }

    fn handle(&mut self, at: usize, control: Option<Control>) {
        match control {
            Some(Control::Open { .. }) => self.opens(at),
            Some(Control::Close { after }) => {
                self.members[at].until = Some(after);
                self.leave_if_read(at);
            }
            // The end of its tokens follows, and is handled then. A writer that has not opened by
            // now never will.
            None if !self.members[at].open => self.members[at].is_informed = false,
            None => {}
            Some(Control::Ask | Control::Left { .. } | Control::Done) => {}
        }
    }

    /// Handles a writer that has opened: reports that this end is open, and asks for the end if
    /// others were asked.
    fn opens(&mut self, at: usize) {
        let (alone, asked) = (self.members.len() == 1, self.asked);
        let member = &mut self.members[at];
        if !std::mem::replace(&mut member.open, true) {
            self.open += 1;
            self.was_open = true;
        }
        let asks = asked && !member.asked;
        member.asked |= asked;
        if !std::mem::replace(&mut member.is_informed, true) {
            send_control(
                &mut self.control_outputs[at],
                Control::Open { alone, asked },
            );
        } else if asks {
            send_control(&mut self.control_outputs[at], Control::Ask);
        }
    }

    /// If a writer has closed and all its tokens are read, removes it from the open writers and
    /// reports that to it.
    fn leave_if_read(&mut self, at: usize) {
        let member = self.members[at];
        if member.open && member.until == Some(member.read) {
            self.leaves(at);
            send_control(&mut self.control_outputs[at], Control::Done);
        }
    }

    fn leaves(&mut self, at: usize) {
        if std::mem::take(&mut self.members[at]).open {
            self.open -= 1;
        }
    }

    /// Closes the channel, in which no token is left.
    fn end(&mut self) {
        self.session = Session::Closed;
        self.tokens = Vec::new().into();
        self.control_inputs = Vec::new().into();
        self.control_outputs = Vec::new();
        self.members.fill(Member::default());
        self.open = 0;
    }

    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<State> {
        self.begin();
        loop {
            self.handle_all();
            if self.open > 0 || self.session == Session::Closed {
                return Poll::Ready(self.known());
            }
            match self.control_inputs.poll_change(context) {
                Poll::Ready(Some((at, control))) => self.handle(at, control),
                Poll::Ready(None) => self.end(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Polls for the next token, as the future of [`read`](Self::read) does. While this is pending,
    /// the process counts as waiting for the port until it is woken, polls again, or calls
    /// [`turn_away`](Self::turn_away).
    ///
    /// # Panics
    /// Panics outside of a run, unless the channel is closed.
    pub fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, T)>> {
        self.begin();
        loop {
            self.handle_all();
            if self.session == Session::Closed {
                return Poll::Ready(None);
            }
            match self.tokens.poll_change(context) {
                Poll::Ready(Some((at, Some(token)))) => {
                    self.members[at].read += 1;
                    self.leave_if_read(at);
                    return Poll::Ready(Some((at, token)));
                }
                Poll::Ready(Some((at, None))) => {
                    self.leaves(at);
                    continue;
                }
                Poll::Ready(None) => {
                    self.end();
                    continue;
                }
                Poll::Pending => {}
            }
            match self.control_inputs.poll_change(context) {
                Poll::Ready(Some((at, control))) => self.handle(at, control),
                // If all writers have been dropped, the ends of their tokens are on their way.
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Cancels the wait of a pending [`poll_read`](Self::poll_read): the process no longer counts
    /// as waiting for the port.
    #[inline]
    pub fn turn_away(&mut self) {
        self.tokens.turn_away();
        self.control_inputs.turn_away();
    }
}

impl<T> Waits for FlowSelect<T> {
    #[inline]
    fn turn_away(&mut self) {
        FlowSelect::turn_away(self);
    }
}

impl<T> Source for FlowSelect<T> {
    type Item = (usize, T);

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, T)>> {
        self.poll_read(context)
    }

    fn turn_away(&mut self) {
        FlowSelect::turn_away(self);
    }
}

impl<T> fmt::Debug for FlowSelect<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowSelect")
            .field("state", &self.known())
            .field("members", &self.members.len())
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}
