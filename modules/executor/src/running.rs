//! The run that is on, for who asks what it is doing.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::sync::{Mutex, lock};

/// A run that can tell what its processes are doing.
pub trait Tell: Send + Sync {
    /// In words; none if it is over.
    fn state(&self) -> Option<String>;
    /// Which processes keep others from running for long, a text for each: to be asked every now and then.
    fn overlong(&self) -> Vec<String>;
}

/// Where a run says that it is on.
#[derive(Clone, Default)]
pub struct Running(Arc<Mutex<Option<Weak<dyn Tell>>>>);

impl Running {
    pub fn begin(&self, run: Weak<dyn Tell>) {
        *lock(&self.0) = Some(run);
    }

    /// What its processes are doing; none if there is no run.
    pub fn state(&self) -> Option<String> {
        let run = lock(&self.0).as_ref().and_then(Weak::upgrade)?;
        run.state()
    }

    /// Which processes keep others from running for long.
    pub fn overlong(&self) -> Vec<String> {
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
