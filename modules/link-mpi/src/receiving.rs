//! Messages that are received.
//!
//! MPI gets the memory for them before they arrive. For messages of frames, receives are posted at
//! any time (`posted.rs`). If there are many OS processes, such messages are found by probes
//! instead (`probed.rs`). For each message that these announce, a receive of its own is posted.

use std::collections::VecDeque;

use graphmap_runtime::between::{Header, ReceivedSlices, SliceMemory};

use crate::frames::{ANNOUNCED, Announced, Frames, InvalidMessage};
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
pub(crate) enum Received {
    Packed(Frames),
    Whole(Header, Vec<u8>),
    Sliced(Header, ReceivedSlices),
}

/// Error in a message.
pub(crate) enum MessageError {
    InvalidMessage,
    /// The message is from another program or network. Contains its agreement.
    Other(u64),
}

impl From<InvalidMessage> for MessageError {
    fn from(_: InvalidMessage) -> MessageError {
        MessageError::InvalidMessage
    }
}

/// A message that is being received.
enum Incoming {
    Packed(Frames),
    Whole(Header, Operation),
    Sliced(Header, ReceivedSlices, VecDeque<Operation>),
}

impl Incoming {
    /// Returns true if all of the message has come. Adds the slices that have come to the message.
    ///
    /// # Errors
    /// Returns [`InvalidMessage`] if a slice does not belong to the message.
    fn is_done(&mut self) -> Result<bool, InvalidMessage> {
        match self {
            Incoming::Packed(_) => Ok(true),
            Incoming::Whole(_, operation) => Ok(operation.is_done()),
            Incoming::Sliced(_, slices, operations) => {
                while let Some(operation) = operations.front_mut() {
                    if !operation.is_done() {
                        return Ok(false);
                    }
                    let memory = operations.pop_front().map(Operation::into_memory);
                    let Some(Memory::Room(slice)) = memory else {
                        return Err(InvalidMessage);
                    };
                    slices.add_slice(slice).map_err(|_| InvalidMessage)?;
                }
                Ok(true)
            }
        }
    }

    fn into_received(self) -> Result<Received, InvalidMessage> {
        Ok(match self {
            Incoming::Packed(frames) => Received::Packed(frames),
            Incoming::Whole(header, operation) => match operation.into_memory() {
                Memory::Bytes(bytes) => Received::Whole(header, bytes),
                _ => return Err(InvalidMessage),
            },
            Incoming::Sliced(header, slices, _) => Received::Sliced(header, slices),
        })
    }

    fn len(&self) -> usize {
        match self {
            Incoming::Packed(_) => 0,
            Incoming::Whole(_, operation) => operation.len(),
            Incoming::Sliced(_, _, operations) => operations.iter().map(Operation::len).sum(),
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
    coming: VecDeque<(usize, Incoming)>,
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

    /// Returns a counter that grows when a message of frames comes, and when [`Receiving::take`]
    /// delivers a message.
    pub(crate) fn moved(&self) -> u64 {
        self.moved
    }

    /// Returns the number of bytes of announced messages that were not delivered yet.
    pub(crate) fn bytes(&self) -> usize {
        self.coming.iter().map(|(_, coming)| coming.len()).sum()
    }

    /// Returns true if a message was matched, or taken from MPI, or announced, and not delivered
    /// yet. Posted receives of frames do not count.
    pub(crate) fn is_coming(&self) -> bool {
        let found = match &self.frames {
            Messages::Posted(_) => false,
            Messages::Probed(probed) => probed.is_coming(),
        };
        found || !self.coming.is_empty()
    }

    /// Keeps the memory of a message of frames for reuse. Frees it if messages are found by probes.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) {
        if let Messages::Posted(posted) = &mut self.frames {
            posted.keep(bytes);
        }
    }

    /// Takes messages of frames from MPI, and posts receives for the messages that they announce.
    /// Takes at most [`BATCH`], and none after one with less than [`SMALL`] bytes.
    /// [`Receiving::take`] delivers them. `agreement` belongs to this OS process.
    ///
    /// # Errors
    /// Returns the sender of a message that is invalid, or that is from another program or network,
    /// and the error. This message is dropped. The following ones stay in MPI.
    pub(crate) fn poll(
        &mut self,
        world: &World,
        agreement: u64,
        pool: &mut Pool,
    ) -> Result<(), (usize, MessageError)> {
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

    /// Opens a message of frames, and posts receives for the message that it announces.
    ///
    /// # Errors
    /// Returns an error if the message is invalid, announces a message that is too large or whose
    /// memory cannot be allocated, or has another agreement. An agreement of 0 fits any other.
    fn open(
        &mut self,
        world: &World,
        from: usize,
        bytes: Vec<u8>,
        agreement: u64,
        pool: &mut Pool,
    ) -> Result<(), MessageError> {
        let frames = Frames::new(bytes)?;
        let theirs = frames.agreement()?;
        if theirs != 0 && agreement != 0 && theirs != agreement {
            return Err(MessageError::Other(theirs));
        }
        let announced = match frames.announced()? {
            None => None,
            Some((header, Announced::Whole(len))) => {
                let len = (len <= MOST).then_some(len).ok_or(InvalidMessage)?;
                let memory = Memory::Bytes(pool.memory(len));
                let operation = world.receive(from, ANNOUNCED, memory, len);
                Some(Incoming::Whole(header, operation))
            }
            Some((header, Announced::Sliced(head))) => {
                let slices = ReceivedSlices::new(head).map_err(|_| InvalidMessage)?;
                let memories = slices.layouts().map(|(len, align)| {
                    let len = (len <= MOST).then_some(len).ok_or(InvalidMessage)?;
                    SliceMemory::new(len, align).map_err(|_| InvalidMessage)
                });
                // All memory is allocated before the first slice is received.
                let memories: Vec<SliceMemory> = memories.collect::<Result<_, _>>()?;
                let operations = memories.into_iter().map(|memory| {
                    let len = memory.size();
                    world.receive(from, ANNOUNCED, Memory::Room(memory), len)
                });
                let operations = operations.collect();
                Some(Incoming::Sliced(header, slices, operations))
            }
        };
        self.coming.push_back((from, Incoming::Packed(frames)));
        self.coming
            .extend(announced.map(|announced| (from, announced)));
        Ok(())
    }

    /// Calls `each` with the sender and the contents of each message that has come completely, and
    /// removes the message. The messages of a sender keep their order.
    ///
    /// # Errors
    /// Returns the sender of an invalid message and the error, or the error of `each`. The
    /// remaining messages stay.
    pub(crate) fn take(
        &mut self,
        mut each: impl FnMut(usize, Received) -> Result<(), MessageError>,
    ) -> Result<(), (usize, MessageError)> {
        let mut pending: Vec<usize> = Vec::new();
        let mut at = 0;
        while let Some((from, coming)) = self.coming.get_mut(at) {
            let from = *from;
            let wrong = |_| (from, MessageError::InvalidMessage);
            if pending.contains(&from) || !coming.is_done().map_err(wrong)? {
                pending.push(from);
                at += 1;
                continue;
            }
            let Some((_, coming)) = self.coming.remove(at) else {
                break;
            };
            self.moved += 1;
            let come = coming.into_received().map_err(wrong)?;
            each(from, come).map_err(|wrong| (from, wrong))?;
        }
        Ok(())
    }

    /// Cancels posted receives of frames. No message may be sent to this OS process any more. May
    /// block for a second for each receive.
    pub(crate) fn cancel(&mut self) {
        if let Messages::Posted(posted) = &mut self.frames {
            posted.cancel();
        }
    }
}
