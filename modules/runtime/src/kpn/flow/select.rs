//! Many writers to one reader, which knows who is in.

use std::fmt;
use std::task::{Context, Poll};

use super::FlowInput;
use super::control::{CONTROLS, Control, Session, State, member_of, tell};
use super::waiting::{Until, Waits};
use crate::kpn::bundle::Select;
use crate::kpn::ports::Output;
use crate::kpn::select::Source;
use graphmap_executor::exec::current::with_current;

const _: () = assert!(CONTROLS >= 3); // a member hears that it is open, asked, and done

/// N flow-controlled channels to one reader: many to one.
///
/// Writers open, close and open anew as they like while one of them is open. When the last that is open closes, all that
/// was written is read, and then the channel is closed for ever, also for writers that never were open. The
/// reader asks all of them for the end by [`close`](Self::close).
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
    hears: Select<Control>,
    tells: Vec<Output<Control>>,
    members: Vec<Member>,
    /// How many are open, and whether any ever was.
    open: usize,
    was_open: bool,
    session: Session,
    asked: bool,
    connected: bool,
}

/// What is known of a writer.
#[derive(Clone, Copy, Default)]
struct Member {
    open: bool,
    /// It has opened, and that was not looked at yet.
    opens: bool,
    /// It was told that this end is open.
    told: bool,
    /// It was asked for the end.
    asked: bool,
    /// How many of its tokens were read since it opened, and how many there are, once it has closed.
    read: u64,
    until: Option<u64>,
}

/// Of an input that was used before, the bundle goes on where it was. Its writer was told that it is the only one, so
/// when that closes, it is for ever. The end was asked for if all inputs that are open have asked.
impl<T> From<Vec<FlowInput<T>>> for FlowSelect<T> {
    fn from(inputs: Vec<FlowInput<T>>) -> Self {
        let connected = inputs.iter().any(FlowInput::is_connected);
        let (mut tokens, mut hears, mut tells) = (Vec::new(), Vec::new(), Vec::new());
        let mut members = Vec::new();
        for input in inputs {
            let told = matches!(input.session, Session::Opening | Session::Open);
            members.push(Member {
                open: input.session == Session::Open,
                opens: input.writer_opened,
                told,
                asked: told && input.asked,
                read: input.read,
                until: input.until,
            });
            tokens.push(input.tokens);
            hears.push(input.line.hears);
            tells.push(input.line.tells);
        }
        let open = members.iter().filter(|member| member.open).count();
        let mut told = members.iter().filter(|member| member.told).peekable();
        let asked = told.peek().is_some() && told.all(|member| member.asked);
        FlowSelect {
            tokens: tokens.into(),
            hears: hears.into(),
            tells,
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
    /// How many writers there are, those that are not open included.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Whether any channel is joined to the port. It stays so when all are closed.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// How many writers are open, as far as this end has heard.
    pub fn open_members(&self) -> usize {
        self.open
    }

    /// Whether a writer is open, as far as this end has heard.
    ///
    /// # Panics
    /// If there is no such member.
    #[track_caller]
    pub fn is_open(&self, member: usize) -> bool {
        member_of(&self.members, member, "flow select").open
    }

    /// Opens this end, and waits until a writer has opened its: [`State::Open`] or [`State::Closing`], or
    /// [`State::Closed`] if the channel is closed for ever.
    pub fn open(&mut self) -> impl Future<Output = State> {
        let poll = Self::poll_open;
        Until { end: self, poll }
    }

    /// The next token and the position of the writer it came from; `None` when the channel is closed. Opens the end if it
    /// never was open. Dropping the future before it is ready takes no token.
    #[inline]
    pub fn read(&mut self) -> impl Future<Output = Option<(usize, T)>> {
        let poll = Self::poll_read;
        Until { end: self, poll }
    }

    /// Asks all writers to close, also those that open later: the channel goes on until the last has. Read
    /// on until there is no more. On an end that is not open this does nothing.
    pub fn close(&mut self) {
        if self.session == Session::Open && !self.asked {
            self.asked = true;
            for (member, tells) in self.members.iter_mut().zip(&mut self.tells) {
                if member.open && !std::mem::replace(&mut member.asked, true) {
                    tell(tells, Control::Ask);
                }
            }
        }
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

    /// Hears what is there, if this end is open: an answer says that it is.
    fn hear_all(&mut self) {
        while self.session == Session::Open
            && let Some((at, control)) = self.hears.try_change()
        {
            self.hear(at, control);
        }
        // Not before all is heard: another may have opened as the last closed.
        if self.session == Session::Open && self.was_open && self.open == 0 && !self.awaits_any() {
            self.end();
        }
    }

    /// Whether a writer that was told that this end is open has not been heard of: it may have written by now.
    fn awaits_any(&self) -> bool {
        self.members
            .iter()
            .any(|member| member.told && !member.open)
    }

    fn hear(&mut self, at: usize, control: Option<Control>) {
        match control {
            Some(Control::Open { .. }) => self.opens(at),
            Some(Control::Close { after }) => {
                self.members[at].until = Some(after);
                self.leave_if_read(at);
            }
            // Its tokens come to their end as well, and that counts. Who has not opened by now will not.
            None if !self.members[at].open => self.members[at].told = false,
            None => {}
            Some(Control::Ask | Control::Left { .. } | Control::Done) => {}
        }
    }

    /// A writer has opened, and is told that this end is open, and asked as the others were.
    fn opens(&mut self, at: usize) {
        let (alone, asked) = (self.members.len() == 1, self.asked);
        let member = &mut self.members[at];
        if !std::mem::replace(&mut member.open, true) {
            self.open += 1;
            self.was_open = true;
        }
        let asks = asked && !member.asked;
        member.asked |= asked;
        if !std::mem::replace(&mut member.told, true) {
            tell(&mut self.tells[at], Control::Open { alone, asked });
        } else if asks {
            tell(&mut self.tells[at], Control::Ask);
        }
    }

    /// A writer that has closed is out when all its tokens are read.
    fn leave_if_read(&mut self, at: usize) {
        let member = self.members[at];
        if member.open && member.until == Some(member.read) {
            self.leaves(at);
            tell(&mut self.tells[at], Control::Done);
        }
    }

    fn leaves(&mut self, at: usize) {
        if std::mem::take(&mut self.members[at]).open {
            self.open -= 1;
        }
    }

    /// The channel is closed. No token is left in it.
    fn end(&mut self) {
        self.session = Session::Closed;
        self.tokens = Vec::new().into();
        self.hears = Vec::new().into();
        self.tells = Vec::new();
        self.members.fill(Member::default());
        self.open = 0;
    }

    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<State> {
        self.begin();
        loop {
            self.hear_all();
            if self.open > 0 || self.session == Session::Closed {
                return Poll::Ready(self.known());
            }
            match self.hears.poll_change(context) {
                Poll::Ready(Some((at, control))) => self.hear(at, control),
                Poll::Ready(None) => self.end(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Polls for the next token: what [`read`](Self::read) awaits. Who polls by hand counts as waiting as with
    /// [`Input::poll_read`](crate::Input::poll_read).
    pub fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, T)>> {
        self.begin();
        loop {
            self.hear_all();
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
            match self.hears.poll_change(context) {
                Poll::Ready(Some((at, control))) => self.hear(at, control),
                // All have gone: the ends of their tokens are on their way.
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Says that nobody waits for the port any more, after [`poll_read`](Self::poll_read) was
    /// pending.
    #[inline]
    pub fn turn_away(&mut self) {
        self.tokens.turn_away();
        self.hears.turn_away();
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
