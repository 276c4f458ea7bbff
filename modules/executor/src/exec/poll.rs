//! The poll of a process, and batches in which each poll is timed because the run is measured or
//! traced.

use super::scheduler::Scheduler;
use super::scheduler::Slot;
use super::statistics::Recorder;
use super::task;
use super::task::TaskHeader;
use crate::link::waiter::NO_ID;
use std::ptr::NonNull;
use std::task::Context;
use std::task::Waker;
use std::time::Instant;

impl Scheduler {
    /// Returns the recorder, or `None` if the run is not traced.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_deref()
    }

    /// Polls a batch as `poll_queued` does, and records the time of each poll in the statistics or
    /// in the trace. Does nothing if no process is ready.
    #[cold]
    #[inline(never)]
    pub(super) fn timed_batch(&self, waker: &Waker) {
        if self.queue.is_empty() {
            return;
        }
        if let Some(recorder) = &self.recorder {
            recorder.begin(self.queue.len());
        }
        let mut context = Context::from_waker(waker);
        let reported = self.reported.get();
        let mut clock = self.measured.then(Instant::now);
        let polls = self.batch_size.get();
        let (mut index, mut has_ended) = (0, false);
        loop {
            // As in `pass_stop_on`, except that each poll is timed separately.
            let asked = has_ended.then(|| self.take_asked()).flatten();
            let Some(id) = asked.or_else(|| (index < polls).then(|| self.queue.pop()).flatten())
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
                self.poll_asked(id, reported, &mut context)
            } else {
                index += 1;
                self.step_alone(index - 1, id, reported, &mut context)
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
                self.statistics.borrow_mut().poll(at, who, now - *clock);
                *clock = now;
            }
        }
        self.adapt_batch(index);
        self.core.running.end_batch();
    }

    /// Adds the recording of this scheduler to the trace, if the run is traced. A poll that a panic
    /// has interrupted is recorded as ended.
    pub(super) fn hand_in(&self) {
        if let Some(recorder) = &self.recorder {
            if recorder.is_open() {
                // A panic interrupted the poll.
                recorder.close(self.running(), true, false);
            }
            let (os_process, _) = self.core.shared.os_process().unwrap_or((0, 1));
            recorder.hand_in(os_process, self.number().0);
        }
    }
}

impl Scheduler {
    /// Adapts the size of batches after a batch of `polls` polls. Has no effect if this is the only
    /// scheduler of the run.
    #[inline(always)]
    pub(super) fn adapt_batch(&self, polls: usize) {
        if self.remote.is_some() || self.core.shared.inboxes() > 1 {
            self.batch_size.adapt(polls);
        }
    }

    /// Polls a process. If it ends, then polls the processes that were asked to stop. Does the
    /// deferred work at the end. `index` is the index of the poll in the batch. `reported` is true
    /// if waits have been reported.
    #[inline(always)]
    pub(super) fn step(&self, index: usize, id: u32, reported: bool, context: &mut Context<'_>) {
        if self.step_alone(index, id, reported, context) {
            self.pass_stop_on(reported, context);
        }
        self.flush_deferred();
    }

    /// Polls the process `id`, which was removed from the queue. Returns true if it has ended in
    /// this poll. Returns false, without a poll, if it had ended before. `index` and `reported` are
    /// as in [`Scheduler::step`].
    #[inline(always)]
    pub(super) fn step_alone(
        &self,
        index: usize,
        id: u32,
        reported: bool,
        context: &mut Context<'_>,
    ) -> bool {
        debug_assert!(self.slot(id).is_some(), "only ids of the table are queued");
        let Some(slot) = self.slot(id) else {
            return false;
        };
        let Some(header) = slot.get() else {
            return false;
        };
        let header = self.predictions.confirm(index, header);
        self.core.running.set(id);
        // SAFETY: the table has live tasks only, because a slot is cleared right after the memory
        // of its task is freed.
        unsafe { header.as_ref() }.dequeue();
        self.poll(slot, header, reported, context)
    }

    /// Polls the process of a slot. Returns true if it has ended and left the table. `reported` is
    /// true if waits have been reported.
    #[inline(always)]
    fn poll(
        &self,
        slot: &Slot,
        header: NonNull<TaskHeader>,
        reported: bool,
        context: &mut Context<'_>,
    ) -> bool {
        let reported = match reported {
            // SAFETY: as in `step_alone`.
            true => Some(self.note_polled(unsafe { header.as_ref() })),
            false => None,
        };
        // SAFETY: the task is alive, as above, and no process of this scheduler is being polled.
        // The slot of a process that has ended is cleared below, so it is not polled again.
        let ended = unsafe { task::poll(header, context) };
        if ended {
            slot.set(None);
            self.live.set(self.live.get() - 1);
            if let Some(reported) = reported {
                self.ended.borrow_mut().push(reported);
            }
        }
        ended
    }

    /// Notes that a process is polled. If a wait of it at a channel between schedulers was
    /// reported, marks the end of that channel to be reported again. Returns kind and index of the
    /// process.
    #[inline(never)]
    fn note_polled(&self, header: &TaskHeader) -> (u32, u32) {
        if header.take_reported() {
            let id = self.core.running.id();
            self.registry.take_reported(id);
        }
        (header.kind(), header.index())
    }

    /// Polls the process that was asked to stop by a process that has ended. If it ends too,
    /// continues with the process that it asked, and so on up the chain. These polls precede those
    /// of all other ready processes. Otherwise each of the others would be polled in vain for each
    /// link of the chain.
    fn pass_stop_on(&self, reported: bool, context: &mut Context<'_>) {
        while let Some(id) = self.take_asked() {
            if !self.poll_asked(id, reported, context) {
                return;
            }
        }
    }

    /// Removes and returns the id of the process that was last asked to stop. Returns `None` if no
    /// process was asked since the last call, or if it has ended. The id is a hint.
    pub(super) fn take_asked(&self) -> Option<u32> {
        let id = self.asked.replace(NO_ID);
        self.header(id).map(|_| id)
    }

    /// Polls a process that may have been asked to stop. Returns true if it has ended in this poll.
    /// Returns false, without a poll, if it had ended before.
    ///
    /// The process stays marked as queued, and stays in the queue. When its entry is reached, it is
    /// polled again, or skipped if it has ended.
    pub(super) fn poll_asked(&self, id: u32, reported: bool, context: &mut Context<'_>) -> bool {
        let Some(slot) = self.slot(id) else {
            return false;
        };
        let Some(header) = slot.get() else {
            return false;
        };
        self.core.running.set(id);
        self.poll(slot, header, reported, context)
    }

    /// Creates the processes by calling `build`. A panic fails the run. Ends of channels that are
    /// left meanwhile are closed afterwards.
    pub(super) fn make(&self, build: impl FnOnce()) {
        self.closings.creating.set(true);
        self.guarded(build);
        self.closings.creating.set(false);
        self.flush_deferred();
    }
}
