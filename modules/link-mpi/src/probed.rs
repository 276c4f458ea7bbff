//! Messages of frames that are looked for by matched probes: where there are too many OS processes to have memory for what each sends next,
//! and to ask for all of them.

use std::collections::VecDeque;

use crate::frames::PACKED;
use crate::operation::{Memory, Operation};
use crate::world::World;

/// Most messages that are matched and have not come.
const MATCHED: usize = 64;

/// See the module.
#[derive(Default)]
pub(crate) struct Probed {
    /// Those that are matched, in the order in which they were.
    matched: VecDeque<(usize, Operation)>,
}

impl Probed {
    /// Whether something is on its way.
    pub(crate) fn is_coming(&self) -> bool {
        !self.matched.is_empty()
    }

    /// The next message, if one has come: it overtakes those of others, and none of the same OS process.
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
