//! Saying to a scheduler of another OS process that an end here has gone.

use std::rc::Rc;

use super::current::with_current;
use super::outside::Outside;
use super::scheduler::Scheduler;
use crate::placement::SchedulerId;

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
