//! Receives of frames that are posted before the frames arrive: some for each other OS process.
//!
//! MPI keeps a message without a posted receive and copies it once more, which doubles its time. No
//! receive is of any source: over UCX, MPICH 5.0.2 loses messages for which there are such receives
//! (`benches/hosts/run any_source`).

use std::collections::VecDeque;
use std::time::Duration;

use crate::frames::{LONGEST, PACKED};
use crate::operation::{Memory, Operation};
use crate::world::World;

/// So many are with MPI: of each other OS process its part of them, but so many at least, and at most.
const POSTED: usize = 16;
const LEAST: usize = 2;
const MOST: usize = 8;
/// A message below this is copied, so that the memory that it came into is free again at once.
const COPIED: usize = 4 << 10;
/// How long MPI has to let go of a receive for which nothing comes any more.
const CANCELLING: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Default)]
pub(crate) struct Posted {
    /// The OS processes that they are of.
    of: Vec<usize>,
    /// Of each the one of its next message.
    fronts: Vec<Operation>,
    /// And those behind it.
    later: Vec<VecDeque<Operation>>,
    /// Who has fewer than it should.
    short: Vec<usize>,
    /// Memory for more of them.
    spare: Vec<Vec<u8>>,
    /// Whom to ask for first, so that all have their turns.
    first: usize,
}

impl Posted {
    pub(crate) fn new(world: &World) -> Posted {
        let mut posted = Posted {
            of: (0..world.count()).filter(|&of| of != world.me()).collect(),
            ..Posted::default()
        };
        for at in 0..posted.of.len() {
            let next = posted.post(world, at);
            let later = (1..posted.each()).map(|_| posted.post(world, at));
            let later = later.collect();
            posted.fronts.push(next);
            posted.later.push(later);
        }
        posted
    }

    /// How many of each.
    fn each(&self) -> usize {
        (POSTED / self.of.len().max(1)).clamp(LEAST, MOST)
    }

    /// One more of the OS process at this place.
    fn post(&mut self, world: &World, at: usize) -> Operation {
        let bytes = self.spare.pop().unwrap_or_default();
        world.receive(self.of[at], PACKED, Memory::Bytes(bytes), LONGEST)
    }

    /// Has MPI have as many as it should.
    pub(crate) fn post_all(&mut self, world: &World) {
        while let Some(at) = self.short.pop() {
            let operation = self.post(world, at);
            self.later[at].push_back(operation);
        }
    }

    /// The next message, if one has come.
    pub(crate) fn next(&mut self, world: &World) -> Option<(usize, Vec<u8>)> {
        let at = Operation::any_done(&mut self.fronts, self.first)?;
        self.first = at + 1;
        let next = match self.later[at].pop_front() {
            Some(next) => {
                self.short.push(at);
                next
            }
            None => self.post(world, at),
        };
        let done = std::mem::replace(&mut self.fronts[at], next);
        let Memory::Bytes(bytes) = done.into_memory() else {
            return None;
        };
        if bytes.len() >= COPIED {
            return Some((self.of[at], bytes));
        }
        let copy = bytes.clone();
        self.keep(bytes);
        Some((self.of[at], copy))
    }

    /// Keeps memory of a message for another.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) {
        if bytes.capacity() == LONGEST && self.spare.len() < POSTED {
            self.spare.push(bytes);
        }
    }

    /// Cancels all, when nothing is sent any more.
    pub(crate) fn cancel(&mut self) {
        let later = self.later.drain(..).flatten();
        for operation in self.fronts.drain(..).chain(later) {
            operation.cancel(CANCELLING);
        }
        self.of.clear();
        self.short.clear();
    }
}
