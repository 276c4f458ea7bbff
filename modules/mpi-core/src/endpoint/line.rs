//! Queue of requests from threads that own ranks to the scheduler of these ranks. It is the only
//! state that the threads and the scheduler share.

use std::any::Any;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Wake;

use graphmap_executor::exec::shared::Shared as Run;
use graphmap_executor::link::waiter::NOBODY;
use graphmap_executor::placement::{SchedulerId, SchedulerIndex};
use graphmap_executor::sync::lock;

/// Call that the scheduler polls until it completes. The call itself sends its result to the
/// thread.
pub(super) type Called = Pin<Box<dyn Future<Output = ()>>>;

/// Starts a call as the rank that the thread owns. The argument is a `Communicator`.
pub(super) type Begin = Box<dyn FnOnce(&dyn Any) -> Called + Send>;

/// Request of a thread, with its index in [`Desk`](super::desk::Desk).
pub(super) enum Ask {
    /// Start a call.
    Call(u32, Begin),
    /// Poll the call.
    Wake(u32),
    /// The thread no longer owns the rank. The text is the message of its panic, if it panicked.
    Leave(u32, Option<String>),
}

/// Message to the scheduler that requests are queued.
pub(in super::super) struct Knock;

/// Queue of requests to one scheduler.
pub(in super::super) struct Line {
    run: Arc<Run>,
    scheduler: SchedulerIndex,
    number: SchedulerId,
    /// Requests in order. `None` after the run.
    asked: Mutex<Option<Vec<Ask>>>,
}

impl Line {
    pub(super) fn new(run: &Arc<Run>, number: SchedulerId) -> Arc<Self> {
        Arc::new(Line {
            run: Arc::clone(run),
            // The caller is on this scheduler, so its index is known.
            scheduler: run.here(number).unwrap_or(SchedulerIndex(0)),
            number,
            asked: Mutex::new(Some(Vec::new())),
        })
    }

    /// Queues a request, and notifies the scheduler. Returns the request in `Err` if the run is
    /// over.
    pub(super) fn ask(&self, ask: Ask) -> Result<(), Ask> {
        let mut asked = lock(&self.asked);
        let Some(waiting) = &mut *asked else {
            return Err(ask);
        };
        let first = waiting.is_empty();
        waiting.push(ask);
        drop(asked);
        // The first request of a batch notifies the scheduler. Later ones rely on it.
        if first {
            let knock = Box::new(Knock);
            self.run.post(self.scheduler, (self.number.0, knock));
        }
        Ok(())
    }

    /// Removes and returns all queued requests.
    pub(super) fn take(&self) -> Vec<Ask> {
        lock(&self.asked)
            .as_mut()
            .map(mem::take)
            .unwrap_or_default()
    }

    /// Closes the queue at the end of the run, and returns the requests that are left.
    pub(super) fn close(&self) -> Vec<Ask> {
        lock(&self.asked).take().unwrap_or_default()
    }

    /// Counts a thread that can make a call or has stopped waiting, so that quiescence is not
    /// reported as a deadlock before the thread has acted.
    pub(super) fn may_act(&self) {
        self.run.foreign_wakers(1);
    }

    /// Undoes one [`may_act`](Self::may_act), for a thread that waits in a call or has ended. Only
    /// its scheduler calls this, because a scheduler checks for deadlock before it sleeps.
    pub(super) fn acts_no_more(&self) {
        self.run.foreign_wakers(-1);
    }
}

/// Waker of the call of a thread. It is not counted as a foreign waker, because waits within this
/// run are visible to the scheduler.
pub(super) struct CallWaker {
    pub(super) line: Arc<Line>,
    pub(super) seat: u32,
}

impl Wake for CallWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // If the run is over, there is no waiter.
        let _ = self.line.ask(Ask::Wake(self.seat));
    }
}

/// Waker of the call of a thread for user code. It is counted, because code outside the run can use
/// it, like the waker of a process.
pub(super) struct CountedWaker {
    call: CallWaker,
    is_counted: bool,
}

impl CountedWaker {
    pub(super) fn new(line: &Arc<Line>, seat: u32) -> Arc<Self> {
        line.may_act();
        let line = Arc::clone(line);
        Arc::new(CountedWaker {
            call: CallWaker { line, seat },
            is_counted: true,
        })
    }

    /// Undoes the count of a waker that user code has not kept.
    pub(super) fn unused(mut self) {
        self.is_counted = false;
        self.call.line.acts_no_more();
    }
}

impl Wake for CountedWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let _ = self.call.line.ask(Ask::Wake(self.call.seat));
    }
}

impl Drop for CountedWaker {
    fn drop(&mut self) {
        let run = &self.call.line.run;
        if self.is_counted && run.foreign_wakers(-1) == 0 {
            // Without foreign wakers, the wait may be a deadlock. The message makes the scheduler
            // check.
            run.send(self.call.line.scheduler, NOBODY);
        }
    }
}
