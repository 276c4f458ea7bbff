//! Links whose OS processes were started by a launcher.

use std::time::Duration;

use super::between::{Header, Link};
use super::shm::host::HostRings;
use crate::over_mpi::OverMpi;
use crate::payload::received::ReceivedSlices;
use crate::payload::sliced::{SentValue, SlicedMessage};

/// The settings that a launcher passed to this program in the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Variables that contain the number of copies, with that number.
    pub told: Vec<(&'static str, Copies)>,
    /// The settings of the link, or the reason why an option is invalid.
    pub settings: Result<OverMpi, String>,
}

/// The reason why an OS process does not join the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotJoined {
    /// The reason.
    pub why: String,
    /// True if another OS process reports the same reason.
    pub is_reported: bool,
}

impl From<String> for NotJoined {
    fn from(why: String) -> Self {
        let is_reported = false;
        NotJoined { why, is_reported }
    }
}

/// The number of copies of a program that a launcher has started, according to the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// On all hosts.
    All(u64),
    /// On this host.
    OnHost(u64),
}

impl Started {
    /// Returns true if the environment fits a world of `count` OS processes. A variable with the
    /// number of copies on all hosts fits if that number is `count`. One with the number on this
    /// host fits if that number is at most `count`.
    ///
    /// One variable that fits is enough, because another launcher may have left its variables
    /// behind. A world of one OS process must fit all of them. Otherwise each of several copies
    /// would run the whole network. Without variables, any `count` fits.
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

/// A link whose OS processes are started and ended by a launcher. Each OS process has one
/// scheduler.
pub trait Job: Link {
    /// Sends a frame as [`Link::send`] does, from bytes that need not be copied.
    fn send_owned(&self, to: usize, header: Header, bytes: Vec<u8>);
    /// Sends a frame as [`Link::send`] does, whose payload is the concatenation of the pieces.
    /// Returns false, without sending, if the caller must send the bytes in one piece, by
    /// [`Job::send_owned`]. The default always returns false.
    fn try_send_pieces(&self, _to: usize, _header: Header, _pieces: &[&[u8]]) -> bool {
        false
    }
    /// Returns the maximum length of a slice, in bytes, for messages that are sent from the slices
    /// of values. Such messages are received into memory that becomes part of other values. 0 means
    /// that the link has no such messages. This is the default.
    fn longest_slice(&self) -> usize {
        0
    }
    /// Sends a message that has slices, as [`Link::send`] does. No slice may be longer than
    /// [`Job::longest_slice`]. The default drops the message, so a link with such messages must
    /// implement this function.
    fn send_sliced(&self, _to: usize, _header: Header, _message: SlicedMessage) {}
    /// Removes and returns a value of which all slices have been sent, or returns `None` if there
    /// is none.
    fn take_sent(&self) -> Option<SentValue> {
        None
    }
    /// Returns true if the link keeps values that [`Job::take_sent`] has not returned.
    fn keeps_values(&self) -> bool {
        false
    }
    /// Makes the link give up all values that it keeps. It copies the slices that are not sent yet,
    /// or waits until they are sent. It may stop waiting if the run fails or takes too long.
    /// [`Job::take_sent`] then returns the values.
    fn release_values(&self) {}
    /// Removes and returns the slices of the message that [`Job::receive`] passes on. That message
    /// has no other bytes. Returns `None` if the message has no slices, or if they have been taken.
    fn take_slices(&self) -> Option<ReceivedSlices> {
        None
    }
    /// Returns a buffer for the bytes of a frame that is sent by [`Job::send_owned`]. The caller
    /// must clear it, because it may have contents.
    fn buffer(&self) -> Vec<u8> {
        Vec::new()
    }
    /// Stores a buffer of [`Job::buffer`] for reuse. The default drops it.
    fn keep(&self, _buffer: Vec<u8>) {}
    /// Returns the byte rings of this host and the number that scheduler `to` has there. Returns
    /// `None`, as the default does, if the byte rings do not lead to that scheduler.
    fn host_rings(&self, _to: usize) -> Option<(&HostRings, usize)> {
        None
    }
    /// Calls `take` with the next frame that has arrived completely: its sender, its header, and
    /// its bytes in the receive buffer. Returns false if no such frame has arrived. Frames of one
    /// OS process must not delay those from another.
    ///
    /// # Errors
    /// The bytes that arrived are not a valid frame.
    fn receive(&self, take: &mut dyn FnMut(usize, Header, &[u8])) -> Result<bool, String>;

    /// Returns the number of messages sent so far. A message contains several frames, one frame, or
    /// a part of a large one. Frames that pass through the byte rings of this host are in no
    /// message.
    fn messages(&self) -> u64;

    /// Returns the name of the host of each OS process, or an empty list if the hosts are unknown.
    /// The default is an empty list.
    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Passes `network`, the digest of the network, to the link. The run fails if another OS
    /// process has another digest, or is another program.
    fn begin(&self, network: u64);
    /// Ends the use of the link after a run. Every OS process calls it when all know that the run
    /// is over, and must not use the link afterwards.
    fn finish(&self);
    /// Blocks for up to `at_most`, until this OS process is ended. Called after this OS process has
    /// sent the cause of a failure over the link. Blocks longer, and returns true, if the first OS
    /// process announces that it reports the cause. Otherwise returns false when the time is over.
    fn wait_for_abort(&self, at_most: Duration) -> bool;
    /// Ends all OS processes of the job, with `code` as the exit status.
    fn abort(&self, code: u8) -> !;
}
