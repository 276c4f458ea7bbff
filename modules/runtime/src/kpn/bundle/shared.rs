//! One writer to many readers, each token to one of them.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use super::{Hooked, waiting};
use crate::exec::outcome::Stopped;
use crate::kpn::channel::Put;
use crate::kpn::ports::Output;
use crate::kpn::stop::Stop;

/// One writer to N channels: a token goes to exactly one member, to the one that has had room
/// for longest. So readers that ask more often get more.
pub struct Share<T> {
    members: Vec<Output<T>>,
    live: usize,
    hooked: Hooked,
}

impl<T> From<Vec<Output<T>>> for Share<T> {
    fn from(members: Vec<Output<T>>) -> Self {
        let live = members
            .iter()
            .filter(|output| output.is_connected())
            .count();
        Share {
            hooked: Hooked::new(members.len()),
            members,
            live,
        }
    }
}

impl<T> Share<T> {
    /// How many members there are, those that have left included.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Whether any channel is joined to the port whose reader has not left, as far as is known.
    pub fn is_connected(&self) -> bool {
        self.live > 0
    }

    /// Writes the token to one member, as soon as one has room, and tells which.
    ///
    /// # Errors
    /// [`Stopped`] when all readers have left: the token is dropped.
    pub async fn write(&mut self, token: T) -> Result<usize, Stopped> {
        let mut token = Some(token);
        poll_fn(|context| self.poll_write(context, &mut token)).await
    }

    /// Waits until all readers have left, without writing: as [`Output::stopped`].
    pub fn stopped(&mut self) -> Stop<'_, T> {
        Stop::shared(&mut self.members, &self.hooked.ready)
    }

    fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        token: &mut Option<T>,
    ) -> Poll<Result<usize, Stopped>> {
        let Some(mut value) = token.take() else {
            return Poll::Ready(Err(Stopped));
        };
        while let Some(member) = self.hooked.ready.pop() {
            let at = member as usize;
            match self.members[at].put(value) {
                Put::Done => {
                    self.hooked.ready.push(member);
                    return Poll::Ready(Ok(at));
                }
                Put::Stopped(back) => {
                    value = back;
                    if self.members[at].is_connected() {
                        self.members[at] = Output::unconnected();
                        self.live -= 1;
                    }
                }
                Put::Full(back) => {
                    value = back;
                    let hook = waiting(|s| self.hooked.hook(s, at, self.members.len()));
                    if !self.members[at].arm(hook) {
                        self.hooked.ready.push(member);
                    }
                }
            }
        }
        if self.live == 0 {
            return Poll::Ready(Err(Stopped));
        }
        *token = Some(value);
        waiting(|scheduler| {
            self.hooked.wait(scheduler, context);
            if scheduler.probing() {
                let live = self.members.iter().filter(|output| output.is_connected());
                live.for_each(|output| output.note(scheduler));
            }
        });
        Poll::Pending
    }
}

impl<T> fmt::Debug for Share<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Share")
            .field("members", &self.members)
            .finish()
    }
}
