//! Links between the OS processes of one run. A link carries frames from each scheduler to each
//! other one, in order, and shares the state of the run.
//!
//! [`Link`] is the interface. The runtime itself implements it over shared memory (`shm/`). Other
//! links are separate crates, so programs also build without the libraries that those need.

use std::sync::Arc;
use std::time::Duration;

pub use crate::payload::received::{ReceivedSlices, SliceMemory};
pub use crate::payload::sliced::{SentValue, SlicedMessage};

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// Kind of the frame. A link does not interpret it.
    pub kind: u32,
    /// Number of a channel, if the frame concerns one.
    pub number: u32,
    /// Less than 2^31.
    pub extra: u32,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// Some processes have not ended.
    Running,
    /// All processes have ended.
    Ended,
    /// The run fails. [`Link::cause`] returns the reason.
    Failed,
}

/// Access of other threads of an OS process to one of its schedulers.
pub trait Doorbell: Send + Sync {
    /// Wakes the scheduler, or keeps it from going to sleep.
    fn ring(&self);
    /// Records that a process has run since the last quiescence check, so that another check starts
    /// when all schedulers sleep.
    fn note_activity(&self);
}

/// The link of one scheduler to the others. Only the thread of that scheduler uses it. Schedulers
/// are numbered through all OS processes, in the order of these.
///
/// A *quiescence check* starts when all schedulers sleep, no frame is on its way, and a process has
/// run since the last check. [`Link::detection`] then returns the number of the check to every
/// scheduler. A scheduler does not go on sleeping before it has taken part.
pub trait Link {
    /// Returns the number of this scheduler among all schedulers that the link joins, from 0.
    fn me(&self) -> usize;
    /// Returns the number of schedulers that the link joins, including this one.
    fn count(&self) -> usize;
    /// Returns the doorbell of this scheduler.
    fn doorbell(&self) -> Arc<dyn Doorbell>;

    /// Sends a frame to another scheduler now, or later when there is space or the link is flushed.
    /// Frames to the same scheduler arrive in the order in which they were sent.
    fn send(&self, to: usize, header: Header, bytes: &[u8]);
    /// Sends waiting frames as far as there is space. Returns true if no frame is left, and false
    /// if some still wait for space.
    fn flush(&self) -> bool;
    /// Returns true if a frame has arrived.
    fn is_filled(&self) -> bool;
    /// Sleeps until a frame arrives, the doorbell is rung, the timeout expires, a quiescence check
    /// starts, or the run is over. May return early. Without `at_most`, the time is not limited.
    /// Calls `stay` after the scheduler is marked as asleep, when no wake-up can be missed any
    /// more. If `stay` returns true, there is work to do, and the scheduler does not sleep.
    fn sleep(&self, stay: &dyn Fn() -> bool, at_most: Option<Duration>);

    /// Returns the number of the current quiescence check, or `None` if none is in progress.
    fn detection(&self) -> Option<u32>;
    /// Records that everything that has run until now was examined. Called by the leader of a
    /// quiescence check.
    fn clear_activity(&self);
    /// Ends the quiescence check. Called by its leader before it announces the decision.
    fn end_detection(&self);

    /// Returns the state of the run, as far as it is known here.
    fn state(&self) -> RunState;
    /// Ends the run successfully. Called by the leader of the last quiescence check before it
    /// announces the end.
    fn end(&self);
    /// Makes the run fail, with a cause as bytes. If several schedulers report a cause, the first
    /// one is kept.
    fn fail(&self, cause: &[u8]);
    /// Returns the cause of the failure, or `None` if no cause is known.
    fn cause(&self) -> Option<Vec<u8>>;
    /// Records that this OS process has finished its work.
    fn done(&self);
    /// Returns true if frames of this scheduler may still arrive after the run has failed. These
    /// frames contain the records of that scheduler. A link that ends all OS processes on failure
    /// returns false. The default is false.
    fn may_receive_from(&self, _scheduler: usize) -> bool {
        false
    }
}
