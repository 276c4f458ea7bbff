//! A scheduler and the floor above it: which calls its processes wait in, and what comes for them.

use std::any::Any;
use std::rc::Rc;

use super::calls::{UnreceivedMessages, WaitingCall};
use super::current;
use super::floor::Floor;
use super::hooks::Behind;
use super::scheduler::Scheduler;
use super::task::TaskHeader;
use super::traffic::RankTraffic;
use super::waits::UNKNOWN;
use crate::link::between;
use crate::link::inbox::Letter;
use crate::link::waiter::{ARMED, HOOK, ID};

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

/// The floor above the scheduler of this thread, and the rank of the process that is running; `None` if none is, or if the
/// floor is none of this type.
pub fn current<F: Floor>() -> Option<(Rc<F>, u32)> {
    let found = current::with_current(|scheduler| {
        let (kind, index) = scheduler.running()?;
        let floor = Rc::clone(scheduler.floor()?) as Rc<dyn Any>;
        let rank = scheduler.directory().rank(kind, index);
        Some((floor.downcast().ok()?, rank))
    });
    found.flatten()
}
