//! What threads that are ranks ask of the scheduler that these ranks are on: the one part that threads share with it.

use std::any::Any;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Wake;

use graphmap_executor::exec::shared::Shared as Run;
use graphmap_executor::link::waiter::NOBODY;
use graphmap_executor::placement::{SchedulerId, SchedulerIndex};
use graphmap_executor::sync::lock;

/// A call, which the scheduler polls until it is done. It tells the thread itself what has come of it.
pub(super) type Called = Pin<Box<dyn Future<Output = ()>>>;

/// Begins a call as the rank that the thread is, which is a `Communicator`.
pub(super) type Begin = Box<dyn FnOnce(&dyn Any) -> Called + Send>;

/// What a thread asks for, each by the number of its seat.
pub(super) enum Ask {
    /// A call is to be made.
    Call(u32, Begin),
    /// A call may go on.
    Wake(u32),
    /// The thread is the rank no more; if it has panicked, with which message.
    Leave(u32, Option<String>),
}

/// The letter that says that something was asked for.
pub(in super::super) struct Knock;

/// Where threads ask.
pub(in super::super) struct Line {
    run: Arc<Run>,
    scheduler: SchedulerIndex,
    number: SchedulerId,
    /// In order; `None`: the run is over.
    asked: Mutex<Option<Vec<Ask>>>,
}

impl Line {
    pub(super) fn new(run: &Arc<Run>, number: SchedulerId) -> Arc<Self> {
        Arc::new(Line {
            run: Arc::clone(run),
            // Who makes a line is there.
            scheduler: run.here(number).unwrap_or(SchedulerIndex(0)),
            number,
            asked: Mutex::new(Some(Vec::new())),
        })
    }

    /// Asks; it comes back if the run is over.
    pub(super) fn ask(&self, ask: Ask) -> Result<(), Ask> {
        let mut asked = lock(&self.asked);
        let Some(waiting) = &mut *asked else {
            return Err(ask);
        };
        let first = waiting.is_empty();
        waiting.push(ask);
        drop(asked);
        // Who has asked before has knocked, or is about to.
        if first {
            let knock = Box::new(Knock);
            self.run.post(self.scheduler, (self.number.0, knock));
        }
        Ok(())
    }

    /// What was asked for.
    pub(super) fn take(&self) -> Vec<Ask> {
        lock(&self.asked)
            .as_mut()
            .map(mem::take)
            .unwrap_or_default()
    }

    /// The run is over: nothing can be asked for any more. What was, and is nobody's now.
    pub(super) fn close(&self) -> Vec<Ask> {
        lock(&self.asked).take().unwrap_or_default()
    }

    /// A thread may call from now on, or does not wait any more: no standstill is for ever before it has acted.
    pub(super) fn may_act(&self) {
        self.run.foreign_wakers(1);
    }

    /// A thread waits in a call now, or has gone. To be told by its scheduler, which looks what that means before it sleeps.
    pub(super) fn acts_no_more(&self) {
        self.run.foreign_wakers(-1);
    }
}

/// Wakes the call of a seat. What waits for it in this run is seen where it waits, so this need not be counted.
pub(super) struct CallWaker {
    pub(super) line: Arc<Line>,
    pub(super) seat: u32,
}

impl Wake for CallWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Of a run that is over nobody waits.
        let _ = self.line.ask(Ask::Wake(self.seat));
    }
}

/// The same, for code of the user: whoever keeps it may act from outside of the run, as who keeps the waker of a process.
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

    /// Nobody has kept it.
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
            // What counted as "may still be woken" may now be a block: let it be looked at.
            run.send(self.call.line.scheduler, NOBODY);
        }
    }
}
