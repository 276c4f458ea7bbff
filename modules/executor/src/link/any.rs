//! The link of a run, of either type.

use std::mem::MaybeUninit;
use std::rc::Rc;

use super::between::{Header, Link, RunState};
use super::job::Job;
use super::shm::byte_rings::ByteRings;
use crate::payload::received::ReceivedSlices;
use crate::payload::remote::RemoteMemory;
use crate::payload::sliced::{SentValue, SlicedMessage};

/// Shared memory, or another link. The type of the first is known statically, so sending a frame
/// over it needs no indirect call.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each scheduler, and its byte rings are reached without another load"
)]
pub enum AnyLink {
    ByteRings(ByteRings),
    Other(Rc<dyn Job>),
}

/// Evaluates the same call for both variants.
macro_rules! either {
    ($link:expr, $one:ident => $call:expr) => {
        match $link {
            AnyLink::ByteRings($one) => $call,
            AnyLink::Other($one) => $call,
        }
    };
}

impl AnyLink {
    /// Returns the link as a trait object, for calls that are not made for each frame.
    pub fn get(&self) -> &dyn Link {
        match self {
            AnyLink::ByteRings(rings) => rings,
            AnyLink::Other(job) => &**job,
        }
    }

    /// Sends a frame now, or later when there is space or the link is flushed. Frames to the same
    /// scheduler arrive in the order in which they were sent.
    #[inline]
    pub fn send(&self, to: usize, header: Header, bytes: &[u8]) {
        either!(self, link => link.send(to, header, bytes));
    }

    /// Returns a buffer for the bytes of a message: an empty one, one from [`AnyLink::keep`], or
    /// that of an earlier message. The caller must clear it, because it may have contents.
    #[inline]
    pub fn buffer(&self) -> Vec<u8> {
        match self {
            AnyLink::ByteRings(rings) => rings.buffer(),
            AnyLink::Other(job) => job.buffer(),
        }
    }

    /// Sends a frame, or queues it until there is space. Over byte rings, in contrast to
    /// [`AnyLink::send`], the frame is not withheld until a later one.
    #[inline]
    pub fn send_now(&self, to: usize, header: Header, bytes: Vec<u8>) {
        match self {
            AnyLink::ByteRings(rings) => rings.send_now(to, header, bytes),
            AnyLink::Other(job) => job.send_owned(to, header, bytes),
        }
    }

    /// Sends a frame at once, whose payload is the concatenation of `pieces`. Returns false,
    /// without sending, if the link cannot send this frame in pieces, or not now. The caller must
    /// then send it in one piece.
    #[inline]
    pub fn try_send_pieces(&self, to: usize, header: Header, pieces: &[&[u8]]) -> bool {
        match self {
            AnyLink::ByteRings(rings) => rings.try_send_pieces(to, header, pieces),
            AnyLink::Other(job) => job.try_send_pieces(to, header, pieces),
        }
    }

    /// Returns the maximum length in bytes of a slice in a message of [`AnyLink::send_sliced`]. It
    /// is `usize::MAX` over byte rings, and 0 if the link has no such messages.
    #[inline]
    pub fn longest_slice(&self) -> usize {
        match self {
            AnyLink::ByteRings(_) => usize::MAX,
            AnyLink::Other(job) => job.longest_slice(),
        }
    }

    /// Sends a message, or queues it until there is space, and does not copy its slices. Must not
    /// be called if [`AnyLink::longest_slice`] is 0. The link keeps the value until the slices are
    /// sent. [`AnyLink::take_sent`] then returns the value.
    pub fn send_sliced(&self, to: usize, header: Header, message: SlicedMessage) {
        either!(self, link => link.send_sliced(to, header, message));
    }

    /// Removes and returns a value of which all slices have been sent, or returns `None` if there
    /// is none.
    #[inline]
    pub fn take_sent(&self) -> Option<SentValue> {
        either!(self, link => link.take_sent())
    }

    /// Returns true if the link keeps values that [`AnyLink::take_sent`] has not returned.
    pub fn keeps_values(&self) -> bool {
        either!(self, link => link.keeps_values())
    }

    /// Makes the link give up all values that it keeps. The link copies the slices that are not
    /// sent yet, or blocks until they are sent. It stops waiting if the run fails or takes too
    /// long. Afterwards [`AnyLink::take_sent`] returns the values one by one.
    pub fn release_values(&self) {
        either!(self, link => link.release_values());
    }

    /// Removes and returns the slices of the message that [`AnyLink::receive`] passes on. Only
    /// meaningful within its callback. Returns `None` if the message has no slices, or if they have
    /// been taken.
    pub fn take_slices(&self) -> Option<ReceivedSlices> {
        either!(self, link => link.take_slices())
    }

    /// Stores a buffer for reuse by [`AnyLink::buffer`], in place of one that is stored. The link
    /// may drop it instead, for example because it is large.
    #[inline]
    pub fn keep(&self, buffer: Vec<u8>) {
        match self {
            AnyLink::ByteRings(rings) => rings.keep(buffer),
            AnyLink::Other(job) => job.keep(buffer),
        }
    }

    /// Returns true if scheduler `to` can read the memory of this OS process, and prefers to. Over
    /// byte rings, the first call requests the answer of that scheduler and returns false. Returns
    /// false if no byte rings lead to it.
    pub fn has_access(&self, to: usize) -> bool {
        match self {
            AnyLink::ByteRings(rings) => rings.has_access(to),
            AnyLink::Other(job) => {
                (job.host_rings(to)).is_some_and(|(rings, at)| rings.has_access(at))
            }
        }
    }

    /// Returns the number of messages sent, if the link packs frames into messages. Returns `None`
    /// for byte rings, which do not.
    pub fn messages(&self) -> Option<u64> {
        match self {
            AnyLink::ByteRings(_) => None,
            AnyLink::Other(job) => Some(job.messages()),
        }
    }

    /// Returns access to the memory of another scheduler. Reads fail if the link has no access to
    /// that memory.
    pub fn memory_of(&self, scheduler: usize) -> impl RemoteMemory {
        MemoryOf(self, scheduler)
    }

    /// Fills `to` with the bytes from `address` on in the memory of scheduler `of`. If that fails
    /// over byte rings, may block for up to 1 s.
    ///
    /// # Errors
    /// The memory cannot be read, no byte rings lead to that scheduler, or the run is over.
    fn read_memory(
        &self,
        of: usize,
        address: u64,
        to: &mut [MaybeUninit<u8>],
    ) -> Result<(), String> {
        match self {
            AnyLink::ByteRings(rings) => rings.read_memory(of, address, to),
            AnyLink::Other(job) => match job.host_rings(of) {
                Some((rings, at)) => rings.read_memory(at, address, to),
                None => Err("there is no access to it".into()),
            },
        }
    }

    /// Sends waiting frames as far as there is space. Returns true if no frame is left, and false
    /// if some still wait for space.
    #[inline]
    pub fn flush(&self) -> bool {
        either!(self, link => link.flush())
    }

    /// Returns true if a frame has arrived. Over byte rings, also returns true if a frame that
    /// waits can be sent. Another link may also return true in that case, or if
    /// [`AnyLink::take_sent`] has a value to return.
    #[inline]
    pub fn is_ready(&self) -> bool {
        match self {
            AnyLink::ByteRings(rings) => rings.is_ready(),
            AnyLink::Other(job) => job.is_filled(),
        }
    }

    /// Calls `take` with frames that have arrived completely, and returns their number. The
    /// arguments of `take` are the number of the sender, the header and the payload. At most `most`
    /// frames are taken (over byte rings: of each scheduler, and parts of messages count as well).
    /// Returns 0 if no frame has arrived.
    ///
    /// # Errors
    /// The bytes that arrived are not a valid frame.
    #[inline]
    pub fn receive(
        &self,
        most: usize,
        mut take: impl FnMut(usize, Header, &[u8]),
    ) -> Result<usize, String> {
        match self {
            AnyLink::ByteRings(rings) => rings.receive(most, take),
            AnyLink::Other(job) => {
                let mut count = 0;
                while count < most && job.receive(&mut take)? {
                    count += 1;
                }
                Ok(count)
            }
        }
    }

    /// Returns the state of the run, as far as it is known here.
    #[inline]
    pub fn state(&self) -> RunState {
        either!(self, link => link.state())
    }

    /// Returns the number of the current quiescence check, or `None` if none is in progress.
    #[inline]
    pub fn detection(&self) -> Option<u32> {
        either!(self, link => link.detection())
    }
}

struct MemoryOf<'a>(&'a AnyLink, usize);

impl RemoteMemory for MemoryOf<'_> {
    fn read(&self, address: u64, to: &mut [MaybeUninit<u8>]) -> Result<(), String> {
        self.0.read_memory(self.1, address, to)
    }
}
