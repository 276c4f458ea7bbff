//! Access to the current run, for reports on its state.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::sync::{Mutex, lock};

/// A process that keeps others from running for long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlong {
    /// Rank of the process.
    pub rank: usize,
    /// Time for which it has kept them from running.
    pub lasted: Duration,
    /// Description for people.
    pub text: String,
}

/// A run that reports the state of its processes.
pub trait StateReport: Send + Sync {
    /// Returns a description of the state of the processes for people. Returns `None` if the run
    /// has ended.
    fn state(&self) -> Option<String>;
    /// Returns the processes that keep others from running for long. Must be called periodically,
    /// because the time is measured between calls.
    fn overlong(&self) -> Vec<Overlong>;
}

/// Handle through which a run makes itself known. Clones refer to the same run.
#[derive(Clone, Default)]
pub struct Running(Arc<Mutex<Option<Weak<dyn StateReport>>>>);

impl Running {
    /// Registers a run, in place of an earlier one. Does not keep the run alive.
    pub fn begin(&self, run: Weak<dyn StateReport>) {
        *lock(&self.0) = Some(run);
    }

    /// Returns a description of the state of the processes. Returns `None` if no run has begun, or
    /// if the run has ended.
    pub fn state(&self) -> Option<String> {
        let run = lock(&self.0).as_ref().and_then(Weak::upgrade)?;
        run.state()
    }

    /// Returns the processes that keep others from running for long. Must be called periodically.
    /// Returns an empty vector if no run has begun, or if the run has ended.
    pub fn overlong(&self) -> Vec<Overlong> {
        let run = lock(&self.0).as_ref().and_then(Weak::upgrade);
        run.map_or_else(Vec::new, |run| run.overlong())
    }
}

impl PartialEq for Running {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Running {}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}
