//! Many writers to one reader, which takes what comes.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use super::{Hooked, waiting};
use crate::kpn::channel::Take;
use crate::kpn::ports::Input;

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
    hooked: Hooked,
}

impl<T> From<Vec<Input<T>>> for Select<T> {
    fn from(members: Vec<Input<T>>) -> Self {
        let live = members.iter().filter(|input| input.is_connected()).count();
        Select {
            hooked: Hooked::new(members.len()),
            members,
            live,
        }
    }
}

impl<T> Select<T> {
    /// How many members there are, those at their end included.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Whether any channel is joined to the port and not yet at its end.
    pub fn is_connected(&self) -> bool {
        self.live > 0
    }

    /// The next token and the position of the member it came from; `None` when all members are
    /// at their end. Dropping the future before it is ready takes no token.
    pub async fn read(&mut self) -> Option<(usize, T)> {
        poll_fn(|context| self.poll_read(context)).await
    }

    /// The next token of one member; `None` when that one is at its end.
    ///
    /// # Panics
    /// If there is no such member.
    pub async fn read_from(&mut self, member: usize) -> Option<T> {
        poll_fn(|context| self.poll_read_from(member, context)).await
    }

    /// Polls for the next token: what [`read`](Self::read) awaits.
    pub fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, T)>> {
        while let Some(member) = self.hooked.ready.pop() {
            let at = member as usize;
            match self.members[at].take() {
                Take::Token(token) => {
                    self.hooked.ready.push(member);
                    return Poll::Ready(Some((at, token)));
                }
                Take::End => self.leave(at),
                Take::Empty => {
                    if !self.arm(at) {
                        self.hooked.ready.push(member);
                    }
                }
            }
        }
        if self.live == 0 {
            return Poll::Ready(None);
        }
        waiting(|scheduler| {
            self.hooked.wait(scheduler, context);
            if scheduler.probing() {
                let live = self.members.iter().filter(|input| input.is_connected());
                live.for_each(|input| input.note(scheduler));
            }
        });
        Poll::Pending
    }

    fn poll_read_from(&mut self, member: usize, context: &mut Context<'_>) -> Poll<Option<T>> {
        loop {
            match self.members[member].take() {
                Take::Token(token) => return Poll::Ready(Some(token)),
                Take::End => {
                    self.leave(member);
                    return Poll::Ready(None);
                }
                Take::Empty if self.arm(member) => break,
                Take::Empty => {}
            }
        }
        waiting(|scheduler| {
            self.hooked.wait(scheduler, context);
            if scheduler.probing() {
                self.members[member].note(scheduler);
            }
        });
        Poll::Pending
    }

    fn arm(&mut self, member: usize) -> bool {
        let hook = waiting(|s| self.hooked.hook(s, member, self.members.len()));
        self.members[member].arm(hook)
    }

    fn leave(&mut self, member: usize) {
        if self.members[member].is_connected() {
            self.members[member] = Input::unconnected();
            self.live -= 1;
        }
    }
}

impl<T> fmt::Debug for Select<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select")
            .field("members", &self.members)
            .finish()
    }
}
