//! Floor *exec*: single-threaded schedulers of processes that are futures.

pub(crate) mod directory;
pub(crate) mod doze;
pub(crate) mod hooks;
pub(crate) mod join;
pub(crate) mod me;
pub(crate) mod outcome;
pub(crate) mod queue;
pub(crate) mod runner;
pub(crate) mod scheduler;
pub(crate) mod task;
pub(crate) mod waker;
pub(crate) mod watch;
