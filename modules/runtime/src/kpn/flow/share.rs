//! One writer to many readers, which knows who is in.

use std::collections::BTreeSet;
use std::fmt;
use std::task::{Context, Poll};

use super::FlowOutput;
use super::control::{Control, Session, State, member_of, tell};
use super::waiting::{Until, Waits};
use crate::kpn::bundle::{Hooked, Select};
use crate::kpn::channel::Put;
use crate::kpn::ports::Output;
use graphmap_executor::exec::current::{waiting, with_current};
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::outcome::Stopped;
use graphmap_executor::exec::scheduler::Scheduler;

/// One writer to N flow-controlled channels: one to many. A token goes to exactly one reader that is open.
///
/// Readers open, leave and open anew as they like while another is open; the last can only ask for the end, which the
/// writer learns by [`state`](Self::state) or [`closing`](Self::closing). Each token goes to the reader that
/// has had room for longest, by its credits; or, [`round_robin`](Self::round_robin), to one after the other.
///
/// Who opens or leaves is looked at when this end is used. A writer that is busy with other things
/// keeps them waiting, unless it waits for [`closing`](Self::closing) as well.
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
///             break; // two have left, and the last would like to
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
    hears: Select<Control>,
    tells: Vec<Output<Control>>,
    members: Vec<Member>,
    /// Those that are open, and whether any ever was.
    open: BTreeSet<usize>,
    was_open: bool,
    /// The last that is open, if it has asked for the end.
    asks: Option<usize>,
    session: Session,
    /// Whose turn it is, if they take turns.
    turn: Option<usize>,
    /// The one at which is waited for room.
    waits: Option<usize>,
    hooked: Hooked,
    connected: bool,
}

/// What is known of a reader.
#[derive(Clone, Copy, Default)]
struct Member {
    /// It has opened, and that was not looked at yet.
    opens: bool,
    /// It has asked for the end, and that was not looked at yet.
    asks: bool,
    /// It was told that this end is open.
    told: bool,
    /// How many tokens it was handed since it opened.
    written: u64,
}

/// Of an output that was used before, the bundle goes on where it was; one that has closed stays closed.
impl<T> From<Vec<FlowOutput<T>>> for FlowShare<T> {
    fn from(outputs: Vec<FlowOutput<T>>) -> Self {
        let connected = outputs.iter().any(FlowOutput::is_connected);
        let (mut tokens, mut hears, mut tells) = (Vec::new(), Vec::new(), Vec::new());
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
                told: matches!(output.session, Session::Opening | Session::Open),
                written: output.written,
            });
            tokens.push(output.tokens);
            hears.push(output.line.hears);
            tells.push(output.line.tells);
        }
        FlowShare {
            hooked: Hooked::new(tokens.len(), Side::Write),
            tokens,
            hears: hears.into(),
            tells,
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
    /// Has the readers that are open take turns, in the order of members: a token waits for room at the one whose turn it
    /// is, whatever room others have.
    #[must_use]
    pub fn round_robin(mut self) -> Self {
        self.turn = Some(0);
        self
    }

    /// How many readers there are, those that are not open included.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Whether any channel is joined to the port. It stays so when all are closed.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// How many readers are open, as far as this end has heard.
    pub fn open_members(&self) -> usize {
        self.open.len()
    }

    /// Whether a reader is open, as far as this end has heard.
    ///
    /// # Panics
    /// If there is no such member.
    #[track_caller]
    pub fn is_open(&self, member: usize) -> bool {
        member_of(&self.members, member, "flow share");
        self.open.contains(&member)
    }

    /// Opens this end, and waits until a reader has opened its: [`State::Open`] or [`State::Closing`], or
    /// [`State::Closed`] if the channel is closed for ever.
    pub fn open(&mut self) -> impl Future<Output = State> {
        let poll = Self::poll_open;
        Until { end: self, poll }
    }

    /// Writes the token to one reader that is open, as soon as one has room, and tells which. Opens the end if it never was
    /// open, and waits for a reader to open. Dropping the future before it is ready drops the token, unwritten.
    ///
    /// # Errors
    /// [`Stopped`] if the channel is closed: the token is dropped.
    #[inline]
    pub fn write(&mut self, token: T) -> impl Future<Output = Result<usize, Stopped>> {
        let mut token = Some(token);
        let poll =
            move |end: &mut Self, context: &mut Context<'_>| end.poll_write(context, &mut token);
        Until { end: self, poll }
    }

    /// Closes the channel for ever; what was written will be read.
    pub fn close(&mut self) {
        self.end();
    }

    /// What the channel is, as far as this end knows now. What it answers depends on how fast others are, so a process
    /// that asks is not deterministic.
    pub fn state(&mut self) -> State {
        if with_current(|_| ()).is_some() {
            self.hear_all();
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
        // Not before it is known who is open: of these the last can only ask.
        for at in 0..self.members.len() {
            if std::mem::take(&mut self.members[at].asks) && self.open.contains(&at) {
                self.asks(at);
            }
        }
    }

    /// Hears what is there, if this end is open: an answer says that it is.
    fn hear_all(&mut self) {
        while self.session == Session::Open
            && let Some((at, control)) = self.hears.try_change()
        {
            self.hear(at, control);
        }
        // Not before all is heard: another may have opened as the last went.
        if self.session == Session::Open && self.was_open && self.open.is_empty() {
            self.end();
        }
    }

    fn hear(&mut self, at: usize, control: Option<Control>) {
        match control {
            Some(Control::Open { .. }) => self.opens(at),
            Some(Control::Ask) if self.open.contains(&at) => self.asks(at),
            Some(Control::Ask) => {}
            None => self.gone(at),
            Some(Control::Close { .. } | Control::Left { .. } | Control::Done) => {}
        }
    }

    /// A reader has opened, and is told that this end is open.
    fn opens(&mut self, at: usize) {
        if self.open.insert(at) {
            self.was_open = true;
            self.members[at].written = 0;
            let number = waiting(|scheduler| self.tokens[at].number(scheduler));
            self.hooked.enter(at as u32, number);
        }
        if !std::mem::replace(&mut self.members[at].told, true) {
            let (alone, asked) = (false, false);
            tell(&mut self.tells[at], Control::Open { alone, asked });
        }
        // It is not the last any more.
        if let Some(asks) = self.asks.take() {
            self.asks(asks);
        }
    }

    /// A reader would like to leave: it does, unless it is the last.
    fn asks(&mut self, at: usize) {
        if self.open.len() == 1 {
            self.asks = Some(at);
            return;
        }
        self.leaves(at);
        let after = self.members[at].written;
        tell(&mut self.tells[at], Control::Left { after });
    }

    /// A reader gets no more tokens.
    fn leaves(&mut self, at: usize) {
        self.open.remove(&at);
        self.members[at].told = false;
        self.hooked.ready.leave(at as u32);
        if self.waits == Some(at) {
            self.turn_away_from(at);
        }
    }

    /// A reader was dropped.
    fn gone(&mut self, at: usize) {
        self.leaves(at);
        self.asks = self.asks.filter(|&asks| asks != at);
        self.tokens[at] = Output::unconnected();
    }

    /// The channel is closed.
    fn end(&mut self) {
        self.session = Session::Closed;
        (0..self.tokens.len()).for_each(|at| self.gone(at));
        self.hears = Vec::new().into();
        self.tells = Vec::new();
    }

    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<State> {
        self.begin();
        loop {
            self.hear_all();
            if !self.open.is_empty() || self.session == Session::Closed {
                return Poll::Ready(self.known());
            }
            match self.hears.poll_change(context) {
                Poll::Ready(Some((at, control))) => self.hear(at, control),
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
            match self.hears.poll_change(context) {
                Poll::Ready(Some((at, control))) => self.hear(at, control),
                // A reader is open, so it has not gone: this cannot be.
                Poll::Ready(None) => self.end(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Writes to the one whose turn it is; an error: it has gone, and the token is still there.
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
        // It may be the turn of another than before, who has opened meanwhile.
        if let Some(before) = self.waits.filter(|&before| before != at) {
            self.turn_away_from(before);
        }
        self.waits = Some(at);
        match self.tokens[at].wait_for_room(context) {
            true => Poll::Pending,
            false => Poll::Ready(Err(Stopped)),
        }
    }

    /// Writes to the one that has had room for longest.
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
                    continue; // it is put there when it opens
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
            match self.hears.poll_change(context) {
                Poll::Ready(Some((at, control))) => self.hear(at, control),
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
        self.hears.turn_away();
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
