//! The main loop of a scheduler: it polls its processes in batches until the whole run ends.

use super::current::CURRENT;
use super::current::with_current;
use super::detection::Decision;
use super::frames::Remote;
use super::future;
use super::parker::Unparked;
use super::scheduler::Scheduler;
use super::statistics::Statistics;
use super::task;
use super::user_code;
use super::user_code::Section;
use crate::link::between::RunState;
use crate::link::waiter::NO_ID;
use crate::say::say;
use std::hint;
use std::process;
use std::ptr;
use std::task::Context;
use std::task::Waker;
use std::time::Duration;
use std::time::Instant;

/// Maximum time for which a scheduler polls its inbox while another OS process copies a large token
/// out of the memory of this one. Copying some megabytes takes about this long. A wake-up takes a
/// fifth of it.
const COPYING: Duration = Duration::from_micros(500);

/// Aborts the program because a run ends before a run that began later on the same thread. The
/// cause is that the fiber of the earlier run was suspended in the middle of the run. The later run
/// would take the earlier one for its outer run and use it after it has been freed. An error cannot
/// be returned, because a run can also be left by a panic.
#[cold]
fn abort_unordered_exit() -> ! {
    say(
        "a run ended before a run that began later on the same thread; the program is aborted\n\
         help: processes of a run must not call functions that suspend the stack on which the run \
         was started",
    );
    process::abort()
}

impl Scheduler {
    /// Makes this the scheduler of the thread while `f` runs, and returns the result of `f`. Does
    /// the deferred work of the outer run first. Aborts the program if `f` returns before a run
    /// that began later on this thread has ended.
    fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Leave<'a>(&'a Scheduler);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                if !ptr::eq(CURRENT.get(), self.0) {
                    abort_unordered_exit();
                }
                CURRENT.set(self.0.outer.get());
            }
        }
        // This must be first: neither a run on the stack of a fiber nor the deferred work of the
        // outer run may be suspended.
        let _section = Section::begin();
        // The inner run may take long, so the outer run must not defer work until it ends.
        with_current(|outer| outer.flush_deferred());
        self.outer.set(CURRENT.replace(self));
        let _leave = Leave(self);
        self.deferred.enter(f)
    }

    /// Runs a scheduler: `build` adds its processes, which are polled until the whole run ends.
    /// Blocks for this time. The processes that remain are then dropped. Returns the counters, of
    /// which none are left in the scheduler. A panic of `build` or of a process ends the run as a
    /// failure ([`Shared::outcome`]). Aborts the program if a run that began later on this thread
    /// has not ended.
    ///
    /// [`Shared::outcome`]: super::shared::Shared::outcome
    pub fn live(&self, build: impl FnOnce()) -> Statistics {
        self.enter(|| {
            let registration = self.register();
            self.make(build);
            self.work();
            drop(registration);
            self.hand_in();
            self.announce();
            self.clear();
            // Destructors may leave more ends of channels, tokens and wakers.
            loop {
                self.flush_deferred();
                self.hooks.clear();
                if !self.hooks.has_released() {
                    break;
                }
                self.tidy();
            }
        });
        self.statistics.take()
    }

    /// Polls the processes until the whole run ends.
    fn work(&self) {
        // SAFETY: the core is a field of `self`, which outlives the waker.
        let waker = unsafe { future::waker(&self.core) };
        let shared = &*self.core.shared;
        // Time at which a wait for an event outside the network is reported.
        let mut deadline = None;
        while !shared.stopped() {
            match self.join_detection_if_called() {
                Some(Decision::End) => return,
                Some(decision) => deadline = decision.report_at(),
                None => {}
            }
            self.poll_batch(&waker);
            if self.finds_work() {
                continue;
            }
            let ran = self.ran.replace(false);
            if ran {
                deadline = None;
                shared.note_activity();
            }
            if let Some(recorder) = &self.recorder {
                recorder.idle();
            }
            let woken = match &self.remote {
                Some(remote) => self.sleep_among(remote, ran, deadline),
                None => self.sleep(deadline),
            };
            match woken {
                Some(Decision::End) => return,
                Some(decision) => deadline = decision.report_at(),
                None => {}
            }
        }
    }

    /// Takes the mail, fires the timers that are due, polls a batch of ready processes, and does
    /// the work that they deferred to the end of the batch.
    fn poll_batch(&self, waker: &Waker) {
        if self.core.shared.inbox(self.index()).is_filled() {
            self.take_mail();
        }
        self.polled.poll(false, |id| self.wake(id));
        self.fire_timers();
        self.guarded(|| self.poll_queued(waker));
        self.tidy();
    }

    /// Returns true if the scheduler must not sleep: the run has ended, a process is ready, or an
    /// event may make one ready. Before it returns false, it exchanges frames, spins for a limited
    /// time, and arms all polled waits.
    fn finds_work(&self) -> bool {
        // A failure must be reported before this scheduler does anything more.
        self.core.shared.stopped()
            || self.exchange()
            || !self.queue.is_empty()
            || self.core.shared.inbox(self.index()).is_filled()
            || self.spin()
            || self.arm()
            || self.hooks.has_released()
            || self.wait_for_space_around()
            || self.close_left_outside_polls()
    }

    /// Sleeps until another scheduler of this OS process wakes this one, until all of them sleep,
    /// until the first timer is due, or until the deadline. If all sleep, takes part in the
    /// deadlock detection and returns the decision. After the deadline, requests a report and
    /// returns [`Decision::Wait`] without a duration. Otherwise returns `None`.
    fn sleep(&self, deadline: Option<Instant>) -> Option<Decision> {
        let shared = &*self.core.shared;
        self.statistics.borrow_mut().sleeps += 1;
        match shared.sleep(self.index(), self.longest_sleep(deadline)) {
            // The wake-up may be spurious, because the scheduler that sent it may have come late.
            Unparked::Woken => None,
            Unparked::TimedOut => self.request_report_after(deadline),
            Unparked::AllAsleep => Some(self.detect_deadlock()),
        }
    }

    /// Returns the time until the first timer is due or the deadline, whichever is earlier. Returns
    /// `None` if there is neither.
    fn longest_sleep(&self, deadline: Option<Instant>) -> Option<Duration> {
        let first = deadline.into_iter().chain(self.timers.first()).min();
        first.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// After the deadline, requests a report and returns [`Decision::Wait`] without a duration.
    /// Otherwise returns `None`.
    fn request_report_after(&self, deadline: Option<Instant>) -> Option<Decision> {
        deadline.filter(|at| *at <= Instant::now()).map(|_| {
            self.core.shared.request_report();
            Decision::Wait(None)
        })
    }

    /// Sleeps until a frame or a wake-up comes, until the first timer is due, or until the
    /// deadline. If a deadlock detection with the other OS processes is in progress, takes part
    /// instead and returns the decision. After the deadline, requests a report and returns
    /// [`Decision::Wait`] without a duration. Otherwise returns `None`. `ran` is true if a process
    /// has run since the last sleep.
    fn sleep_among(
        &self,
        remote: &Remote,
        ran: bool,
        deadline: Option<Instant>,
    ) -> Option<Decision> {
        if ran {
            remote.moved.set(true);
        }
        if self.is_called(remote) {
            return Some(self.detect_deadlock());
        }
        let shared = &*self.core.shared;
        self.statistics.borrow_mut().sleeps += 1;
        remote.moved.set(false);
        let at_most = self.longest_sleep(deadline);
        let stay = || {
            let inbox = shared.inbox(self.index());
            inbox.is_filled()
                || shared.stopped()
                || remote.is_called()
                || remote.state() != RunState::Running
        };
        remote.sleep(stay, at_most);
        self.request_report_after(deadline)
    }

    /// Drops the processes that remain, closes the upper layer, drops the tokens that are kept for
    /// other OS processes, and collects the counters that are known only then. A panic in the
    /// destructor of a process is ignored. A panic in that of a token ends the run as a failure, if
    /// the run has no other error.
    fn clear(&self) {
        for (at, task) in self.tasks.iter().enumerate() {
            let Some(header) = task.get() else { continue };
            let id = self.base + at as u32;
            self.core.running.set(id);
            // SAFETY: the processes in the table are alive. If a destructor panics, the memory is
            // not freed, and the second call frees it.
            let discard = || unsafe { task::discard(header) };
            if user_code::caught(discard).is_err() {
                discard();
            }
            task.set(None);
        }
        self.core.running.set(NO_ID);
        self.handle_requests(self.core.shared.inbox(self.index()).take_requests());
        let unreceived = self.close_upper_layer();
        let sent = self.upper_layer_traffic();
        let mut statistics = self.statistics.borrow_mut();
        (statistics.unreceived, statistics.ranks) = (unreceived, sent);
        drop(statistics);
        if let Some(remote) = &self.remote {
            for (channel, token) in remote.take_kept() {
                self.drop_token(channel, token);
            }
        }
        self.registry.clear();
    }

    /// Wakes the processes and hooks in the inbox, passes on requests, and answers an inquiry.
    fn take_mail(&self) {
        self.ran.set(true);
        let mut mail = self.mail.take();
        self.core.shared.inbox(self.index()).drain(&mut mail);
        for id in mail.drain(..) {
            self.wake(id);
        }
        self.mail.set(mail);
        self.handle_requests(self.core.shared.inbox(self.index()).take_requests());
        self.answer();
    }

    /// Polls a batch of ready processes. A panic of a process is passed on.
    fn poll_queued(&self, waker: &Waker) {
        self.ran.set(self.ran.get() || !self.queue.is_empty());
        if self.timed {
            return self.timed_batch(waker);
        }
        let mut context = Context::from_waker(waker);
        // `reported` changes only in a deadlock detection, which is between batches.
        let polls = if self.reported.get() {
            self.batch(true, &mut context)
        } else {
            self.batch(false, &mut context)
        };
        self.adapt_batch(polls);
        self.core.running.end_batch();
    }

    #[inline(always)]
    /// Polls a batch of processes from the queue, and returns the number of them, without polls of
    /// processes that were asked to stop. `reported` is true if waits have been reported.
    fn batch(&self, reported: bool, context: &mut Context<'_>) -> usize {
        let polls = self.batch_size.get();
        for index in 0..polls {
            let Some(id) = self.queue.pop() else {
                return index;
            };
            self.step(index, id, reported, context);
        }
        polls
    }

    /// Spins until a message comes, a polled wait ends or the run stops. Returns true if one of
    /// them happened. Returns false after a limited time, and at once if this scheduler is the only
    /// one or there are more schedulers than cores. Receives frames that come, and wakes the
    /// processes whose polled waits end.
    fn spin(&self) -> bool {
        let shared = &*self.core.shared;
        let Some(patience) = shared.patience() else {
            return false;
        };
        let inbox = shared.inbox(self.index());
        let mut start = None;
        let patient = self.spin_history.is_patient() || self.is_being_read();
        loop {
            for _ in 0..64 {
                // The scheduler has no process to poll first, so it receives messages at once.
                let came = self.has_mail();
                if came {
                    self.exchange();
                }
                if came
                    || self.polled.poll(true, |id| self.wake(id))
                    || inbox.is_filled()
                    || shared.stopped()
                {
                    if start.is_some() {
                        self.spin_history.has_paid();
                    }
                    return true;
                }
                hint::spin_loop();
            }
            if !patient {
                self.spin_history.was_in_vain();
                return false;
            }
            // Most waits have ended by now. Reading the clock takes as long as some of them.
            let start = *start.get_or_insert_with(Instant::now);
            let elapsed = start.elapsed();
            if elapsed > patience && (elapsed > COPYING || !self.is_being_read()) {
                self.spin_history.was_in_vain();
                return false;
            }
        }
    }

    /// Returns true if another OS process is reading a token in the memory of this one. An answer
    /// may come soon.
    fn is_being_read(&self) -> bool {
        self.remote
            .as_ref()
            .is_some_and(|remote| remote.is_exposed())
    }

    /// Arms the polled waits before the scheduler sleeps. Returns true if one of them has ended, so
    /// that the scheduler need not sleep.
    fn arm(&self) -> bool {
        self.polled.arm(|id| self.wake(id))
    }
}
