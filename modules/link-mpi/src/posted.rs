//! Receives of frames that are posted before the frames arrive, several for each other OS process.
//!
//! MPI buffers a message that has no posted receive and copies it once more, which doubles its
//! time. Each receive names its source: over UCX, MPICH 5.0.2 loses messages for which there are
//! receives from any source (`benches/hosts/run any_source`).

use std::collections::VecDeque;
use std::time::Duration;

use crate::frames::{LONGEST, PACKED};
use crate::operation::{Memory, Operation};
use crate::world::World;

/// Total number of posted receives. Each other OS process gets an equal part, at least `LEAST` and
/// at most `MOST`.
const POSTED: usize = 16;
const LEAST: usize = 2;
const MOST: usize = 8;
/// A message below this size in bytes is copied, so that its buffer can be reused at once.
const COPIED: usize = 4 << 10;
/// Time limit for MPI to release a cancelled receive.
const CANCELLING: Duration = Duration::from_secs(1);

/// Posted receives from all other OS processes.
#[derive(Default)]
pub(crate) struct Posted {
    /// The other OS processes. The vectors below use the same indices.
    of: Vec<usize>,
    /// Receive of the next message of each OS process.
    fronts: Vec<Operation>,
    /// Further receives of each OS process.
    later: Vec<VecDeque<Operation>>,
    /// Indices of OS processes with too few receives.
    short: Vec<usize>,
    /// Buffers for further receives.
    spare: Vec<Vec<u8>>,
    /// Index that is tested first, for fairness.
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

    /// Returns the number of receives to post for each other OS process.
    fn each(&self) -> usize {
        (POSTED / self.of.len().max(1)).clamp(LEAST, MOST)
    }

    /// Posts another receive from the OS process at index `at`.
    fn post(&mut self, world: &World, at: usize) -> Operation {
        let bytes = self.spare.pop().unwrap_or_default();
        world.receive(self.of[at], PACKED, Memory::Bytes(bytes), LONGEST)
    }

    /// Posts receives in place of the receives that [`Posted::next`] has used.
    pub(crate) fn post_all(&mut self, world: &World) {
        while let Some(at) = self.short.pop() {
            let operation = self.post(world, at);
            self.later[at].push_back(operation);
        }
    }

    /// Returns the next message and its sender, or `None` if none has come. Does not block.
    /// Messages of one sender keep their order.
    ///
    /// The receive of the message is replaced by a later one, and [`Posted::post_all`] posts
    /// another. If no later one is left, another is posted at once. An error of MPI ends the job.
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

    /// Keeps the buffer of a message for reuse. Frees it if its capacity is not [`LONGEST`], or if
    /// enough are kept.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) {
        if bytes.capacity() == LONGEST && self.spare.len() < POSTED {
            self.spare.push(bytes);
        }
    }

    /// Cancels all receives. No message may be sent to this OS process any more. Blocks for at most
    /// [`CANCELLING`] for each receive.
    pub(crate) fn cancel(&mut self) {
        let later = self.later.drain(..).flatten();
        for operation in self.fronts.drain(..).chain(later) {
            operation.cancel(CANCELLING);
        }
        self.of.clear();
        self.short.clear();
    }
}
