//! One writer to many readers, a token of its own to each.

use crate::kpn::ports::Output;
use crate::kpn::stop::Stop;
use graphmap_executor::exec::outcome::Stopped;

/// One writer to N channels: a row of N tokens is dealt out, one to each member.
///
/// Members are written in order, and each must have room. The token for a reader that has left
/// is dropped; the request to stop comes when all have left.
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
    /// How many members there are, those that have left included.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Whether any channel is joined to the port. It stays so when readers leave: that is told by
    /// [`write`](Self::write) and [`stopped`](Self::stopped).
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// Waits until all readers have left, without writing: as [`Output::stopped`].
    pub fn stopped(&mut self) -> Stop<'_, T> {
        Stop::all(&mut self.members)
    }

    /// Writes the first token to the first member, and so on.
    ///
    /// # Errors
    /// [`Stopped`] when all readers have left.
    ///
    /// # Panics
    /// At the call, if there are not as many tokens as members.
    #[track_caller]
    pub fn write(&mut self, row: Vec<T>) -> impl Future<Output = Result<(), Stopped>> {
        let (tokens, members) = (row.len(), self.members.len());
        assert!(
            tokens == members,
            "scatter: {tokens} tokens for {members} members: expected one for each, see \
             `.members()`"
        );
        self.deal(row)
    }

    async fn deal(&mut self, row: Vec<T>) -> Result<(), Stopped> {
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
