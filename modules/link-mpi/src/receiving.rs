//! Messages that are received.
//!
//! MPI gets the memory for them before they arrive. For messages of frames, receives are posted at
//! any time (`posted.rs`). If there are many OS processes, such messages are found by probes
//! instead (`probed.rs`). For each message that these announce, a receive of its own is posted.

use std::collections::VecDeque;

use graphmap_runtime::between::{Header, ReceivedSlices, SliceMemory};

use crate::frames::{ANNOUNCED, Announced, Frames, Garbled};
use crate::operation::{ASKED, MOST, Memory, Operation};
use crate::pool::Pool;
use crate::posted::Posted;
use crate::probed::Probed;
use crate::world::World;

/// Largest number of messages that are taken from MPI at a time.
const BATCH: usize = 64;
/// A message below this size in bytes contains few frames.
const SMALL: usize = 256;

/// A message that has come.
pub(crate) enum Come {
    Packed(Frames),
    Whole(Header, Vec<u8>),
    Sliced(Header, ReceivedSlices),
}

/// Error in a message.
pub(crate) enum Wrong {
    Garbled,
    /// The message is from another program or network. Contains its agreement.
    Other(u64),
}

impl From<Garbled> for Wrong {
    fn from(_: Garbled) -> Wrong {
        Wrong::Garbled
    }
}

/// A message that is being received.
enum Coming {
    Packed(Frames),
    Whole(Header, Operation),
    Sliced(Header, ReceivedSlices, VecDeque<Operation>),
}

impl Coming {
    /// Returns true if all of it has come.
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

/// Messages of frames, in the order of sending for each sender.
enum Messages {
    Posted(Posted),
    Probed(Probed),
}

/// Messages from all other OS processes.
pub(crate) struct Receiving {
    frames: Messages,
    /// Messages in the order of sending for each sender.
    coming: VecDeque<(usize, Coming)>,
    /// Number of messages that have begun or ended.
    moved: u64,
}

impl Receiving {
    pub(crate) fn new(world: &World) -> Receiving {
        Receiving {
            frames: match world.count() > ASKED {
                true => Messages::Probed(Probed::default()),
                false => Messages::Posted(Posted::new(world)),
            },
            coming: VecDeque::new(),
            moved: 0,
        }
    }

    /// Returns the number of messages that have begun or ended.
    pub(crate) fn moved(&self) -> u64 {
        self.moved
    }

    /// Returns the number of announced bytes in transit.
    pub(crate) fn bytes(&self) -> usize {
        self.coming.iter().map(|(_, coming)| coming.len()).sum()
    }

    /// Returns true if a message is on its way.
    pub(crate) fn is_coming(&self) -> bool {
        let found = match &self.frames {
            Messages::Posted(_) => false,
            Messages::Probed(probed) => probed.is_coming(),
        };
        found || !self.coming.is_empty()
    }

    /// Keeps the memory of a message of frames for reuse.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) {
        if let Messages::Posted(posted) = &mut self.frames {
            posted.keep(bytes);
        }
    }

    /// Takes messages of frames from MPI, and posts receives for the messages that they announce.
    pub(crate) fn look(
        &mut self,
        world: &World,
        agreement: u64,
        pool: &mut Pool,
    ) -> Result<(), (usize, Wrong)> {
        if let Messages::Posted(posted) = &mut self.frames {
            // Receives that became due in the last call are posted now, when there is no urgent
            // work.
            posted.post_all(world);
        }
        for _ in 0..BATCH {
            let next = match &mut self.frames {
                Messages::Posted(posted) => posted.next(world),
                Messages::Probed(probed) => probed.next(world),
            };
            let Some((from, bytes)) = next else {
                break;
            };
            self.moved += 1;
            // Another poll takes about as long as handing on a small message, which a process may
            // wait for.
            let small = bytes.len() < SMALL;
            self.open(world, from, bytes, agreement, pool)
                .map_err(|wrong| (from, wrong))?;
            if small {
                break;
            }
        }
        Ok(())
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
                let operation = world.receive(from, ANNOUNCED, memory, len);
                Some(Coming::Whole(header, operation))
            }
            Some((header, Announced::Sliced(head))) => {
                let slices = ReceivedSlices::new(head).map_err(|_| Garbled)?;
                let memories = slices.layouts().map(|(len, align)| {
                    let len = (len <= MOST).then_some(len).ok_or(Garbled)?;
                    SliceMemory::new(len, align).map_err(|_| Garbled)
                });
                // All memory is allocated before the first slice is received.
                let memories: Vec<SliceMemory> = memories.collect::<Result<_, _>>()?;
                let operations = memories.into_iter().map(|memory| {
                    let len = memory.size();
                    world.receive(from, ANNOUNCED, Memory::Room(memory), len)
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

    /// Delivers the messages that have come, in the order of sending for each sender.
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

    /// Cancels pending receives. No message may be sent any more.
    pub(crate) fn cancel(&mut self) {
        if let Messages::Posted(posted) = &mut self.frames {
            posted.cancel();
        }
    }
}
