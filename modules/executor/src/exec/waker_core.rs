//! What a waker needs to know of a scheduler.

use std::sync::Arc;

use super::running_task::RunningTask;
use super::shared::Shared;
use crate::placement::SchedulerIndex;

/// What a waker needs to know of a scheduler. Other threads may look at it during a poll.
pub(crate) struct WakerCore {
    pub(crate) shared: Arc<Shared>,
    pub(crate) scheduler: SchedulerIndex,
    pub(super) running: RunningTask,
}

impl WakerCore {
    pub(super) fn new(shared: Arc<Shared>, scheduler: SchedulerIndex) -> Self {
        WakerCore {
            shared,
            scheduler,
            running: RunningTask::new(),
        }
    }
}
