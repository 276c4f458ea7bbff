//! Queue of requests from threads that own ranks to the scheduler of these ranks. It is the only
//! state that the threads and the scheduler share.

use std::any::Any;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Wake;

use graphmap_executor::exec::shared::Shared as Run;
use graphmap_executor::link::waiter::NO_ID;
use graphmap_executor::placement::{SchedulerId, SchedulerIndex};
use graphmap_executor::sync::lock;

/// Call that the scheduler polls until it completes. The call itself sends its result to the
/// thread.
pub(super) type Called = Pin<Box<dyn Future<Output = ()>>>;

/// Starts a call as the rank that the thread owns. The argument is a `Communicator`.
pub(super) type Begin = Box<dyn FnOnce(&dyn Any) -> Called + Send>;

/// Request of a thread, with its index in [`ThreadTable`](super::thread_table::ThreadTable).
pub(super) enum ThreadRequest {
    /// Start a call.
    Call(u32, Begin),
    /// Poll the call.
    Wake(u32),
    /// The thread no longer owns the rank. The text is the message of its panic, if it panicked.
    Leave(u32, Option<String>),
}

/// Message to the scheduler that requests are queued.
pub(in super::super) struct RequestsQueued;

/// Queue of requests to one scheduler.
pub(in super::super) struct RequestQueue {
    run: Arc<Run>,
    scheduler: SchedulerIndex,
    number: SchedulerId,
    /// Requests in order. `None` after the run.
    requests: Mutex<Option<Vec<ThreadRequest>>>,
}

impl RequestQueue {
    pub(super) fn new(run: &Arc<Run>, number: SchedulerId) -> Arc<Self> {
        Arc::new(RequestQueue {
            run: Arc::clone(run),
            // The caller is on this scheduler, so its index is known.
            scheduler: run.here(number).unwrap_or(SchedulerIndex(0)),
            number,
            requests: Mutex::new(Some(Vec::new())),
        })
    }

    /// Queues a request, and notifies the scheduler if no other request is queued. Returns the
    /// request in `Err` if the run is over.
    pub(super) fn request(&self, request: ThreadRequest) -> Result<(), ThreadRequest> {
        let mut requests = lock(&self.requests);
        let Some(waiting) = &mut *requests else {
            return Err(request);
        };
        let first = waiting.is_empty();
        waiting.push(request);
        drop(requests);
        // The first request of a batch notifies the scheduler. Later ones rely on it.
        if first {
            let message = Box::new(RequestsQueued);
            self.run
                .send_request(self.scheduler, (self.number.0, message));
        }
        Ok(())
    }

    /// Removes and returns all queued requests. The result is empty after the run.
    pub(super) fn take(&self) -> Vec<ThreadRequest> {
        lock(&self.requests)
            .as_mut()
            .map(mem::take)
            .unwrap_or_default()
    }

    /// Closes the queue at the end of the run, and returns the requests that are left. Returns
    /// nothing if the queue is closed already.
    pub(super) fn close(&self) -> Vec<ThreadRequest> {
        lock(&self.requests).take().unwrap_or_default()
    }

    /// Counts a thread that can make a call or has stopped waiting, so that quiescence is not
    /// reported as a deadlock before the thread has acted.
    pub(super) fn may_act(&self) {
        self.run.foreign_wakers(1);
    }

    /// Undoes one [`may_act`](Self::may_act), for a thread that waits in a call or has ended. Only
    /// its scheduler calls this, because a scheduler checks for deadlock before it sleeps.
    pub(super) fn undo_may_act(&self) {
        self.run.foreign_wakers(-1);
    }
}

/// Waker of the call of a thread. It is not counted as a foreign waker, because waits within this
/// run are visible to the scheduler.
pub(super) struct CallWaker {
    pub(super) queue: Arc<RequestQueue>,
    pub(super) thread: u32,
}

impl Wake for CallWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // If the run is over, there is no waiter.
        let _ = self.queue.request(ThreadRequest::Wake(self.thread));
    }
}

/// Waker of the call of a thread for user code. It is counted, because code outside the run can use
/// it, like the waker of a process.
pub(super) struct CountedWaker {
    call: CallWaker,
    is_counted: bool,
}

impl CountedWaker {
    pub(super) fn new(queue: &Arc<RequestQueue>, thread: u32) -> Arc<Self> {
        queue.may_act();
        let queue = Arc::clone(queue);
        Arc::new(CountedWaker {
            call: CallWaker { queue, thread },
            is_counted: true,
        })
    }

    /// Undoes the count of a waker that user code has not kept.
    pub(super) fn unused(mut self) {
        self.is_counted = false;
        self.call.queue.undo_may_act();
    }
}

impl Wake for CountedWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let _ = self
            .call
            .queue
            .request(ThreadRequest::Wake(self.call.thread));
    }
}

impl Drop for CountedWaker {
    fn drop(&mut self) {
        let run = &self.call.queue.run;
        if self.is_counted && run.foreign_wakers(-1) == 0 {
            // Without foreign wakers, the wait may be a deadlock. The message makes the scheduler
            // check.
            run.send(self.call.queue.scheduler, NO_ID);
        }
    }
}
