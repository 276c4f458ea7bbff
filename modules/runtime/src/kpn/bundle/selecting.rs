//! Many writers to one reader, which takes what comes.

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

/// N channels to one reader.
///
/// Members that have tokens take turns, so none is left out. The time of a read does not depend
/// on the number of members.
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
    /// Members whose end a `read` has passed by, and that `read_or_end` has not told yet.
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
    /// How many members there are, those at their end included.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Whether any channel is joined to the port. It stays so when members come to their end:
    /// that is told by [`read`](Self::read) and [`ended`](Self::ended).
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// The next token and the position of the member it came from; `None` when all members are
    /// at their end. Dropping the future before it is ready takes no token.
    pub async fn read(&mut self) -> Option<(usize, T)> {
        ReadSelect { select: self }.await
    }

    /// The next token as `(member, Some(token))`, or the end of a member as `(member, None)`;
    /// `None` when all members are at their end and each end has been told.
    ///
    /// Each member's end is told once, after all its tokens, so a server learns which of its
    /// clients are gone. An end that [`read_from`](Self::read_from) has told is not told again; one
    /// that [`read`](Self::read) has passed by is. In a [`select!`](crate::select!) it is a port
    /// like any other: `(client, request) = requests.read_or_end() => ..`. Dropping the future
    /// before it is ready takes nothing.
    ///
    /// ```
    /// # use graphmap_runtime::{Select, Stopped, Switch};
    /// async fn server(mut requests: Select<u64>, mut replies: Switch<u64>) {
    ///     let mut asked = vec![0; requests.members()];
    ///     while let Some((client, request)) = requests.read_or_end().await {
    ///         match request {
    ///             Some(number) => {
    ///                 asked[client] += 1;
    ///                 // A client that does not wait for the answer is no reason to end.
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

    /// Whether a member is at its end, as far as reads have told: one whose writer has finished
    /// is found to be at its end by the read that comes after its last token. A member that is
    /// joined to nothing is at its end from the start.
    ///
    /// # Panics
    /// If there is no such member.
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

    /// The next token of one member; `None` when that one is at its end.
    ///
    /// # Panics
    /// If there is no such member.
    pub async fn read_from(&mut self, member: usize) -> Option<T> {
        ReadFrom {
            select: self,
            member,
        }
        .await
    }

    /// Polls for the next token: what [`read`](Self::read) awaits. Who polls by hand counts as
    /// waiting as with [`Input::poll_read`].
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

    /// The next token, or the next end that no read has come to before.
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

    /// As [`Select::poll_change`], of what is there.
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
                        // Once more, for that was code of the user if the waker is foreign.
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

    /// Says that nobody waits for the port any more, after [`poll_read`](Self::poll_read) was
    /// pending.
    #[inline]
    pub fn turn_away(&mut self) {
        self.hooked.turn_away();
    }

    /// Notes that a member is at its end; whether that is news.
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

/// The future of [`Select::read_or_end`], which a [`select!`](crate::select!) can wait for.
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

/// The future of [`Select::read`].
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

/// The future of [`Select::read_from`].
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
