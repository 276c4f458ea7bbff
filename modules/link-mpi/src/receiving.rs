//! Messages that come: MPI has memory for them before they are there.
//!
//! Some receives of messages of frames, from whoever sends one, are with MPI at any time; the first message that comes is of the first of
//! them. What such a message announces has a receive of its own from then on. So nothing is looked for that nobody waits for, which
//! takes MPI as long again: it keeps it, and copies it once more.

use std::collections::VecDeque;
use std::time::Duration;

use graphmap_runtime::between::{Header, ReceivedSlices, SliceMemory};

use crate::calls::{MOST, Memory, Operation, World};
use crate::frames::{ANNOUNCED, Announced, Frames, Garbled, LONGEST, PACKED};
use crate::pool::Pool;

/// So many receives of messages of frames are with MPI.
const POSTED: usize = 8;
/// Most messages that are taken from MPI at a time.
const BATCH: usize = 64;
/// A message below this holds few frames.
const SMALL: usize = 256;
/// A message below this is copied, so that the memory that it came into is free again at once.
const COPIED: usize = 4 << 10;
/// How long MPI has to let go of a receive for which nothing comes any more.
const CANCELLING: Duration = Duration::from_secs(1);

/// A message that has come.
pub(crate) enum Come {
    Packed(Frames),
    Whole(Header, Vec<u8>),
    Sliced(Header, ReceivedSlices),
}

/// What is wrong with a message.
pub(crate) enum Wrong {
    Garbled,
    /// It is of another run than this: with what agreement.
    Other(u64),
}

impl From<Garbled> for Wrong {
    fn from(_: Garbled) -> Wrong {
        Wrong::Garbled
    }
}

/// One that is coming.
enum Coming {
    Packed(Frames),
    Whole(Header, Operation),
    Sliced(Header, ReceivedSlices, VecDeque<Operation>),
}

impl Coming {
    /// Whether all of it has come.
    fn is_done(&mut self) -> Result<bool, Garbled> {
        match self {
            Coming::Packed(_) => Ok(true),
            Coming::Whole(_, operation) => Ok(operation.is_done()),
            Coming::Sliced(_, slices, operations) => {
                while let Some(operation) = operations.front_mut() {
                    if !operation.is_done() {
                        return Ok(false);
                    }
                    let memory = operations.pop_front().map(Operation::into_memory);
                    let Some(Memory::Room(slice)) = memory else {
                        return Err(Garbled);
                    };
                    slices.add_slice(slice).map_err(|_| Garbled)?;
                }
                Ok(true)
            }
        }
    }

    fn into_come(self) -> Result<Come, Garbled> {
        Ok(match self {
            Coming::Packed(frames) => Come::Packed(frames),
            Coming::Whole(header, operation) => match operation.into_memory() {
                Memory::Bytes(bytes) => Come::Whole(header, bytes),
                _ => return Err(Garbled),
            },
            Coming::Sliced(header, slices, _) => Come::Sliced(header, slices),
        })
    }

    fn len(&self) -> usize {
        match self {
            Coming::Packed(_) => 0,
            Coming::Whole(_, operation) => operation.len(),
            Coming::Sliced(_, _, operations) => operations.iter().map(Operation::len).sum(),
        }
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Receiving {
    /// Receives of messages of frames, in the order in which MPI has them.
    posted: VecDeque<Operation>,
    /// Memory for more of them.
    spare: Vec<Vec<u8>>,
    /// Messages in the order in which they were sent by each.
    coming: VecDeque<(usize, Coming)>,
    /// Messages that have begun or ended.
    moved: u64,
}

impl Receiving {
    /// How many messages have begun or ended.
    pub(crate) fn moved(&self) -> u64 {
        self.moved
    }

    /// How many bytes are on their way that were announced.
    pub(crate) fn bytes(&self) -> usize {
        self.coming.iter().map(|(_, coming)| coming.len()).sum()
    }

    /// Whether something is on its way.
    pub(crate) fn is_coming(&self) -> bool {
        !self.coming.is_empty()
    }

    /// Keeps memory of a message of frames for the next one.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) {
        if bytes.capacity() == LONGEST && self.spare.len() < POSTED {
            self.spare.push(bytes);
        }
    }

    /// Has MPI have as many receives as it should.
    fn post(&mut self, world: &World) {
        while self.posted.len() < POSTED {
            let bytes = self.spare.pop().unwrap_or_default();
            let operation = world.receive(None, PACKED, Memory::Bytes(bytes), LONGEST);
            self.posted.push_back(operation);
        }
    }

    /// Takes messages of frames from MPI, and has it receive what they announce.
    pub(crate) fn look(
        &mut self,
        world: &World,
        agreement: u64,
        pool: &mut Pool,
    ) -> Result<(), (usize, Wrong)> {
        // Those of the last time: who looks has nothing more urgent to do.
        self.post(world);
        for _ in 0..BATCH {
            let Some((from, bytes)) = self.take_posted() else {
                break;
            };
            self.moved += 1;
            // To look once more takes about as long as to hand on what is small, for which somebody may wait.
            let small = bytes.len() < SMALL;
            self.open(world, from, bytes, agreement, pool)
                .map_err(|wrong| (from, wrong))?;
            if small {
                break;
            }
            if self.posted.is_empty() {
                self.post(world);
            }
        }
        Ok(())
    }

    /// The next message of frames, if it has come.
    fn take_posted(&mut self) -> Option<(usize, Vec<u8>)> {
        if !self.posted.front_mut()?.is_done() {
            return None;
        }
        let operation = self.posted.pop_front()?;
        let from = operation.source()?;
        let Memory::Bytes(bytes) = operation.into_memory() else {
            return None;
        };
        if bytes.len() >= COPIED {
            return Some((from, bytes));
        }
        let copy = bytes.clone();
        self.keep(bytes);
        Some((from, copy))
    }

    fn open(
        &mut self,
        world: &World,
        from: usize,
        bytes: Vec<u8>,
        agreement: u64,
        pool: &mut Pool,
    ) -> Result<(), Wrong> {
        let frames = Frames::new(bytes)?;
        let theirs = frames.agreement()?;
        if theirs != 0 && agreement != 0 && theirs != agreement {
            return Err(Wrong::Other(theirs));
        }
        let announced = match frames.announced()? {
            None => None,
            Some((header, Announced::Whole(len))) => {
                let len = (len <= MOST).then_some(len).ok_or(Garbled)?;
                let memory = Memory::Bytes(pool.memory(len));
                let operation = world.receive(Some(from), ANNOUNCED, memory, len);
                Some(Coming::Whole(header, operation))
            }
            Some((header, Announced::Sliced(head))) => {
                let slices = ReceivedSlices::new(head).map_err(|_| Garbled)?;
                let memories = slices.layouts().map(|(len, align)| {
                    let len = (len <= MOST).then_some(len).ok_or(Garbled)?;
                    SliceMemory::new(len, align).map_err(|_| Garbled)
                });
                // All before the first is received.
                let memories: Vec<SliceMemory> = memories.collect::<Result<_, _>>()?;
                let operations = memories.into_iter().map(|memory| {
                    let len = memory.size();
                    world.receive(Some(from), ANNOUNCED, Memory::Room(memory), len)
                });
                let operations = operations.collect();
                Some(Coming::Sliced(header, slices, operations))
            }
        };
        self.coming.push_back((from, Coming::Packed(frames)));
        self.coming
            .extend(announced.map(|announced| (from, announced)));
        Ok(())
    }

    /// Hands on what has come, in the order in which it was sent by each.
    pub(crate) fn take(
        &mut self,
        mut each: impl FnMut(usize, Come) -> Result<(), Wrong>,
    ) -> Result<(), (usize, Wrong)> {
        let mut pending: Vec<usize> = Vec::new();
        let mut at = 0;
        while let Some((from, coming)) = self.coming.get_mut(at) {
            let from = *from;
            let wrong = |_| (from, Wrong::Garbled);
            if pending.contains(&from) || !coming.is_done().map_err(wrong)? {
                pending.push(from);
                at += 1;
                continue;
            }
            let Some((_, coming)) = self.coming.remove(at) else {
                break;
            };
            self.moved += 1;
            let come = coming.into_come().map_err(wrong)?;
            each(from, come).map_err(|wrong| (from, wrong))?;
        }
        Ok(())
    }

    /// Cancels what MPI is to receive, when nothing is sent any more.
    pub(crate) fn cancel(&mut self) {
        for operation in self.posted.drain(..) {
            operation.cancel(CANCELLING);
        }
    }
}
