//! A link whose OS processes something else has started.

use std::time::Duration;

use super::between::{Header, Link};
use super::shm::host::HostLanes;
use crate::over_mpi::OverMpi;
use crate::payload::received::ReceivedSlices;
use crate::payload::sliced::{SentValue, SlicedMessage};

/// What the environment says of the start of this program by a launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Variables that say how many copies there are, with what they say.
    pub told: Vec<(&'static str, Copies)>,
    /// The settings of the link, or why an option is wrong.
    pub settings: Result<OverMpi, String>,
}

/// Why an OS process does not join the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotJoined {
    /// The reason.
    pub why: String,
    /// Another OS process has the same reason, and reports it.
    pub is_told: bool,
}

impl From<String> for NotJoined {
    fn from(why: String) -> Self {
        let is_told = false;
        NotJoined { why, is_told }
    }
}

/// How many copies of a program a launcher says that it has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// On all hosts.
    All(u64),
    /// On this host.
    OnHost(u64),
}

impl Started {
    /// Returns whether the environment fits a world of `count` OS processes.
    ///
    /// Another launcher may have left its variables behind, so one that fits is enough. A world of one OS process has to
    /// fit all of them: otherwise each of several copies would run the whole network.
    pub fn agrees(&self, count: u64) -> bool {
        let fits = |&(_, copies): &(_, Copies)| match copies {
            Copies::All(all) => all == count,
            Copies::OnHost(here) => here <= count,
        };
        match count {
            1 => self.told.iter().all(fits),
            _ => self.told.is_empty() || self.told.iter().any(fits),
        }
    }
}

/// A link whose OS processes something else has started, and ends: each has one scheduler.
pub trait Job: Link {
    /// As [`Link::send`], of bytes that need not be copied.
    fn send_owned(&self, to: usize, header: Header, bytes: Vec<u8>);
    /// As [`Link::send`], of bytes in pieces; false: they are to be sent by [`Job::send_owned`], in one.
    fn try_send_pieces(&self, _to: usize, _header: Header, _pieces: &[&[u8]]) -> bool {
        false
    }
    /// How long slices of values may be for messages to be sent from them, and received into memory that becomes that of other values; 0:
    /// there are no such messages.
    fn longest_slice(&self) -> usize {
        0
    }
    /// As [`Link::send`], of a message that has slices, none of them [longer](Job::longest_slice).
    fn send_sliced(&self, _to: usize, _header: Header, _message: SlicedMessage) {}
    /// A value of which all has been sent.
    fn take_sent(&self) -> Option<SentValue> {
        None
    }
    /// Whether values are kept that were not given back by [`Job::take_sent`].
    fn keeps_values(&self) -> bool {
        false
    }
    /// No value is to be kept any more: what is still to be sent is copied, or waited for.
    fn let_go(&self) {}
    /// The slices of the message that [`Job::receive`] hands on, which has no other bytes.
    fn take_slices(&self) -> Option<ReceivedSlices> {
        None
    }
    /// Memory for the bytes of a frame that is to be sent by [`Job::send_owned`]: what is in it does not count.
    fn buffer(&self) -> Vec<u8> {
        Vec::new()
    }
    /// Takes back what [`Job::buffer`] gave, to be used again.
    fn keep(&self, _buffer: Vec<u8>) {}
    /// The lanes to a scheduler that is reached by such, and its number there.
    fn host_lanes(&self, _to: usize) -> Option<(&HostLanes, usize)> {
        None
    }
    /// Hands on the next frame that is here as a whole, where it lies: who has sent it, what it is, and what it carries. Whether
    /// there was one. None is kept from coming by the frames of another OS process.
    ///
    /// # Errors
    /// What has come cannot be a frame.
    fn receive(&self, take: &mut dyn FnMut(usize, Header, &[u8])) -> Result<bool, String>;

    /// How many messages were sent so far, each of which holds one frame or several.
    fn messages(&self) -> u64;

    /// The host of each OS process, by name; none if that is not known.
    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }

    /// The network is known, by a number that differs for networks that differ. Where another OS process has
    /// another, or is another program, the run fails.
    fn begin(&self, network: u64);
    /// The run is over, and all know it: every OS process calls it, and uses the link no more.
    fn finish(&self);
    /// Who has told the link why the run fails waits to be ended, for a time; and for longer, if it hears that the first has said why: whether
    /// it has.
    fn linger(&self, at_most: Duration) -> bool;
    /// Ends all OS processes.
    fn abort(&self, code: u8) -> !;
}
