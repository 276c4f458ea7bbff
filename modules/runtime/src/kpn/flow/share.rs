//! A bundle of flow-controlled channels from one writer to many readers.

use std::collections::BTreeSet;
use std::fmt;
use std::task::{Context, Poll};

use super::FlowOutput;
use super::control::{Control, Session, State, member_of, send_control};
use super::waiting::{Until, Waits};
use crate::kpn::bundle::{Hooked, Select};
use crate::kpn::channel::Put;
use crate::kpn::ports::Output;
use graphmap_executor::exec::current::{waiting, with_current};
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::outcome::Stopped;
use graphmap_executor::exec::scheduler::Scheduler;

/// One writer to N flow-controlled channels (one to many). Each token goes to exactly one open
/// reader.
///
/// Readers may open, leave and open again while another reader is open. The last open reader can
/// only ask for the end. The writer gets this request by [`state`](Self::state) or
/// [`closing`](Self::closing).
///
/// Each token goes to the open reader that has had space for the longest time. With
/// [`round_robin`](Self::round_robin), the open readers take turns.
///
/// Requests to open or leave are handled when this end is used. If the writer does other work
/// meanwhile, the readers wait, unless it also waits for [`closing`](Self::closing).
///
/// ```
/// use graphmap_runtime::{FlowShare, Local, Options, State};
///
/// let mut net = Local::new();
/// let (writers, readers): (Vec<_>, Vec<_>) = (0..3).map(|_| net.flow_channel::<u32>(1)).unzip();
/// net.spawn(async move {
///     let mut share = FlowShare::from(writers);
///     for n in 0.. {
///         if share.state() == State::Closing {
///             break; // the last open reader has asked for the end
///         }
///         share.write(n).await?;
///     }
///     share.close();
///     Ok::<(), graphmap_runtime::Stopped>(())
/// });
/// for mut reader in readers {
///     net.spawn(async move {
///         let mut tokens = 0;
///         while let Some(_) = reader.read().await {
///             tokens += 1;
///             if tokens == 10 {
///                 reader.close();
///             }
///         }
///     });
/// }
/// net.run(&Options::new()).unwrap();
/// ```
pub struct FlowShare<T> {
    tokens: Vec<Output<T>>,
    control_inputs: Select<Control>,
    control_outputs: Vec<Output<Control>>,
    members: Vec<Member>,
    /// Indices of the open readers.
    open: BTreeSet<usize>,
    was_open: bool,
    /// The last open reader, if it has asked for the end.
    asks: Option<usize>,
    session: Session,
    /// Index at which the search for the next reader starts, if readers take turns.
    turn: Option<usize>,
    /// Index of the reader whose space is waited for.
    waits: Option<usize>,
    hooked: Hooked,
    connected: bool,
}

/// State of a reader, as this end knows it.
#[derive(Clone, Copy, Default)]
struct Member {
    /// True if the reader has opened, and this has not been handled yet.
    opens: bool,
    /// True if the reader has asked for the end, and this has not been handled yet.
    asks: bool,
    /// True if the reader has got the message that this end is open.
    is_informed: bool,
    /// Number of tokens written to the reader since it opened.
    written: u64,
}

/// Converts outputs, which may have been used before. The bundle continues in their state, and an
/// output that was closed stays closed.
impl<T> From<Vec<FlowOutput<T>>> for FlowShare<T> {
    fn from(outputs: Vec<FlowOutput<T>>) -> Self {
        let connected = outputs.iter().any(FlowOutput::is_connected);
        let (mut tokens, mut control_inputs, mut control_outputs) =
            (Vec::new(), Vec::new(), Vec::new());
        let (mut members, mut open) = (Vec::new(), BTreeSet::new());
        for (at, mut output) in outputs.into_iter().enumerate() {
            if output.session == Session::Left {
                output.end();
            }
            if output.session == Session::Open {
                open.insert(at);
            }
            members.push(Member {
                opens: output.session == Session::Fresh && output.alone.is_some(),
                asks: output.asked,
                is_informed: matches!(output.session, Session::Opening | Session::Open),
                written: output.written,
            });
            tokens.push(output.tokens);
            control_inputs.push(output.controls.input);
            control_outputs.push(output.controls.output);
        }
        FlowShare {
            hooked: Hooked::new(tokens.len(), Side::Write),
            tokens,
            control_inputs: control_inputs.into(),
            control_outputs,
            members,
            was_open: !open.is_empty(),
            open,
            asks: None,
            session: match connected {
                true => Session::Fresh,
                false => Session::Closed,
            },
            turn: None,
            waits: None,
            connected,
        }
    }
}

impl<T> FlowShare<T> {
    /// Lets the open readers take turns, in the order of members, from member 0 on. A token waits
    /// for space at the reader whose turn it is, even if others have space.
    #[must_use]
    pub fn round_robin(mut self) -> Self {
        self.turn = Some(0);
        self
    }

    /// Returns the number of readers, including those that are not open.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Returns true if any channel is joined to the port, even if all channels are closed.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Returns the number of open readers, as far as this end knows.
    pub fn open_members(&self) -> usize {
        self.open.len()
    }

    /// Returns true if the reader `member` is open, as far as this end knows.
    ///
    /// # Panics
    /// Panics if `member` is out of range.
    #[track_caller]
    pub fn is_open(&self, member: usize) -> bool {
        member_of(&self.members, member, "flow share");
        self.open.contains(&member)
    }

    /// Opens this end and waits until a reader has opened.
    ///
    /// Returns [`State::Open`] or [`State::Closing`], or [`State::Closed`] if the channel is closed
    /// for good.
    ///
    /// # Panics
    /// The future panics if it is polled outside of a run, unless the channel is closed.
    pub fn open(&mut self) -> impl Future<Output = State> {
        let poll = Self::poll_open;
        Until { end: self, poll }
    }

    /// Writes a token to an open reader and returns the index of that reader. Waits until an open
    /// reader has space.
    ///
    /// Opens this end if it was never open, and waits for a reader to open. Dropping the future
    /// before it is ready drops the token, unwritten.
    ///
    /// # Errors
    /// Returns [`Stopped`] if the channel is closed. The token is dropped.
    ///
    /// # Panics
    /// The future panics if it is polled outside of a run, unless the channel is closed.
    #[inline]
    pub fn write(&mut self, token: T) -> impl Future<Output = Result<usize, Stopped>> {
        let mut token = Some(token);
        let poll =
            move |end: &mut Self, context: &mut Context<'_>| end.poll_write(context, &mut token);
        Until { end: self, poll }
    }

    /// Closes the channel for good, also if this end was never open. Tokens that were written can
    /// still be read.
    pub fn close(&mut self) {
        self.end();
    }

    /// Returns the state of the channel, as far as this end knows: [`State::New`] before a reader
    /// is open. Outside of a run, returns the state that this end knew before. A process that calls
    /// this is not deterministic, because the result depends on the speed of other processes.
    pub fn state(&mut self) -> State {
        if with_current(|_| ()).is_some() {
            self.handle_all();
        }
        self.known()
    }

    fn known(&self) -> State {
        match self.session {
            Session::Closed => State::Closed,
            Session::Open if self.open.is_empty() => State::New,
            Session::Open if self.asks.is_some() => State::Closing,
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
        }
        // Requests are handled after all opens, because the last open reader can only ask.
        for at in 0..self.members.len() {
            if std::mem::take(&mut self.members[at].asks) && self.open.contains(&at) {
                self.asks(at);
            }
        }
    }

    /// Handles pending control tokens if this end is open. Otherwise it must not answer, because an
    /// answer means that this end is open. Closes the channel if the last open reader is gone.
    ///
    /// # Panics
    /// Panics outside of a run, if this end is open.
    fn handle_all(&mut self) {
        while self.session == Session::Open
            && let Some((at, control)) = self.control_inputs.try_change()
        {
            self.handle(at, control);
        }
        // Checked after all controls are handled, because one reader may open when the last one
        // leaves.
        if self.session == Session::Open && self.was_open && self.open.is_empty() {
            self.end();
        }
    }

    fn handle(&mut self, at: usize, control: Option<Control>) {
        match control {
            Some(Control::Open { .. }) => self.opens(at),
            Some(Control::Ask) if self.open.contains(&at) => self.asks(at),
            Some(Control::Ask) => {}
            None => self.gone(at),
            Some(Control::Close { .. } | Control::Left { .. } | Control::Done) => {}
        }
    }

    /// Marks a reader as open, and sends it the message that this end is open, unless it was sent
    /// before. Then handles the request of the last open reader to leave, if there is one: it is no
    /// longer the last. Panics outside of a run.
    fn opens(&mut self, at: usize) {
        if self.open.insert(at) {
            self.was_open = true;
            self.members[at].written = 0;
            let number = waiting(|scheduler| self.tokens[at].number(scheduler));
            self.hooked.enter(at as u32, number);
        }
        if !std::mem::replace(&mut self.members[at].is_informed, true) {
            let (alone, asked) = (false, false);
            send_control(
                &mut self.control_outputs[at],
                Control::Open { alone, asked },
            );
        }
        // The reader that has asked for the end is no longer the last.
        if let Some(asks) = self.asks.take() {
            self.asks(asks);
        }
    }

    /// Handles a request to leave. The reader leaves and gets a confirmation, unless it is the only
    /// open reader. In that case its request is stored.
    fn asks(&mut self, at: usize) {
        if self.open.len() == 1 {
            self.asks = Some(at);
            return;
        }
        self.leaves(at);
        let after = self.members[at].written;
        send_control(&mut self.control_outputs[at], Control::Left { after });
    }

    /// Removes a reader from the open readers, so that it gets no more tokens. Cancels a wait for
    /// its space.
    fn leaves(&mut self, at: usize) {
        self.open.remove(&at);
        self.members[at].is_informed = false;
        self.hooked.ready.leave(at as u32);
        if self.waits == Some(at) {
            self.turn_away_from(at);
        }
    }

    /// Removes a reader that was dropped.
    fn gone(&mut self, at: usize) {
        self.leaves(at);
        self.asks = self.asks.filter(|&asks| asks != at);
        self.tokens[at] = Output::unconnected();
    }

    /// Closes the channel for good, and removes all readers from it.
    fn end(&mut self) {
        self.session = Session::Closed;
        (0..self.tokens.len()).for_each(|at| self.gone(at));
        self.control_inputs = Vec::new().into();
        self.control_outputs = Vec::new();
    }

    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<State> {
        self.begin();
        loop {
            self.handle_all();
            if !self.open.is_empty() || self.session == Session::Closed {
                return Poll::Ready(self.known());
            }
            match self.control_inputs.poll_change(context) {
                Poll::Ready(Some((at, control))) => self.handle(at, control),
                Poll::Ready(None) => self.end(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        token: &mut Option<T>,
    ) -> Poll<Result<usize, Stopped>> {
        loop {
            match self.poll_open(context) {
                Poll::Ready(State::Closed) => return Poll::Ready(Err(Stopped)),
                Poll::Ready(_) => {}
                Poll::Pending => return Poll::Pending,
            }
            let put = match self.turn {
                Some(turn) => self.poll_turn(turn, context, token),
                None => self.poll_any(context, token),
            };
            match put {
                Poll::Ready(Ok(at)) => {
                    self.members[at].written += 1;
                    return Poll::Ready(Ok(at));
                }
                Poll::Ready(Err(Stopped)) if token.is_none() => return Poll::Ready(Err(Stopped)),
                Poll::Ready(Err(Stopped)) => continue,
                Poll::Pending => {}
            }
            match self.control_inputs.poll_change(context) {
                Poll::Ready(Some((at, control))) => self.handle(at, control),
                // Unreachable, because an open reader has not been dropped.
                Poll::Ready(None) => self.end(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Writes the token to the reader whose turn it is, and returns the index of the reader. `turn`
    /// is the index at which the search for an open reader starts.
    ///
    /// # Errors
    /// Returns [`Stopped`] if the write must be tried again. The token is then still in `token`,
    /// unless `token` was `None`.
    fn poll_turn(
        &mut self,
        turn: usize,
        context: &mut Context<'_>,
        token: &mut Option<T>,
    ) -> Poll<Result<usize, Stopped>> {
        let next = self.open.range(turn..).next().or(self.open.first());
        let (Some(&at), Some(value)) = (next, token.take()) else {
            return Poll::Ready(Err(Stopped));
        };
        match self.tokens[at].put(value) {
            Put::Done => {
                self.turn = Some(at + 1);
                return Poll::Ready(Ok(at));
            }
            Put::Stopped(back) => {
                *token = Some(back);
                self.gone(at);
                return Poll::Ready(Err(Stopped));
            }
            Put::Full(back) => *token = Some(back),
        }
        // The turn may have moved to another reader, which has opened in the meantime.
        if let Some(before) = self.waits.filter(|&before| before != at) {
            self.turn_away_from(before);
        }
        self.waits = Some(at);
        match self.tokens[at].wait_for_room(context) {
            true => Poll::Pending,
            false => Poll::Ready(Err(Stopped)),
        }
    }

    /// Writes the token to the open reader that has had space for the longest time, and returns its
    /// index. Waits if no open reader has space. Panics outside of a run.
    ///
    /// # Errors
    /// Returns [`Stopped`] if the reader has left and the write must be tried again. The token is
    /// then still in `token`, unless `token` was `None`.
    fn poll_any(
        &mut self,
        context: &mut Context<'_>,
        token: &mut Option<T>,
    ) -> Poll<Result<usize, Stopped>> {
        let Some(mut value) = token.take() else {
            return Poll::Ready(Err(Stopped));
        };
        loop {
            let (members, open) = (&self.tokens, &self.open);
            let number = |scheduler: &Scheduler, at: usize| {
                let number = open.contains(&at).then(|| members[at].number(scheduler));
                number.flatten()
            };
            self.hooked.enter_run(members.len(), number);
            while let Some(member) = self.hooked.ready.pop() {
                let at = member as usize;
                if !self.open.contains(&at) {
                    continue; // it is listed again when it opens
                }
                let output = &mut self.tokens[at];
                match self.hooked.ready.about(member, || output.put(value)) {
                    Put::Done => {
                        self.hooked.ready.push(member);
                        return Poll::Ready(Ok(at));
                    }
                    Put::Stopped(back) => {
                        *token = Some(back);
                        self.gone(at);
                        return Poll::Ready(Err(Stopped));
                    }
                    Put::Full(back) => {
                        value = back;
                        if !self.tokens[at].arm(self.hooked.hooks[at]) {
                            self.hooked.ready.push(member);
                        }
                    }
                }
            }
            self.hooked.wait(context, None);
            if self.hooked.ready.is_empty() {
                *token = Some(value);
                return Poll::Pending;
            }
        }
    }

    pub(super) fn poll_closing(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            match self.poll_open(context) {
                Poll::Ready(State::Closing | State::Closed) => return Poll::Ready(()),
                Poll::Ready(_) => {}
                Poll::Pending => return Poll::Pending,
            }
            match self.control_inputs.poll_change(context) {
                Poll::Ready(Some((at, control))) => self.handle(at, control),
                Poll::Ready(None) => self.end(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn turn_away_from(&mut self, at: usize) {
        self.tokens[at].turn_away();
        self.waits = None;
    }

    #[inline]
    pub(super) fn turn_away(&mut self) {
        self.hooked.turn_away();
        self.control_inputs.turn_away();
        if let Some(at) = self.waits {
            self.turn_away_from(at);
        }
    }
}

impl<T> Waits for FlowShare<T> {
    #[inline]
    fn turn_away(&mut self) {
        FlowShare::turn_away(self);
    }
}

impl<T> fmt::Debug for FlowShare<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowShare")
            .field("state", &self.known())
            .field("members", &self.members.len())
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}
