//! The work of a scheduler between two polls: deferred wake-ups, closing of channel ends, drops of
//! unread tokens, and wakers of other libraries. All of it except for the wake-ups may call user
//! code.

use super::current;
use super::current::with_current;
use super::deferred::Closing;
use super::frames::Remote;
use super::hooks::ReleasedWaker;
use super::scheduler::Scheduler;
use super::user_code;
use crate::link::waiter::NO_ID;
use crate::placement::SchedulerId;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

/// Interval at which a nested run checks for space in the links of the runs around it.
const SPACE_CHECK_INTERVAL: Duration = Duration::from_micros(100);

/// A frame that informs another OS process that an end of a channel has left.
struct LeaveNotice {
    remote: Rc<Remote>,
    to: SchedulerId,
    kind: u32,
    channel: u32,
}

impl LeaveNotice {
    /// Returns true if the end belongs to the current scheduler of this thread, and the scheduler
    /// meets the condition.
    fn is_at(&self, and: impl FnOnce(&Scheduler) -> bool) -> bool {
        let is_at = |scheduler: &Scheduler| {
            let remote = scheduler.remote();
            remote.is_some_and(|remote| Rc::ptr_eq(remote, &self.remote)) && and(scheduler)
        };
        with_current(is_at).unwrap_or(false)
    }

    fn take(self) {
        // A run that has failed reports its failure first. No other frame is sent before that.
        if !self.is_at(|scheduler| scheduler.shared().stopped()) {
            self.remote.send_leave(self.to, self.kind, self.channel);
        }
    }
}

/// Sends a frame about an end that leaves, after the current poll if the end belongs to the current
/// scheduler, and otherwise at once. The same delay applies while processes are created. No frame
/// is sent after the run has ended or failed.
pub fn send_leave(remote: &Rc<Remote>, to: SchedulerId, kind: u32, channel: u32) {
    let leave = Box::new(LeaveNotice {
        remote: Rc::clone(remote),
        to,
        kind,
        channel,
    });
    let end = Box::into_raw(leave);
    // SAFETY: the pointer came from `Box::into_raw`, and `close` is called once.
    let close =
        |end: *const ()| unsafe { Box::from_raw(end.cast::<LeaveNotice>().cast_mut()) }.take();
    // SAFETY: the value lives until `close` is called, and only this function or the scheduler of
    // this thread calls it.
    unsafe {
        if !(*end).is_at(|scheduler| scheduler.close_later(end.cast(), close)) {
            close(end.cast());
        }
    }
}

impl Scheduler {
    /// Does the work that the last poll deferred: wakes processes, closes ends of channels, drops
    /// tokens and sends frames. The work must not wait until after the next poll, which may compute
    /// for a long time.
    #[inline(always)]
    pub(super) fn flush_deferred(&self) {
        if self.deferred.is_pending() {
            self.flush_deferred_now();
        }
    }

    #[inline(never)]
    fn flush_deferred_now(&self) {
        self.deferred.flush();
        if self.close_left() {
            // Drops of tokens may have read and written channels.
            self.deferred.flush();
        }
        // A failed scheduler must report its failure first. Otherwise processes that see its closed
        // ends could fail because of them, and be reported instead.
        if let Some(remote) = &self.remote
            && !self.core.shared.stopped()
        {
            remote.flush();
        }
        if !self.outer.get().is_null() {
            self.flush_around();
        }
    }

    /// Sends the frames that ports of the runs around this one have for other OS processes, as far
    /// as there is space. Returns false if some are left. This scheduler must not sleep then, and
    /// the next call of [`Scheduler::flush_deferred`] tries again.
    #[cold]
    fn flush_around(&self) -> bool {
        let flushed = current::flush_around(self);
        if !flushed {
            self.deferred.note();
        }
        flushed
    }

    /// Exchanges frames with other OS processes on behalf of the runs around this one, before this
    /// scheduler sleeps. It does so if they have frames that do not fit into the link, or values to
    /// drop when these have been sent. Returns true if this scheduler must not sleep yet. Before
    /// that, blocks for [`SPACE_CHECK_INTERVAL`] if no process is ready. Returns false if there is
    /// no run around this one.
    pub(super) fn wait_for_space_around(&self) -> bool {
        !self.outer.get().is_null() && self.waits_around()
    }

    #[cold]
    fn waits_around(&self) -> bool {
        let flushed = self.flush_around();
        let exchanges = current::exchange_around(self);
        if exchanges {
            // The dropped values may have contained ends of channels.
            self.flush_deferred();
        }
        // A decoder may have started this run. Then no frame is received before the run ends, so
        // this scheduler must not wait for space: the other OS process may be waiting in the same
        // way. Only code outside of the run can depend on the frames.
        let waits = exchanges || !flushed && self.core.shared.has_foreign_wakers();
        if waits && self.queue.is_empty() {
            thread::sleep(SPACE_CHECK_INTERVAL);
        }
        waits
    }

    /// Closes the ends and drops the tokens that were left outside of polls. Otherwise a process
    /// might wait for them while this scheduler sleeps. Returns true if there were any.
    pub(super) fn close_left_outside_polls(&self) -> bool {
        let any = self.close_left();
        if any {
            self.ran.set(true);
            self.deferred.note();
            self.flush_deferred();
        }
        any
    }

    /// Wakes and drops the foreign wakers that have accumulated. This is user code, so it runs here
    /// and not while the scheduler changes its state. A panic in it ends the run.
    #[inline]
    pub(super) fn tidy(&self) {
        if self.hooks.has_released() {
            self.tidy_now();
        }
    }

    #[cold]
    fn tidy_now(&self) {
        self.ran.set(true);
        for released in self.hooks.take_released() {
            self.guarded(|| match released {
                ReleasedWaker::Wake(waker) => waker.wake(),
                ReleasedWaker::Drop(waker) => drop(waker),
            });
        }
        // The wakers may have read and written channels of other schedulers, and this scheduler may
        // sleep now.
        self.flush_deferred();
    }

    /// Defers the closing of an end until the current poll has ended, or until all processes are
    /// created. Returns false if neither is in progress or the run has stopped. Then the caller
    /// must close the end.
    ///
    /// # Safety
    /// Calling `close(end)` once must be sound, on this thread, at any time in the life of the
    /// scheduler.
    pub(super) unsafe fn close_later(&self, end: *const (), close: unsafe fn(*const ())) -> bool {
        let in_poll = self.core.running.process() != NO_ID || self.closings.creating.get();
        if !in_poll || self.core.shared.stopped() {
            return false;
        }
        self.closings.push(Closing {
            end,
            close,
            process: self.leaves(),
        });
        self.deferred.note();
        true
    }

    /// Returns kind and index of the process in whose name ends and tokens are left at present, or
    /// `None` if there is none. The contents of a token are left by the process that left the
    /// token, which may have ended by then.
    pub(super) fn leaves(&self) -> Option<(u32, u32)> {
        self.closings.left_by.get().or_else(|| self.running())
    }

    /// Closes the ends that processes have left, and drops the unread tokens that are queued.
    /// Continues until none are left, because both run user code, which may leave more. Returns
    /// true if there was an end or a token. A panic in it ends the run.
    pub(super) fn close_left(&self) -> bool {
        let mut any = false;
        loop {
            if let Some(Closing {
                end,
                close,
                process,
            }) = self.closings.pop()
            {
                // SAFETY: the caller of `close_later` guarantees that one call is sound. The entry
                // has been removed from the queue, so this is the only call.
                self.in_the_name_of(process, || unsafe { close(end) });
            } else if let Some(tokens) = self.token_drops.pop() {
                self.in_the_name_of(tokens.process, || drop(tokens));
            } else {
                return any;
            }
            any = true;
        }
    }

    /// Calls user code between polls. A panic in it ends the run, and is reported as a failure of
    /// `process`. With `None` it is reported without a process.
    pub fn in_the_name_of(&self, process: Option<(u32, u32)>, f: impl FnOnce()) {
        let around = self.closings.left_by.replace(process);
        let called = user_code::caught(f);
        self.closings.left_by.set(around);
        if let Err(message) = called {
            let process = process.map(|(kind, index)| self.directory.process(kind, index));
            let message = format!("panicked: {message}");
            self.core.shared.fail(process, message);
        }
    }
}
