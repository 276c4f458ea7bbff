//! Turns of processes that are timed: where a run is measured or traced.

use std::task::{Context, Waker};
use std::time::Instant;

use super::recorder::Recorder;
use super::scheduler::Scheduler;

impl Scheduler {
    /// What is recorded, where the run is traced.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_deref()
    }

    /// As `turn`, with a look at the clock after each process.
    #[cold]
    #[inline(never)]
    pub(super) fn timed_turn(&self, waker: &Waker) {
        if self.queue.is_empty() {
            return;
        }
        if let Some(recorder) = &self.recorder {
            recorder.begin(self.queue.len());
        }
        let mut context = Context::from_waker(waker);
        let told = self.told.get();
        let mut clock = self.measured.then(Instant::now);
        let turns = self.batch_size.get();
        let (mut turn, mut has_ended) = (0, false);
        loop {
            // As `pass_stop_on`, but that each is timed by itself.
            let asked = has_ended.then(|| self.take_asked()).flatten();
            let Some(id) = asked.or_else(|| (turn < turns).then(|| self.queue.pop()).flatten())
            else {
                break;
            };
            let who = self
                .header(id)
                .map(|header| (header.kind(), header.index()));
            if let Some(recorder) = &self.recorder {
                recorder.open();
            }
            has_ended = if asked.is_some() {
                self.poll_asked(id, told, &mut context)
            } else {
                turn += 1;
                self.step_alone(turn - 1, id, told, &mut context)
            };
            self.flush_deferred();
            if let Some(recorder) = &self.recorder {
                let header = self.header(id);
                let ready = header.is_some_and(|header| header.is_queued());
                recorder.close(who, header.is_none(), ready);
            }
            if let Some(clock) = &mut clock {
                let now = Instant::now();
                let at = id - self.base;
                self.tally.borrow_mut().poll(at, who, now - *clock);
                *clock = now;
            }
        }
        self.adapt_batch(turn);
        self.core.running.end_batch();
    }

    /// Hands in what was recorded, where the run is traced.
    pub(super) fn hand_in(&self) {
        if let Some(recorder) = &self.recorder {
            if recorder.is_open() {
                // A panic has cut it short.
                recorder.close(self.running(), true, false);
            }
            let (os_process, _) = self.core.shared.os_process().unwrap_or((0, 1));
            recorder.hand_in(os_process, self.number().0);
        }
    }
}
