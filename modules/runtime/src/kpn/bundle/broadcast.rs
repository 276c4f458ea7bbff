//! One writer to many readers, the same token to all.

use crate::kpn::ports::Output;
use crate::kpn::stop::Stop;
use graphmap_executor::exec::outcome::Stopped;

/// One writer to N channels: every member gets every token.
///
/// Members are written in order, and each must have room; last come those whose readers are several in another OS process,
/// where a token goes once for all. A reader that has left is passed by; the request to stop comes when all have left.
#[derive(Debug)]
pub struct Broadcast<T> {
    members: Vec<Output<T>>,
    connected: bool,
    /// Members whose readers are on one scheduler of another OS process, where there are several.
    together: Vec<Vec<usize>>,
    /// All others.
    alone: Vec<usize>,
}

impl<T> From<Vec<Output<T>>> for Broadcast<T> {
    fn from(members: Vec<Output<T>>) -> Self {
        let far = |member: &usize| members[*member].far().map(|output| output.peer());
        let mut order: Vec<usize> = (0..members.len()).collect();
        // Those that are not far are first, and nothing changes places without need.
        order.sort_by_key(far);
        let groups = order.chunk_by(|a, b| far(a).is_some() && far(a) == far(b));
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
    /// future before it is ready leaves some members with the token and some without, and so does a panic of
    /// the token's `clone`.
    ///
    /// # Errors
    /// [`Stopped`] when all readers have left.
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

    /// Writes to those whose readers are together in other OS processes.
    async fn write_together(&mut self, token: T) -> Result<(), Stopped> {
        let mut token = Some(token);
        for (at, group) in self.together.iter().enumerate() {
            for &member in group {
                let output = &mut self.members[member];
                if output.is_connected() {
                    output.room().await;
                }
            }
            // None of them has lost its room meanwhile, some may have lost their readers.
            let mut ready = Vec::new();
            for &member in group {
                match self.members[member].far() {
                    Some(output) if output.has_room() => ready.push(member),
                    _ => self.members[member] = Output::unconnected(),
                }
            }
            let mut outputs = ready
                .iter()
                .filter_map(|member| self.members[*member].far());
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
