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
