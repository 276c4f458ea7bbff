//! Share: one writer sends each token to one of many readers.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Hooked;
use crate::kpn::channel::Put;
use crate::kpn::ports::Output;
use crate::kpn::stop::Stop;
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::outcome::Stopped;
use graphmap_executor::exec::scheduler::Scheduler;

/// Output bundle with one writer and N channels. Each token goes to exactly one member: the one
/// that has had space for the longest time. Readers that read more often therefore get more tokens.
pub struct Share<T> {
    members: Vec<Output<T>>,
    live: usize,
    connected: bool,
    hooked: Hooked,
}

impl<T> From<Vec<Output<T>>> for Share<T> {
    fn from(members: Vec<Output<T>>) -> Self {
        let live = members
            .iter()
            .filter(|output| output.is_connected())
            .count();
        Share {
            hooked: Hooked::new(members.len(), Side::Write),
            connected: live > 0,
            members,
            live,
        }
    }
}

impl<T> Share<T> {
    /// Returns the number of members, including those whose readers have left.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Returns true if a channel is connected to the port. The answer stays the same when readers
    /// leave, which [`write`](Self::write) and [`stopped`](Self::stopped) report.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Writes the token to one member, as soon as one has space, and returns the index of that
    /// member. Among several, it takes the member that has had space for the longest time. If the
    /// future is dropped before it is ready, the token is dropped unwritten.
    ///
    /// # Errors
    /// Returns [`Stopped`] if all readers have left, or if the port has no channel. The token is
    /// dropped.
    ///
    /// # Panics
    /// The future panics if it is polled outside of a run.
    pub async fn write(&mut self, token: T) -> Result<usize, Stopped> {
        let token = Some(token);
        WriteShare { share: self, token }.await
    }

    /// Waits until all readers have left, without writing. See [`Output::stopped`].
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
        loop {
            let members = &self.members;
            let number = |scheduler: &Scheduler, member: usize| members[member].number(scheduler);
            self.hooked.enter_run(members.len(), number);
            while let Some(member) = self.hooked.ready.pop() {
                let at = member as usize;
                let output = &mut self.members[at];
                match self.hooked.ready.about(member, || output.put(value)) {
                    Put::Done => {
                        self.hooked.ready.push(member);
                        return Poll::Ready(Ok(at));
                    }
                    Put::Stopped(back) => {
                        value = back;
                        if self.members[at].is_connected() {
                            self.hooked.ready.leave(member);
                            self.members[at] = Output::unconnected();
                            self.live -= 1;
                        }
                    }
                    Put::Full(back) => {
                        value = back;
                        if !self.members[at].arm(self.hooked.hooks[at]) {
                            self.hooked.ready.push(member);
                        }
                    }
                }
            }
            if self.live == 0 {
                return Poll::Ready(Err(Stopped));
            }
            self.hooked.wait(context, None);
            if self.hooked.ready.is_empty() {
                *token = Some(value);
                return Poll::Pending;
            }
        }
    }
}

/// Future of [`Share::write`].
struct WriteShare<'a, T> {
    share: &'a mut Share<T>,
    token: Option<T>,
}

// The token is moved out and never pinned.
impl<T> Unpin for WriteShare<'_, T> {}

impl<T> Future for WriteShare<'_, T> {
    type Output = Result<usize, Stopped>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.share.poll_write(context, &mut this.token)
    }
}

impl<T> Drop for WriteShare<'_, T> {
    fn drop(&mut self) {
        self.share.hooked.turn_away();
    }
}

impl<T> fmt::Debug for Share<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Share")
            .field("members", &self.members)
            .finish()
    }
}
