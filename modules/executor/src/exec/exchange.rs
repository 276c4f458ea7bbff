//! Saying to a scheduler of another OS process that an end here has gone.
//!
//! A scheduler and the floor above it: which calls its processes wait in, and what comes for them.
//!
//! What the schedulers of all OS processes have counted and recorded comes together at the first,
//! when the run is over.

use super::current;
use super::current::with_current;
use super::frames::{Floor, Mail, Outside, TALLY};
use super::hooks::Behind;
use super::report::{Directory, UnreceivedMessages, WaitingCall};
use super::scheduler::Scheduler;
use super::statistics::{RankTraffic, Recorder, Tally};
use super::task::TaskHeader;
use super::wait_graph::UNKNOWN;
use crate::link::between;
use crate::link::between::RunState;
use crate::link::inbox::Letter;
use crate::link::waiter::{ARMED, HOOK, ID};
use crate::placement::SchedulerId;
use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

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
    /// The calls in which processes of this scheduler wait that have not been woken.
    pub(super) fn calls(&self) -> Vec<WaitingCall> {
        let mut calls = Vec::new();
        let Some(floor) = self.above.made() else {
            return calls;
        };
        floor.calls(&mut |word, peer, what| {
            let id = match word & HOOK {
                0 => Some(word & ID),
                _ => match self.hooks.behind(word) {
                    Some(Behind::Process(id)) => Some(id),
                    _ => None,
                },
            };
            let awake = |id| self.header(id).is_some_and(TaskHeader::is_queued);
            let id = id.filter(|&id| word & ARMED != 0 && !awake(id));
            if let Some(rank) = id.and_then(|id| self.rank(id)) {
                let (text, place) = what();
                let peer = peer.unwrap_or(UNKNOWN);
                calls.push(WaitingCall {
                    rank,
                    peer,
                    text,
                    place,
                });
            }
        });
        calls
    }

    /// Whether processes may wait in calls.
    pub(super) fn has_floor_above(&self) -> bool {
        self.above.made().is_some()
    }

    /// The floor above; none if there is none.
    fn floor(&self) -> Option<&Rc<dyn Floor>> {
        self.above
            .floor(self.shared(), self.number(), self.outside())
    }

    /// Gives the floor above what has come for it.
    pub(super) fn take_letters(&self, letters: Vec<Letter>) {
        for letter in letters {
            self.guarded(|| {
                if let Some(floor) = self.floor() {
                    floor.letter(letter);
                }
            });
        }
    }

    /// The same, from another OS process.
    pub(super) fn take_frame(&self, from: u32, header: between::Header, bytes: &[u8]) {
        let Some(floor) = self.floor() else { return };
        if let Err(why) = floor.frame(from, header, bytes) {
            self.fail_without_process(why);
        }
    }

    /// What was sent by calls of the floor above, where the run is profiled.
    pub(super) fn traffic_above(&self) -> RankTraffic {
        let made = self.above.made();
        made.map_or_else(RankTraffic::default, |floor| floor.traffic())
    }

    /// The processes of this run have gone: closes the floor above.
    pub(super) fn close_above(&self) -> UnreceivedMessages {
        self.above.made().map_or((0, None), |floor| floor.close())
    }
}

/// The floor above the scheduler of this thread, and the rank of the process that is running;
/// `None` if none is, or if the floor is none of this type.
pub fn current<F: Floor>() -> Option<(Rc<F>, u32)> {
    let found = current::with_current(|scheduler| {
        let (kind, index) = scheduler.running()?;
        let floor = Rc::clone(scheduler.floor()?) as Rc<dyn Any>;
        let rank = scheduler.directory().rank(kind, index);
        Some((floor.downcast().ok()?, rank))
    });
    found.flatten()
}

/// How long nothing may come of what others have recorded of a run that has failed: one of them may
/// compute for long.
const SILENCE: Duration = Duration::from_secs(1);
/// How long all of it may take.
const ALL: Duration = Duration::from_secs(10);
/// How often is looked then, as nobody rings any more.
const LOOK: Duration = Duration::from_millis(1);

impl Scheduler {
    /// Sends what was counted to the first scheduler, which gathers what all have, in their order;
    /// none if the run has failed.
    pub fn gather(
        &self,
        outside: &Outside,
        mut tally: Tally,
        directory: &Arc<dyn Directory>,
    ) -> Option<Vec<Tally>> {
        let trace = self.recorder().map(Recorder::trace);
        tally.frames = Some(outside.sent());
        if outside.link().me() > 0 {
            // Those of OS process 0 hand in to the same trace as the first.
            if let (Some(trace), Some((1.., _))) = (trace, self.core.shared.os_process()) {
                tally.recorded = trace.take();
            }
            outside.send(SchedulerId::LEADER, TALLY, 0, 0, &tally.to_bytes());
            let start = Instant::now();
            while !outside.flush() {
                match outside.state() {
                    // What has been recorded is wanted all the same.
                    RunState::Failed if trace.is_none() || start.elapsed() > ALL => break,
                    RunState::Failed => thread::sleep(LOOK),
                    // It is over when all is sent.
                    _ => outside.sleep(
                        || outside.flush() || outside.state() == RunState::Failed,
                        None,
                    ),
                }
            }
            return Some(Vec::new());
        }
        let mut all: Vec<_> = (0..outside.link().count()).map(|_| None).collect();
        all[0] = Some(tally);
        let came = |message: Mail| {
            let mut tally = Tally::from_bytes(&message.bytes, directory);
            if let (Some(tally), Some(trace)) = (&mut tally, trace) {
                tally.recorded.drain(..).for_each(|part| trace.add(part));
            }
            (message.from, tally)
        };
        for _ in 1..all.len() {
            let Some(message) = self.next_mail(outside) else {
                if trace.is_some() {
                    self.gather_late(outside, &mut all, came);
                }
                return None;
            };
            let (from, tally) = came(message);
            all[from] = tally;
        }
        all.into_iter().collect()
    }

    /// The run has failed. Takes what comes from those who can still send, until all of them have
    /// or nothing comes any more.
    fn gather_late(
        &self,
        outside: &Outside,
        all: &mut [Option<Tally>],
        came: impl Fn(Mail) -> (usize, Option<Tally>),
    ) {
        let start = Instant::now();
        let mut last = start;
        while last.elapsed() < SILENCE && start.elapsed() < ALL {
            // Before what they have sent is looked for: who is gone by now sends no more.
            let mut missing = (0..all.len()).filter(|&who| all[who].is_none());
            let is_over = !missing.any(|who| outside.link().may_come_from(who));
            let has_come = self.exchange_with(outside);
            if has_come {
                last = Instant::now();
            }
            for message in outside.mail.take() {
                // There may have been a meeting.
                if message.kind == TALLY {
                    let (from, tally) = came(message);
                    all[from] = tally;
                }
            }
            match (has_come, is_over) {
                // Not all that has come is taken at once.
                (true, _) => {}
                (false, true) => return,
                (false, false) => thread::sleep(LOOK),
            }
        }
    }
}
