//! Broadcast: one writer sends the same token to many readers.

use crate::kpn::ports::Output;
use crate::kpn::stop::Stop;
use graphmap_executor::exec::outcome::Stopped;

/// Output bundle with one writer and N channels. Every member gets every token.
///
/// A write serves the members in order, and waits for space at each. Members whose readers share a
/// scheduler of another OS process come last, because one frame carries the token to all of them.
/// Members whose reader has left are skipped. A write fails with [`Stopped`] when all readers have
/// left.
#[derive(Debug)]
pub struct Broadcast<T> {
    members: Vec<Output<T>>,
    connected: bool,
    /// Groups of two or more members whose readers share a scheduler of another OS process.
    together: Vec<Vec<usize>>,
    /// All other members.
    alone: Vec<usize>,
}

impl<T> From<Vec<Output<T>>> for Broadcast<T> {
    fn from(members: Vec<Output<T>>) -> Self {
        let remote = |member: &usize| members[*member].remote().map(|output| output.peer());
        let mut order: Vec<usize> = (0..members.len()).collect();
        // Members whose readers are in this OS process sort first, and a stable sort keeps their
        // order.
        order.sort_by_key(remote);
        let groups = order.chunk_by(|a, b| remote(a).is_some() && remote(a) == remote(b));
        let (together, alone): (Vec<_>, Vec<_>) = groups.partition(|group| group.len() > 1);
        let mut alone = alone.concat();
        alone.sort_unstable();
        Broadcast {
            together: together.into_iter().map(<[usize]>::to_vec).collect(),
            alone,
            connected: members.iter().any(Output::is_connected),
            members,
        }
    }
}

impl<T: Clone> Broadcast<T> {
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

    /// Writes the token to each member, and clones it where necessary. Waits for space at each
    /// member. The tokens for readers that have left are dropped.
    ///
    /// If the future is dropped before it is ready, or the token's `clone` panics, some members
    /// have the token and others do not.
    ///
    /// # Errors
    /// Returns [`Stopped`] if no member got the token, because all readers have left or the port
    /// has no channel.
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run.
    pub async fn write(&mut self, token: T) -> Result<(), Stopped> {
        let connected = |member: &usize| self.members[*member].is_connected();
        let Some(last) = self.alone.iter().rposition(connected) else {
            return self.write_together(token).await;
        };
        for &member in &self.alone[..last] {
            let output = &mut self.members[member];
            if output.is_connected() && output.write(token.clone()).await.is_err() {
                *output = Output::unconnected();
            }
        }
        let output = &mut self.members[self.alone[last]];
        if self.together.is_empty() {
            if output.write(token).await.is_err() {
                *output = Output::unconnected();
            }
            return self.outcome();
        }
        if output.write(token.clone()).await.is_err() {
            *output = Output::unconnected();
        }
        self.write_together(token).await
    }

    /// Writes the token to the members in `together`, after the other members have got it. Waits
    /// for space at all members of a group before the token is sent to the group. A member whose
    /// reader has left becomes unconnected.
    ///
    /// # Errors
    /// Returns [`Stopped`] if no member of the whole bundle is connected any more.
    async fn write_together(&mut self, token: T) -> Result<(), Stopped> {
        let mut token = Some(token);
        for (at, group) in self.together.iter().enumerate() {
            for &member in group {
                let output = &mut self.members[member];
                if output.is_connected() {
                    output.room().await;
                }
            }
            // Each of them still has space if its reader has not left meanwhile.
            let mut ready = Vec::new();
            for &member in group {
                match self.members[member].remote() {
                    Some(output) if output.has_room() => ready.push(member),
                    _ => self.members[member] = Output::unconnected(),
                }
            }
            let mut outputs = ready
                .iter()
                .filter_map(|member| self.members[*member].remote());
            let (Some(first), Some(sent)) = (outputs.next(), &token) else {
                continue;
            };
            let also: Vec<_> = outputs.collect();
            if !first.send_to(sent, &also) {
                let is_last = at + 1 == self.together.len();
                let lent = if is_last { token.take() } else { token.clone() };
                lent.into_iter()
                    .for_each(|token| first.lend_to(token, &also));
            }
            for member in ready {
                self.members[member].count_written();
            }
        }
        self.outcome()
    }

    fn outcome(&self) -> Result<(), Stopped> {
        match self.members.iter().any(Output::is_connected) {
            true => Ok(()),
            false => Err(Stopped),
        }
    }
}
