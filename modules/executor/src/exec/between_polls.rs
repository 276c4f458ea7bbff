//! The work of a scheduler between two polls: deferred wake-ups, ends of channels that a process
//! has left, tokens that were not read, and wakers of other libraries. Except for the wake-ups, all
//! of it may call code of the user.

use super::current;
use super::current::with_current;
use super::deferred::Closing;
use super::frames::Outside;
use super::hooks::Loose;
use super::scheduler::Scheduler;
use super::user_code;
use crate::link::waiter::NOBODY;
use crate::placement::SchedulerId;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

/// How often a run within another looks whether there is room for what that one sends.
const ROOM: Duration = Duration::from_micros(100);

/// What another OS process is to be told.
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
        if !self.is_at(|scheduler| scheduler.shared().stopped()) {
            self.outside.take_leave(self.to, self.kind, self.channel);
        }
    }
}

/// Says so when the turn of the end's process is over.
pub fn take_leave(outside: &Rc<Outside>, to: SchedulerId, kind: u32, channel: u32) {
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

impl Scheduler {
    /// Does what the process whose turn it was has deferred: to wake others, to get frames on their
    /// way. The next may compute for long.
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
            // Where tokens are dropped, others may have been read and written.
            self.deferred.flush();
        }
        // Who has failed tells that first: others would fail, too, of ends of channels that it has
        // closed.
        if let Some(outside) = &self.outside
            && !self.core.shared.stopped()
        {
            outside.flush();
        }
        if !self.outer.get().is_null() {
            self.flush_around();
        }
    }

    /// Sends what ports of the runs around this one have for other OS processes, as far as there is
    /// room; false: this one is not to sleep yet.
    #[cold]
    fn flush_around(&self) -> bool {
        let flushed = current::flush_around(self);
        if !flushed {
            self.deferred.note();
        }
        flushed
    }

    /// Called before this scheduler sleeps: exchanges with other OS processes for the runs around
    /// it that have frames for which there is no room, or values to drop when they have been sent,
    /// and waits a little. Returns true if it did.
    pub(super) fn waits_for_room_around(&self) -> bool {
        !self.outer.get().is_null() && self.waits_around()
    }

    #[cold]
    fn waits_around(&self) -> bool {
        let flushed = self.flush_around();
        let exchanges = current::exchange_around(self);
        if exchanges {
            // Values that were dropped may have had ends of channels.
            self.flush_deferred();
        }
        // A decoder may have started this run. Then nothing is received before the run ends, so
        // this scheduler must not wait for room: the other OS process may be waiting in the same
        // way. Only code outside of the run can depend on the frames.
        let waits = exchanges || !flushed && self.core.shared.has_foreign_wakers();
        if waits && self.queue.is_empty() {
            thread::sleep(ROOM);
        }
        waits
    }

    /// Closes the ends and drops the tokens that were left outside of turns: no process may wait
    /// for that while this one sleeps. Returns whether there were any.
    pub(super) fn has_left_something(&self) -> bool {
        let any = self.close_left();
        if any {
            self.ran.set(true);
            self.deferred.note();
            self.flush_deferred();
        }
        any
    }

    /// Wakes and drops the foreign wakers that have piled up: code of the user, which runs here and
    /// not in the middle of something of ours.
    #[inline]
    pub(super) fn tidy(&self) {
        if self.hooks.has_loose() {
            self.tidy_now();
        }
    }

    #[cold]
    fn tidy_now(&self) {
        self.ran.set(true);
        for loose in self.hooks.take_loose() {
            self.guarded(|| match loose {
                Loose::Wake(waker) => waker.wake(),
                Loose::Drop(waker) => drop(waker),
            });
        }
        // They may have read and written across schedulers, and this one may sleep now.
        self.flush_deferred();
    }

    /// Has an end closed when the turn of the process that is running is over, or all processes are
    /// made; false: nothing is to be waited for, and the caller closes it.
    ///
    /// # Safety
    /// `close` may be called with `end` once, by this thread, at any time in the life of the
    /// scheduler.
    pub(super) unsafe fn close_later(&self, end: *const (), close: unsafe fn(*const ())) -> bool {
        let in_turn = self.core.running.process() != NOBODY || self.closings.making.get();
        if !in_turn || self.core.shared.stopped() {
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

    /// Returns kind and index of the process in whose name an end or a token is left just now: the
    /// contents of a token are left by the process that left the token, which may have ended by
    /// then.
    pub(super) fn leaves(&self) -> Option<(u32, u32)> {
        self.closings.of.get().or_else(|| self.running())
    }

    /// Closes the ends that were left, and drops the tokens that were not read. Returns whether
    /// there were any.
    pub(super) fn close_left(&self) -> bool {
        let mut any = false;
        loop {
            if let Some(Closing {
                end,
                close,
                process,
            }) = self.closings.pop()
            {
                // SAFETY: the promise to `close_later`; it was taken out.
                self.in_the_name_of(process, || unsafe { close(end) });
            } else if let Some(tokens) = self.leaving.pop() {
                self.in_the_name_of(tokens.process, || drop(tokens));
            } else {
                return any;
            }
            any = true;
        }
    }

    /// Calls code of the user between turns. A panic is the failure of that process.
    pub fn in_the_name_of(&self, process: Option<(u32, u32)>, f: impl FnOnce()) {
        let around = self.closings.of.replace(process);
        let called = user_code::caught(f);
        self.closings.of.set(around);
        if let Err(message) = called {
            let process = process.map(|(kind, index)| self.directory.process(kind, index));
            let message = format!("panicked: {message}");
            self.core.shared.fail(process, message);
        }
    }
}
