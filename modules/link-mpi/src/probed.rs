//! Receives messages of frames by matched probes. This is used if there are too many OS processes
//! to post receives from each of them and to test all these receives.

use std::collections::VecDeque;

use crate::frames::PACKED;
use crate::operation::{Memory, Operation};
use crate::world::World;

/// Largest number of matched messages that have not arrived.
const MATCHED: usize = 64;

/// Messages that are found by matched probes.
#[derive(Default)]
pub(crate) struct Probed {
    /// Matched messages in the order of matching.
    matched: VecDeque<(usize, Operation)>,
}

impl Probed {
    /// Returns true if a message was matched that [`Probed::next`] has not returned yet.
    pub(crate) fn is_coming(&self) -> bool {
        !self.matched.is_empty()
    }

    /// Matches a further message, if one has come and fewer than [`MATCHED`] are pending. Returns
    /// the next message that has come completely, and its sender, or `None`. Does not block. The
    /// message may overtake messages of other OS processes, but not of the same one.
    pub(crate) fn next(&mut self, world: &World) -> Option<(usize, Vec<u8>)> {
        if self.matched.len() < MATCHED {
            let memory = |_| Memory::Bytes(Vec::new());
            self.matched.extend(world.find(PACKED, memory));
        }
        let mut pending: Vec<usize> = Vec::new();
        let at = self.matched.iter_mut().position(|(from, operation)| {
            let is_next = !pending.contains(from) && operation.is_done();
            pending.push(*from);
            is_next
        })?;
        let (from, operation) = self.matched.remove(at)?;
        match operation.into_memory() {
            Memory::Bytes(bytes) => Some((from, bytes)),
            _ => None,
        }
    }
}
