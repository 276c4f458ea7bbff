//! Floor *exec*: single-threaded schedulers of processes that are futures, and what they know of
//! waits. It knows nothing of channels but the points at which they begin ([`point`]).

mod acks;
mod ceiling;
pub(crate) mod current;
pub(crate) mod deferred;
pub(crate) mod directory;
pub(crate) mod discovery;
pub(crate) mod floor;
mod gathering;
pub(crate) mod guard;
pub(crate) mod hooks;
mod inquiry;
pub(crate) mod join;
mod lookout;
pub(crate) mod me;
mod meeting;
pub(crate) mod outcome;
pub(crate) mod outside;
mod overlong;
pub(crate) mod parker;
pub(crate) mod point;
pub(crate) mod polled;
pub(crate) mod queue;
pub(crate) mod recorder;
pub(crate) mod registry;
pub(crate) mod report;
pub(crate) mod scheduler;
pub(crate) mod shared;
mod standstill;
mod state;
pub(crate) mod tally;
pub(crate) mod task;
mod timed;
pub(crate) mod waits;
pub(crate) mod waker;
mod waking;
