//! One writer to many readers, the same token to all.

use crate::exec::outcome::Stopped;
use crate::kpn::ports::Output;
use crate::kpn::stop::Stop;

/// One writer to N channels: every member gets every token.
///
/// Members are written in order, and each must have room. A reader that has left is passed by;
/// the request to stop comes when all have left.
#[derive(Debug)]
pub struct Broadcast<T> {
    members: Vec<Output<T>>,
    connected: bool,
}

impl<T> From<Vec<Output<T>>> for Broadcast<T> {
    fn from(members: Vec<Output<T>>) -> Self {
        Broadcast {
            connected: members.iter().any(Output::is_connected),
            members,
        }
    }
}

impl<T: Clone> Broadcast<T> {
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

    /// Writes a clone of the token to each member; the last gets the token itself. Dropping the
    /// future before it is ready leaves some members with the token and some without.
    ///
    /// # Errors
    /// [`Stopped`] when all readers have left.
    pub async fn write(&mut self, token: T) -> Result<(), Stopped> {
        let Some(last) = self.members.iter().rposition(Output::is_connected) else {
            return Err(Stopped);
        };
        for member in &mut self.members[..last] {
            if member.is_connected() && member.write(token.clone()).await.is_err() {
                *member = Output::unconnected();
            }
        }
        if self.members[last].write(token).await.is_err() {
            self.members[last] = Output::unconnected();
        }
        if self.members.iter().any(Output::is_connected) {
            Ok(())
        } else {
            Err(Stopped)
        }
    }
}
