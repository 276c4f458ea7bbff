//! Select: one reader takes any available token of many writers.

use std::collections::BTreeSet;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Hooked;
use crate::kpn::channel::Take;
use crate::kpn::ports::Input;
use crate::kpn::select::Source;
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::scheduler::Scheduler;

/// Input bundle with N channels and one reader, which takes a token from any member that has one.
///
/// Members that have tokens are served in turn, so that none starves. The time of a read does not
/// depend on the number of members.
///
/// ```
/// use graphmap_runtime::{Local, Options, Select};
///
/// let mut net = Local::new();
/// let (outputs, inputs): (Vec<_>, Vec<_>) = (0..3).map(|_| net.channel::<u32>(4)).unzip();
/// for (n, mut output) in outputs.into_iter().enumerate() {
///     net.spawn(async move { output.write(n as u32 * 10).await });
/// }
/// net.spawn(async move {
///     let mut select = Select::from(inputs);
///     let mut sum = 0;
///     while let Some((member, token)) = select.read().await {
///         assert_eq!(token, member as u32 * 10);
///         sum += token;
///     }
///     assert_eq!(sum, 30);
/// });
/// net.run(&Options::new()).unwrap();
/// ```
pub struct Select<T> {
    members: Vec<Input<T>>,
    live: usize,
    connected: bool,
    /// Members whose end a `read` has found, and `read_or_end` has not reported yet.
    passed: BTreeSet<usize>,
    hooked: Hooked,
}

impl<T> From<Vec<Input<T>>> for Select<T> {
    fn from(members: Vec<Input<T>>) -> Self {
        let live = members.iter().filter(|input| input.is_connected()).count();
        Select {
            hooked: Hooked::new(members.len(), Side::Read),
            connected: live > 0,
            members,
            live,
            passed: BTreeSet::new(),
        }
    }
}

impl<T> Select<T> {
    /// Returns the number of members, including those at their end.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Returns true if a channel is connected to the port. The answer stays the same when members
    /// end, which [`read`](Self::read) and [`ended`](Self::ended) report.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Reads the next token, and returns it with the index of its member. Waits until a member has
    /// a token. Returns `None` when all members are at their end, or if there are none. If the
    /// future is dropped before it is ready, no token is taken.
    ///
    /// # Panics
    /// The future panics if it is polled outside of a run.
    pub async fn read(&mut self) -> Option<(usize, T)> {
        ReadSelect { select: self }.await
    }

    /// Reads the next token as `(member, Some(token))`, or the end of a member as `(member, None)`.
    /// Returns `None` when all members are at their end and each end has been reported.
    ///
    /// The end of a member is reported once, after all its tokens. A server thus learns which of
    /// its clients are gone. An end that [`read_from`](Self::read_from) has returned is not
    /// reported again. An end that [`read`](Self::read) has skipped is reported here. The end of a
    /// member without a channel is not reported.
    ///
    /// This can be a port of a [`select!`](crate::select!):
    /// `(client, request) = requests.read_or_end() => ..`. If the future is dropped before it is
    /// ready, no token and no end is lost. The future panics if it is polled outside of a run.
    ///
    /// ```
    /// # use graphmap_runtime::{Select, Stopped, Switch};
    /// async fn server(mut requests: Select<u64>, mut replies: Switch<u64>) {
    ///     let mut asked = vec![0; requests.members()];
    ///     while let Some((client, request)) = requests.read_or_end().await {
    ///         match request {
    ///             Some(number) => {
    ///                 asked[client] += 1;
    ///                 // The server goes on if a client has left before the answer.
    ///                 let _: Result<(), Stopped> = replies.write_to(client, number + 1).await;
    ///             }
    ///             None => println!("client {client} is gone, after {} requests", asked[client]),
    ///         }
    ///     }
    /// }
    /// ```
    pub fn read_or_end(&mut self) -> ReadOrEnd<'_, T> {
        ReadOrEnd { select: self }
    }

    /// Returns true if a read has found the end of a member. The first read after the member's last
    /// token finds that its writer has finished. A member without a channel is at its end from the
    /// start.
    ///
    /// # Panics
    /// Panics if the member does not exist.
    #[track_caller]
    pub fn ended(&self, member: usize) -> bool {
        match self.members.get(member) {
            Some(input) => !input.is_connected(),
            None => panic!(
                "select: member {member} does not exist: there are {}, numbered from 0",
                self.members.len()
            ),
        }
    }

    /// Reads the next token of one member. Waits while that member has no token. Returns `None`
    /// when it is at its end. If the future is dropped before it is ready, no token is taken.
    ///
    /// # Panics
    /// The future panics when it is polled, if the member does not exist or if this is outside of a
    /// run.
    pub async fn read_from(&mut self, member: usize) -> Option<T> {
        ReadFrom {
            select: self,
            member,
        }
        .await
    }

    /// Polls for the next token, as the future of [`read`](Self::read) does. While this is pending,
    /// the process counts as waiting for the port until it is woken, polls again, or calls
    /// [`turn_away`](Self::turn_away).
    ///
    /// # Panics
    /// Panics outside of a run.
    pub fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, T)>> {
        loop {
            match self.poll_change(context) {
                Poll::Ready(Some((member, Some(token)))) => {
                    return Poll::Ready(Some((member, token)));
                }
                Poll::Ready(Some((member, None))) => {
                    self.passed.insert(member);
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Polls for the next token as `(member, Some(token))`, or for the next end that no read has
    /// found before, as `(member, None)`. Ready with `None` when all members are at their end.
    ///
    /// # Panics
    /// Panics outside of a run.
    #[inline]
    pub(crate) fn poll_change(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<(usize, Option<T>)>> {
        loop {
            if let Some(change) = self.try_change() {
                return Poll::Ready(Some(change));
            }
            if self.live == 0 {
                return Poll::Ready(None);
            }
            self.hooked.wait(context, None);
            if self.hooked.ready.is_empty() {
                return Poll::Pending;
            }
        }
    }

    /// Returns a token or an end as [`Select::poll_change`] does, if one is available now. Returns
    /// `None` otherwise, also when all members are at their end.
    ///
    /// # Panics
    /// Panics outside of a run.
    #[inline]
    pub(crate) fn try_change(&mut self) -> Option<(usize, Option<T>)> {
        self.enter_run();
        while let Some(member) = self.hooked.ready.pop() {
            let at = member as usize;
            let taken = self.hooked.ready.about(member, || self.members[at].take());
            match taken {
                Take::Token(token) => {
                    self.hooked.ready.push(member);
                    return Some((at, Some(token)));
                }
                Take::End if self.leave(at) => return Some((at, None)),
                Take::End => {}
                Take::Empty => {
                    if !self.members[at].arm(self.hooked.hooks[at]) {
                        self.hooked.ready.push(member);
                    }
                }
            }
        }
        None
    }

    /// Polls for the next token of one member, as the future of [`read_from`](Self::read_from)
    /// does. Ready with `None` at the end of that member, which [`read_or_end`](Self::read_or_end)
    /// then no longer reports.
    ///
    /// # Panics
    /// Panics if the member does not exist, and outside of a run.
    fn poll_read_from(&mut self, member: usize, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut waits = false;
        loop {
            self.enter_run();
            match self.members[member].take() {
                Take::Token(token) => return Poll::Ready(Some(token)),
                Take::End => {
                    if !self.leave(member) {
                        self.passed.remove(&member);
                    }
                    return Poll::Ready(None);
                }
                Take::Empty if waits => return Poll::Pending,
                Take::Empty => {
                    if self.members[member].arm(self.hooked.hooks[member]) {
                        self.hooked.wait(context, Some(member as u32));
                        // Checks once more, because cloning a foreign waker runs user code.
                        waits = true;
                    }
                }
            }
        }
    }

    fn enter_run(&mut self) {
        let members = &self.members;
        let number = |scheduler: &Scheduler, member: usize| members[member].number(scheduler);
        self.hooked.enter_run(members.len(), number);
    }

    /// Cancels the wait of a pending [`poll_read`](Self::poll_read): the process no longer counts
    /// as waiting for the port.
    #[inline]
    pub fn turn_away(&mut self) {
        self.hooked.turn_away();
    }

    /// Records that a member is at its end. Returns true if that was not known before.
    fn leave(&mut self, member: usize) -> bool {
        let news = self.members[member].is_connected();
        if news {
            self.hooked.ready.leave(member as u32);
            self.members[member] = Input::unconnected();
            self.live -= 1;
        }
        news
    }
}

/// Future of [`Select::read_or_end`], which a [`select!`](crate::select!) can wait for.
#[must_use = "a read does nothing unless it is awaited"]
#[derive(Debug)]
pub struct ReadOrEnd<'a, T> {
    select: &'a mut Select<T>,
}

impl<T> Source for Select<T> {
    type Item = (usize, T);
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, T)>> {
        self.poll_read(context)
    }
    fn turn_away(&mut self) {
        Select::turn_away(self);
    }
}

impl<T> Source for ReadOrEnd<'_, T> {
    type Item = (usize, Option<T>);

    fn turn_away(&mut self) {
        self.select.turn_away();
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.select.passed.pop_first() {
            Some(member) => Poll::Ready(Some((member, None))),
            None => self.select.poll_change(context),
        }
    }
}

impl<T> Future for ReadOrEnd<'_, T> {
    type Output = Option<(usize, Option<T>)>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().poll_next(context)
    }
}

impl<T> Drop for ReadOrEnd<'_, T> {
    fn drop(&mut self) {
        self.select.turn_away();
    }
}

/// Future of [`Select::read`].
struct ReadSelect<'a, T> {
    select: &'a mut Select<T>,
}

impl<T> Future for ReadSelect<'_, T> {
    type Output = Option<(usize, T)>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().select.poll_read(context)
    }
}

impl<T> Drop for ReadSelect<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.select.turn_away();
    }
}

/// Future of [`Select::read_from`].
struct ReadFrom<'a, T> {
    select: &'a mut Select<T>,
    member: usize,
}

impl<T> Future for ReadFrom<'_, T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        this.select.poll_read_from(this.member, context)
    }
}

impl<T> Drop for ReadFrom<'_, T> {
    fn drop(&mut self) {
        self.select.turn_away();
    }
}

impl<T> fmt::Debug for Select<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select")
            .field("members", &self.members)
            .finish()
    }
}
