//! What the schedulers of all OS processes have counted and recorded comes together at the first, when the run is over.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::directory::Directory;
use super::outside::{Mail, Outside, TALLY};
use super::recorder::Recorder;
use super::scheduler::Scheduler;
use super::tally::Tally;
use crate::link::between::RunState;
use crate::placement::SchedulerId;

/// How long nothing may come of what others have recorded of a run that has failed: one of them may compute for long.
const SILENCE: Duration = Duration::from_secs(1);
/// How long all of it may take.
const ALL: Duration = Duration::from_secs(10);
/// How often is looked then, as nobody rings any more.
const LOOK: Duration = Duration::from_millis(1);

impl Scheduler {
    /// Sends what was counted to the first scheduler, which gathers what all have, in their order; none if the run has
    /// failed.
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

    /// The run has failed. Takes what comes from those who can still send, until all of them have or nothing comes any more.
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
