//! The link of a run, whichever it is.

use std::mem::MaybeUninit;
use std::rc::Rc;

use super::between::{Header, Link, RunState};
use super::job::Job;
use super::shm::lanes::Lanes;
use crate::payload::received::ReceivedSlices;
use crate::payload::remote::RemoteMemory;
use crate::payload::sliced::{SentValue, SlicedMessage};

/// Shared memory, or another link. The first is known by name, so that a frame costs no indirect call there.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each scheduler, and its lanes are reached without another load"
)]
pub enum AnyLink {
    Lanes(Lanes),
    Other(Rc<dyn Job>),
}

/// The same call of both.
macro_rules! either {
    ($link:expr, $one:ident => $call:expr) => {
        match $link {
            AnyLink::Lanes($one) => $call,
            AnyLink::Other($one) => $call,
        }
    };
}

impl AnyLink {
    /// For what is not done for each frame.
    pub fn get(&self) -> &dyn Link {
        match self {
            AnyLink::Lanes(lanes) => lanes,
            AnyLink::Other(job) => &**job,
        }
    }

    #[inline]
    pub fn send(&self, to: usize, header: Header, bytes: &[u8]) {
        either!(self, link => link.send(to, header, bytes));
    }

    /// Memory for the bytes of a message: what is in it does not count.
    #[inline]
    pub fn buffer(&self) -> Vec<u8> {
        match self {
            AnyLink::Lanes(lanes) => lanes.buffer(),
            AnyLink::Other(job) => job.buffer(),
        }
    }

    /// Sends a frame without delay.
    #[inline]
    pub fn send_now(&self, to: usize, header: Header, bytes: Vec<u8>) {
        match self {
            AnyLink::Lanes(lanes) => lanes.send_now(to, header, bytes),
            AnyLink::Other(job) => job.send_owned(to, header, bytes),
        }
    }

    /// As [`AnyLink::send_now`], of bytes in pieces; false: they cannot be sent that way, or not now.
    #[inline]
    pub fn try_send_pieces(&self, to: usize, header: Header, pieces: &[&[u8]]) -> bool {
        match self {
            AnyLink::Lanes(lanes) => lanes.try_send_pieces(to, header, pieces),
            AnyLink::Other(job) => job.try_send_pieces(to, header, pieces),
        }
    }

    /// How long slices of a message may be that stay where they are until they are sent; 0: none do.
    #[inline]
    pub fn longest_slice(&self) -> usize {
        match self {
            AnyLink::Lanes(_) => usize::MAX,
            AnyLink::Other(job) => job.longest_slice(),
        }
    }

    /// As [`AnyLink::send_now`], of a message whose slices stay where they are until then: its value is given back by
    /// [`AnyLink::take_sent`].
    pub fn send_sliced(&self, to: usize, header: Header, message: SlicedMessage) {
        either!(self, link => link.send_sliced(to, header, message));
    }

    /// A value of which all has been sent.
    #[inline]
    pub fn take_sent(&self) -> Option<SentValue> {
        either!(self, link => link.take_sent())
    }

    /// Whether values are kept that were not [given back](AnyLink::take_sent).
    pub fn keeps_values(&self) -> bool {
        either!(self, link => link.keeps_values())
    }

    /// No value is to be kept any more: what is still to be sent is copied.
    pub fn let_go(&self) {
        either!(self, link => link.let_go());
    }

    /// The slices of the message that is being received.
    pub fn take_slices(&self) -> Option<ReceivedSlices> {
        either!(self, link => link.take_slices())
    }

    /// Keeps what [`AnyLink::buffer`] gave, to be used again.
    #[inline]
    pub fn keep(&self, buffer: Vec<u8>) {
        match self {
            AnyLink::Lanes(lanes) => lanes.keep(buffer),
            AnyLink::Other(job) => job.keep(buffer),
        }
    }

    /// Whether another scheduler can read the memory of this OS process.
    pub fn has_access(&self, to: usize) -> bool {
        match self {
            AnyLink::Lanes(lanes) => lanes.has_access(to),
            AnyLink::Other(job) => {
                (job.host_lanes(to)).is_some_and(|(lanes, at)| lanes.has_access(at))
            }
        }
    }

    /// How many messages were sent, where frames are packed into such.
    pub fn messages(&self) -> Option<u64> {
        match self {
            AnyLink::Lanes(_) => None,
            AnyLink::Other(job) => Some(job.messages()),
        }
    }

    /// The memory of another scheduler.
    pub fn memory_of(&self, scheduler: usize) -> impl RemoteMemory {
        MemoryOf(self, scheduler)
    }

    /// Fills `to` with what is in the memory of another scheduler.
    ///
    /// # Errors
    /// It cannot be read.
    fn read_memory(
        &self,
        of: usize,
        address: u64,
        to: &mut [MaybeUninit<u8>],
    ) -> Result<(), String> {
        match self {
            AnyLink::Lanes(lanes) => lanes.read_memory(of, address, to),
            AnyLink::Other(job) => match job.host_lanes(of) {
                Some((lanes, at)) => lanes.read_memory(at, address, to),
                None => Err("there is no access to it".into()),
            },
        }
    }

    #[inline]
    pub fn flush(&self) -> bool {
        either!(self, link => link.flush())
    }

    /// Whether there is something to do: something has come, or what waits can be sent.
    #[inline]
    pub fn is_ready(&self) -> bool {
        match self {
            AnyLink::Lanes(lanes) => lanes.is_ready(),
            AnyLink::Other(job) => job.is_filled(),
        }
    }

    /// Calls `take` with frames that are here as a whole, at most so many (over shared memory: of each scheduler). How
    /// many have come.
    ///
    /// # Errors
    /// What has come cannot be a frame.
    #[inline]
    pub fn receive(
        &self,
        most: usize,
        mut take: impl FnMut(usize, Header, &[u8]),
    ) -> Result<usize, String> {
        match self {
            AnyLink::Lanes(lanes) => lanes.receive_with(most, take),
            AnyLink::Other(job) => {
                let mut count = 0;
                while count < most && job.receive(&mut take)? {
                    count += 1;
                }
                Ok(count)
            }
        }
    }

    #[inline]
    pub fn state(&self) -> RunState {
        either!(self, link => link.state())
    }

    #[inline]
    pub fn meeting(&self) -> Option<u32> {
        either!(self, link => link.meeting())
    }
}

struct MemoryOf<'a>(&'a AnyLink, usize);

impl RemoteMemory for MemoryOf<'_> {
    fn read(&self, address: u64, to: &mut [MaybeUninit<u8>]) -> Result<(), String> {
        self.0.read_memory(self.1, address, to)
    }
}
