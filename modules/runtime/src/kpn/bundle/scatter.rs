//! Scatter: one writer sends a different token to each of many readers.

use crate::kpn::ports::Output;
use crate::kpn::stop::Stop;
use graphmap_executor::exec::outcome::Stopped;

/// Output bundle with one writer and N channels. A write distributes a row of N tokens, one to each
/// member.
///
/// A write serves the members in order, and waits for space at each. The token for a reader that
/// has left is dropped. A write fails with [`Stopped`] when all readers have left.
#[derive(Debug)]
pub struct Scatter<T> {
    members: Vec<Output<T>>,
    connected: bool,
}

impl<T> From<Vec<Output<T>>> for Scatter<T> {
    fn from(members: Vec<Output<T>>) -> Self {
        Scatter {
            connected: members.iter().any(Output::is_connected),
            members,
        }
    }
}

impl<T> Scatter<T> {
    /// Returns the number of members, including those whose readers have left.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Returns true if a channel is connected to the port. The answer stays the same when readers
    /// leave, which [`write`](Self::write) and [`stopped`](Self::stopped) report.
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Waits until all readers have left, without writing. See [`Output::stopped`].
    pub fn stopped(&mut self) -> Stop<'_, T> {
        Stop::all(&mut self.members)
    }

    /// Writes the first token to the first member, and so on. Waits for space at each member. The
    /// token for a reader that has left is dropped, which is no error if another member got its
    /// token.
    ///
    /// If the future is dropped before it is ready, some members have their tokens, and the other
    /// tokens are dropped.
    ///
    /// # Errors
    /// Returns [`Stopped`] if no member got its token, because all readers have left or the port
    /// has no channel.
    ///
    /// # Panics
    /// Panics at the call if the number of tokens differs from the number of members. The future
    /// panics if it must wait outside of a process of a run.
    #[track_caller]
    pub fn write(&mut self, row: Vec<T>) -> impl Future<Output = Result<(), Stopped>> {
        let (tokens, members) = (row.len(), self.members.len());
        assert!(
            tokens == members,
            "scatter: {tokens} tokens for {members} members: expected one for each, see \
             `.members()`"
        );
        self.write_row(row)
    }

    async fn write_row(&mut self, row: Vec<T>) -> Result<(), Stopped> {
        for (member, token) in self.members.iter_mut().zip(row) {
            if member.is_connected() && member.write(token).await.is_err() {
                *member = Output::unconnected();
            }
        }
        if self.members.iter().any(Output::is_connected) {
            Ok(())
        } else {
            Err(Stopped)
        }
    }
}
