//! Ends of channels between schedulers, of any OS processes, that a process has left in its turn, closed when that is over.
//!
//! A process that fails drops its ports first, and only then is it known that it has. Whoever saw them closed before, on another
//! thread, might fail of that, and be told in its place. So the other side sees an end closed when its process has come to the
//! end of its turn, and, if that was its failure, after the run was stopped for it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use super::current::with_current;
use super::guard;
use super::outside::Outside;
use super::scheduler::Scheduler;
use crate::link::waiter::NOBODY;
use crate::placement::SchedulerId;

/// An end that has left its scheduler, and is still to be closed.
struct Closing {
    end: *const (),
    /// Closes the end and lets go of it.
    close: unsafe fn(*const ()),
    /// Kind and index of the process that left it: what it did not read is dropped in its name.
    process: Option<(u32, u32)>,
}

#[derive(Default)]
pub(super) struct Closings {
    queue: RefCell<VecDeque<Closing>>,
    /// Who left the end that is being closed.
    of: Cell<Option<(u32, u32)>>,
    /// Processes are being made, and none has had a turn.
    making: Cell<bool>,
}

impl Scheduler {
    /// Makes the processes, which may fail in that.
    pub(super) fn make(&self, build: impl FnOnce()) {
        self.closings.making.set(true);
        self.guarded(build);
        self.closings.making.set(false);
        self.flush_deferred();
    }

    /// Has an end closed when the turn of the process that is running is over, or all processes are made; false: nothing is to be waited
    /// for, and the caller closes it.
    ///
    /// # Safety
    /// `close` may be called with `end` once, by this thread, at any time in the life of the scheduler.
    pub(super) unsafe fn close_later(&self, end: *const (), close: unsafe fn(*const ())) -> bool {
        let in_turn = self.core.running.process() != NOBODY || self.closings.making.get();
        if !in_turn || self.core.shared.stopped() {
            return false;
        }
        // What a token holds goes in the name of who left the token: that process may have ended, and another have had a turn.
        let process = self.closings.of.get().or_else(|| self.running());
        self.closings.queue.borrow_mut().push_back(Closing {
            end,
            close,
            process,
        });
        self.deferred.note();
        true
    }

    /// Closes what was left; whether there was something. Tokens that nobody has read are dropped, which is code of the user: it may leave
    /// further ends.
    pub(super) fn close_left(&self) -> bool {
        let mut any = false;
        loop {
            // A statement of its own: the queue is not borrowed while the end is closed.
            let next = self.closings.queue.borrow_mut().pop_front();
            let Some(Closing {
                end,
                close,
                process,
            }) = next
            else {
                return any;
            };
            any = true;
            let around = self.closings.of.replace(process);
            // SAFETY: the promise to `close_later`; it was taken out.
            let closed = guard::caught(|| unsafe { close(end) });
            self.closings.of.set(around);
            if let Err(message) = closed {
                let process = process.map(|(kind, index)| self.directory.process(kind, index));
                let message = format!("panicked: {message}");
                self.core.shared.fail(process, message);
            }
        }
    }
}

/// What another OS process is to be told of an end here that has gone.
struct Leave {
    outside: Rc<Outside>,
    to: SchedulerId,
    kind: u32,
    channel: u32,
}

impl Leave {
    /// Whether the scheduler of this thread is that of the end, and fulfils something.
    fn is_at(&self, and: impl FnOnce(&Scheduler) -> bool) -> bool {
        let is_at = |scheduler: &Scheduler| {
            let outside = scheduler.outside();
            outside.is_some_and(|outside| Rc::ptr_eq(outside, &self.outside)) && and(scheduler)
        };
        with_current(is_at).unwrap_or(false)
    }

    fn take(self) {
        // Of a run that has failed the failure is told, and nothing before it.
        if !self.is_at(|scheduler| scheduler.core.shared.stopped()) {
            self.outside.take_leave(self.to, self.kind, self.channel);
        }
    }
}

/// Says to a scheduler of another OS process that an end here has gone: when the turn of its process is over.
pub(crate) fn take_leave(outside: &Rc<Outside>, to: SchedulerId, kind: u32, channel: u32) {
    let leave = Box::new(Leave {
        outside: Rc::clone(outside),
        to,
        kind,
        channel,
    });
    let end = Box::into_raw(leave);
    // SAFETY: it came from a Box, and is called once.
    let close = |end: *const ()| unsafe { Box::from_raw(end.cast::<Leave>().cast_mut()) }.take();
    // SAFETY: it is there until `close` is called, by this or by the scheduler of this thread.
    unsafe {
        if !(*end).is_at(|scheduler| scheduler.close_later(end.cast(), close)) {
            close(end.cast());
        }
    }
}
