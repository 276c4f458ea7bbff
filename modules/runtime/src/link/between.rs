//! What joins the OS processes of one run: frames from each of their schedulers to each other, in order, and what all
//! of them know of how the run stands.
//!
//! [`Link`] is what a run needs of it. Shared memory (`shm/`) is one that the runtime has itself;
//! others are crates of their own, so that who does not have what they stand on builds programs all the same.

use std::sync::Arc;
use std::time::Duration;

pub use crate::payload::received::{ReceivedSlices, SliceMemory};
pub use crate::payload::sliced::{SentValue, SlicedMessage};

/// What a frame is, besides the bytes it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// What it is about: of no concern to a link.
    pub kind: u32,
    /// Of a channel, where it concerns one.
    pub number: u32,
    /// Below 2^31.
    pub extra: u32,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// Processes are still to end.
    Running,
    /// All have ended.
    Ended,
    /// It fails: [`Link::cause`] says why.
    Failed,
}

/// How other threads of an OS process reach a scheduler of it.
pub trait Doorbell: Send + Sync {
    /// Ends the sleep of the scheduler, or keeps it from beginning one.
    fn ring(&self);
    /// Something has run since the last meeting: if all are found asleep, there is something to look at.
    fn stir(&self);
}

/// One scheduler of a run, as it is joined to the others. It is used by the thread of the scheduler. Schedulers are
/// numbered through all OS processes: those of the first come first.
///
/// When all schedulers sleep and no frame is on its way to any, and something has run since that was last
/// looked at, there is to be a *meeting*: [`Link::meeting`] gives its number to all, and none sleeps on
/// that has not been there.
pub trait Link {
    /// Which scheduler this is.
    fn me(&self) -> usize;
    /// How many there are.
    fn count(&self) -> usize;
    /// The bell of this scheduler.
    fn doorbell(&self) -> Arc<dyn Doorbell>;

    /// Sends a frame, now or when there is room. What is sent to one first comes there first.
    fn send(&self, to: usize, header: Header, bytes: &[u8]);
    /// Gets what was sent on its way, as far as there is room. Whether nothing is left.
    fn flush(&self) -> bool;
    /// Whether something has come.
    fn is_filled(&self) -> bool;
    /// Sleeps until something comes, or for a time, or until there is a meeting, or the run is over. `stay` is asked
    /// whether there is something to do after all when nobody would miss the bell any more.
    fn sleep(&self, stay: &dyn Fn() -> bool, at_most: Option<Duration>);

    /// The number of the meeting that is on, if one is.
    fn meeting(&self) -> Option<u32>;
    /// All that has run until now has been looked at: for who leads a meeting.
    fn unstir(&self);
    /// The meeting is over: for who leads it, before it says what was decided.
    fn close_meeting(&self);

    /// How the run stands, as far as it is known here.
    fn state(&self) -> RunState;
    /// The run has ended well: for who leads the last meeting, before it says so.
    fn end(&self);
    /// The run fails. Of several causes the first is kept.
    fn fail(&self, cause: &[u8]);
    /// What was given as the cause.
    fn cause(&self) -> Option<Vec<u8>>;
    /// This OS process has done all it had to.
    fn done(&self);
    /// The run has failed: whether frames of this scheduler may come all the same, which are what it has recorded. Of a link that ends
    /// all OS processes then, none do.
    fn may_come_from(&self, _scheduler: usize) -> bool {
        false
    }
}

/// What started this program several times, as its environment tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// How many times, if that is known.
    pub times: Option<u64>,
    /// The variable that tells.
    pub variable: &'static str,
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
    /// Who has told the link why the run fails waits to be ended, for a time.
    fn linger(&self, at_most: Duration);
    /// Ends all OS processes.
    fn abort(&self, code: u8) -> !;
}
