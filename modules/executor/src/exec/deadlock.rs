//! Deadlock detection: the procedure when all schedulers are quiescent.
//!
//! No process runs meanwhile, and no code of a process is called: the waits are read from the state
//! words of channels. [`Scheduler::detect_deadlock`] is the entry. With several schedulers or OS
//! processes, each reports its waits to the first (`detection.rs`), which decides for all. Either
//! a channel grows because it is full on a cycle of waits (`wait_graph.rs`), or the network is
//! blocked, or a timer or something outside of the network may still wake a process.

use super::detection::Decision;
use super::detection::Detection;
use super::detection::QUIET_FACTOR;
use super::detection::WaitReport;
use super::frames::DECISION;
use super::frames::Remote;
use super::frames::WAIT_REPORT;
use super::hooks::HookWaiter;
use super::hooks::Side;
use super::report;
use super::report::Calls;
use super::report::WaitingCall;
use super::scheduler::Scheduler;
use super::shared::Shared;
use super::task::TaskHeader;
use super::user_code;
use super::wait_graph::Grow;
use super::wait_graph::UNKNOWN;
use super::wait_graph::Update;
use super::wait_graph::Wait;
use super::wait_points::SideState;
use crate::block::Block;
use crate::error::RunError;
use crate::link::inbox::Inbox;
use crate::link::waiter::ARMED;
use crate::link::waiter::GONE;
use crate::link::waiter::HOOK;
use crate::link::waiter::ID;
use crate::link::waiter::REMOTE;
use crate::link::waiter::STOP;
use crate::link::waiter::is_hooked;
use crate::payload::Decoder;
use crate::payload::Encoder;
use crate::placement::SchedulerId;
use crate::sync::PoisonError;
use crate::sync::lock;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Scheduler {
    /// Takes part in a deadlock detection: reports the waits of the processes of this scheduler,
    /// and blocks until the decision. Grows the channels that are to grow, and returns the
    /// decision. The decision is never [`Decision::ReportAll`], after which this function reports a
    /// second time.
    #[cold]
    pub(super) fn detect_deadlock(&self) -> Decision {
        let mut decision = self.report_and_wait(self.report_waits());
        if let Decision::ReportAll = decision {
            let ranks = (0..self.tasks.len() as u32).filter_map(|at| self.rank(self.base + at));
            decision = self.report_and_wait(WaitReport {
                ranks: ranks.collect(),
                calls: self.calls(),
                ..self.report_waits()
            });
        }
        if let Decision::Resume(grow) = &decision {
            for channel in &**grow {
                let wake = |id| self.wake(id);
                self.registry.grow(channel.number, channel.capacity, wake);
            }
        }
        decision
    }

    /// Returns a report of the waits that have changed, and of the processes that have ended, since
    /// the last call. If no process of this scheduler remains, the report contains no waits.
    fn report_waits(&self) -> WaitReport {
        let ended = self.ended.take();
        self.reported.set(self.live.get() > 0);
        // The count must be read before the inbox. A foreign waker fills the inbox before it is
        // released, so at least one of the two is seen.
        let foreign = self.core.shared.has_foreign_wakers();
        let mut report = WaitReport {
            live: self.live.get(),
            // Frames from other OS processes need no check. A frame that comes now belongs to the
            // detection, or its sender reports that it has moved.
            moved: self.remote.as_ref().is_some_and(|o| o.moved.get())
                || !self.queue.is_empty()
                || self.hooks.has_released()
                || self.core.shared.inbox(self.index()).is_filled(),
            foreign,
            timers: !self.timers.is_empty(),
            above: self.has_upper_layer(),
            ended: ended
                .into_iter()
                .map(|(kind, index)| self.directory.rank(kind, index))
                .collect(),
            ..WaitReport::default()
        };
        if report.live == 0 {
            // No process is left that waits. Those that were reported as waiting have ended.
            return report;
        }
        self.registry.collect(|side_state| {
            if let Some(update) = self.update(side_state) {
                report.updates.push(update);
            }
        });
        for ready in self.hooks.take_touched() {
            ready.collect(|number, side, word| {
                let wait = word.and_then(|word| {
                    let side_state = self.registry.side_state(number, side);
                    self.wait(SideState { word, ..side_state })
                });
                report.updates.push(Update { number, side, wait });
            });
        }
        let (times, waits) = &mut self.statistics.borrow_mut().wait_reports;
        *times += 1;
        *waits += report.updates.len() as u64;
        report
    }

    /// Returns the update for one side of a channel, also if no process waits there. Returns `None`
    /// if a bundle or another OS process reports this side.
    fn update(&self, side_state: SideState) -> Option<Update> {
        let SideState {
            number,
            side,
            word,
            cross,
            ..
        } = side_state;
        if cross.is_none() && word & ID == REMOTE && word & (GONE | ARMED) == 0 {
            // The other OS process reports this side. (At an end of this OS process the word means
            // that no process waits.)
            return None;
        }
        if is_hooked(word) && matches!(self.hooks.waiter_of(word), Some(HookWaiter::Bundle(true))) {
            return None;
        }
        let wait = self.wait(side_state);
        Some(Update { number, side, wait })
    }

    /// Returns the wait at a side of a channel. Returns `None` if no process waits there, if a
    /// bundle reports the wait, or if the process has ended or is not on this scheduler. For an end
    /// of a channel between schedulers, records that the wait was reported.
    fn wait(&self, side_state: SideState) -> Option<Wait> {
        let SideState {
            number,
            side,
            word,
            capacity,
            other,
            cross,
        } = side_state;
        if word & GONE != 0 || word & (ARMED | STOP) == 0 {
            return None;
        }
        let id = match word & HOOK {
            0 => word & ID,
            _ => match self.hooks.waiter_of(word)? {
                HookWaiter::Process(id) => id,
                HookWaiter::Bundle(_) => return None,
            },
        };
        if let (Some(slot), Some(header)) = (cross, self.header(id)) {
            header.set_reported();
            self.registry.set_reported(id, slot);
        }
        let (from, to) = self.directory.peers(number);
        let known = match side {
            Side::Read => from,
            Side::Write => to,
        };
        // A network without a table of channels does not know the peer. The process that last
        // waited at the other side is a hint.
        let guess = || {
            (from.is_none() && to.is_none())
                .then(|| self.rank(other & ID))
                .flatten()
        };
        Some(Wait {
            rank: self.rank(id)?,
            peer: known.or_else(guess).unwrap_or(UNKNOWN),
            hint: known.is_none(),
            stop: word & STOP != 0,
            capacity,
        })
    }

    /// Returns the rank of a process, or `None` if it has ended or is not on this scheduler.
    pub(super) fn rank(&self, id: u32) -> Option<u32> {
        let header = self.header(id)?;
        Some(self.directory.rank(header.kind(), header.index()))
    }
}

/// Decisions as numbers. They are sent together with the channels that grow.
const RESUME: u8 = 0;
const REPORT_ALL: u8 = 1;
const WAIT: u8 = 2;
const END: u8 = 3;

impl Scheduler {
    /// Returns true if a deadlock detection is in progress in which this scheduler has not taken
    /// part. Marks it as attended.
    pub(super) fn is_called(&self, remote: &Remote) -> bool {
        let called = remote.is_called();
        remote.last_detection.set(
            remote
                .link()
                .detection()
                .unwrap_or(remote.last_detection.get()),
        );
        called
    }

    /// Takes part in a deadlock detection that is in progress, even if this scheduler has work.
    /// Returns the decision, or `None` if no such detection is in progress.
    ///
    /// This scheduler has work if it was woken from outside of the network when the detection had
    /// just begun. The other schedulers wait in the detection, and the work may be to wait for
    /// their frames.
    #[inline]
    pub(super) fn join_detection_if_called(&self) -> Option<Decision> {
        let remote = self.remote.as_ref()?;
        remote.is_called().then(|| self.join_detection(remote))
    }

    #[cold]
    fn join_detection(&self, remote: &Remote) -> Decision {
        // State words do not show polled waits.
        self.polled.arm(|id| self.wake(id));
        if self.ran.get() {
            remote.moved.set(true);
        }
        self.is_called(remote);
        self.detect_deadlock()
    }

    /// Reports to the scheduler that decides, and blocks until it has decided. Returns the
    /// decision. With several OS processes, the first scheduler of the run decides, and the
    /// decision is [`Decision::End`] if the run fails meanwhile.
    pub(super) fn report_and_wait(&self, report: WaitReport) -> Decision {
        match &self.remote {
            None => self.core.shared.report_and_wait(report),
            Some(remote) if remote.link().me() == 0 => self.lead(remote, report),
            Some(remote) => self.follow(remote, &report),
        }
    }

    /// Reports a failure that is known here to all other OS processes, when the run is over. Does
    /// not report [`RunError::Blocked`] and [`RunError::Memory`], which the first scheduler
    /// detects. Has no effect in a run of one OS process.
    pub(super) fn announce(&self) {
        let Some(remote) = &self.remote else { return };
        match self.core.shared.failure() {
            // The first scheduler detects these, and reports them when all have ended.
            None | Some(RunError::Blocked(_) | RunError::Memory(_)) => {}
            Some(error) => remote.link().fail(&error.to_cause()),
        }
    }

    fn follow(&self, remote: &Remote, report: &WaitReport) -> Decision {
        remote.send(
            SchedulerId::LEADER,
            WAIT_REPORT,
            0,
            0,
            &Encoder::to_vec(report),
        );
        let Some(message) = self.next_mail(remote) else {
            return Decision::End;
        };
        match Decoder::from_slice::<(u8, Vec<Grow>)>(&message.bytes) {
            Ok((RESUME, grow)) => Decision::Resume(grow.into()),
            Ok((REPORT_ALL, _)) => Decision::ReportAll,
            Ok((WAIT, _)) => Decision::Wait(None),
            _ => {
                self.core.shared.halt();
                Decision::End
            }
        }
    }

    fn lead(&self, remote: &Remote, mut report: WaitReport) -> Decision {
        for _ in 1..remote.link().count() {
            let Some(message) = self.next_mail(remote) else {
                return Decision::End;
            };
            match Decoder::from_slice::<WaitReport>(&message.bytes) {
                Ok(other) => report.join(other),
                Err(error) => {
                    let from = self
                        .core
                        .shared
                        .os_process_of(SchedulerId(message.from as u32));
                    let why = format!("invalid report of waits from OS process {from}: {error}");
                    self.core.shared.fail(None, why);
                    return Decision::End;
                }
            }
        }
        let decision = self.core.shared.decide_for_all(report);
        let none: Arc<[Grow]> = Arc::default();
        let (number, grow) = match &decision {
            Decision::Resume(grow) => (RESUME, grow),
            Decision::ReportAll => (REPORT_ALL, &none),
            Decision::Wait(_) => (WAIT, &none),
            Decision::End => (END, &none),
        };
        match decision {
            Decision::ReportAll => {}
            Decision::Wait(_) => {
                remote.link().clear_activity();
                remote.link().end_detection();
            }
            Decision::Resume(_) => remote.link().end_detection(),
            Decision::End => remote.link().end(),
        }
        let bytes = Encoder::to_vec(&(number, grow.to_vec())).clone();
        for other in 1..remote.link().count() as u32 {
            remote.send(SchedulerId(other), DECISION, 0, 0, &bytes);
        }
        remote.flush();
        decision
    }
}

impl Scheduler {
    /// Returns the calls of the upper layer in which processes of this scheduler wait, except for
    /// processes that have been woken. The result is empty if the layer has not been created.
    pub(super) fn calls(&self) -> Vec<WaitingCall> {
        let mut calls = Vec::new();
        let Some(layer) = self.upper_layer.created() else {
            return calls;
        };
        layer.calls(&mut |word, peer, what| {
            let id = match word & HOOK {
                0 => Some(word & ID),
                _ => match self.hooks.waiter_of(word) {
                    Some(HookWaiter::Process(id)) => Some(id),
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
}

/// Events that may wake a process of a quiescent network.
#[derive(Clone, Copy)]
struct Outside {
    /// Code outside of the runtime holds a waker.
    foreign: bool,
    /// A timer is set, so its scheduler is going to wake up.
    timers: bool,
}

impl Outside {
    fn may_wake(self) -> bool {
        self.foreign || self.timers
    }
}

impl Shared {
    /// Adds the report of a scheduler, and blocks until all schedulers of this OS process have
    /// reported. The last one decides for all, which may end the run. Returns the decision. Only
    /// for the last one does a decision to wait contain a duration.
    pub fn report_and_wait(&self, mut report: WaitReport) -> Decision {
        let mut detection = lock(&self.detection);
        detection.arrived += 1;
        detection.report.live += report.live;
        detection.report.moved |= report.moved;
        detection.report.foreign |= report.foreign;
        detection.report.timers |= report.timers;
        for rank in report.ended {
            detection.graph.remove(rank);
        }
        // The order does not matter, because one scheduler reports each side of a channel.
        detection.report.updates.append(&mut report.updates);
        detection.report.ranks.append(&mut report.ranks);
        detection.report.above |= report.above;
        detection.report.calls.append(&mut report.calls);
        if detection.arrived < self.inboxes.len() {
            let number = detection.number;
            while detection.number == number {
                detection = self
                    .decided
                    .wait(detection)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            return match &detection.decision {
                // It is enough if one scheduler waits with a deadline.
                Some(Decision::Wait(_)) => Decision::Wait(None),
                decision => decision.clone().unwrap_or(Decision::End),
            };
        }
        let report = std::mem::take(&mut detection.report);
        let decision = self.decide(&mut detection, report);
        detection.number += 1;
        detection.arrived = 0;
        detection.decision = Some(decision.clone());
        self.decided.notify_all();
        decision
    }

    /// Decides from `report`, which joins the reports of all OS processes. May end the run, and may
    /// call the callback for quiescence.
    pub fn decide_for_all(&self, mut report: WaitReport) -> Decision {
        let mut detection = lock(&self.detection);
        for rank in std::mem::take(&mut report.ended) {
            detection.graph.remove(rank);
        }
        self.decide(&mut detection, report)
    }

    fn decide(&self, detection: &mut Detection, report: WaitReport) -> Decision {
        for update in report.updates {
            detection.graph.update(update);
        }
        if self.stopped() {
            return Decision::End;
        }
        if report.live == 0 {
            self.stop();
            return Decision::End;
        }
        // The count must be read before the inboxes, as in `Scheduler::report_waits`.
        let foreign = report.foreign || self.has_foreign_wakers();
        let mail = self.inboxes.iter().any(Inbox::is_filled);
        let moved = report.moved || mail;
        if moved || report.timers {
            // The quiet period begins again, even if it had passed.
            detection.report_due = false;
        }
        if moved {
            return Decision::Resume(Arc::default());
        }
        let outside = Outside {
            foreign,
            timers: report.timers,
        };
        if !report.ranks.is_empty() {
            let calls = Calls::new(self.directory.channels(), report.calls);
            calls
                .updates(false)
                .for_each(|wait| detection.graph.update(wait));
            let decision = self.decide_by_all(detection, report.ranks, &calls, outside);
            calls
                .updates(true)
                .for_each(|wait| detection.graph.update(wait));
            return decision;
        }
        let grow = detection.graph.grow();
        if !grow.is_empty() {
            return self.resume(detection, grow, &Calls::default());
        }
        // Calls are known only after all processes have been reported.
        if outside.may_wake() && !detection.report_due && !report.above {
            return self.wait(detection, outside);
        }
        Decision::ReportAll
    }

    /// Decides when all remaining processes are known, and the calls in which they wait. `ranks`
    /// are these processes. `outside` has the events that may wake one of them.
    fn decide_by_all(
        &self,
        detection: &mut Detection,
        ranks: Vec<u32>,
        calls: &Calls,
        outside: Outside,
    ) -> Decision {
        if !calls.is_empty() {
            let grow = detection.graph.grow_for_calls();
            if !grow.is_empty() {
                return self.resume(detection, grow, calls);
            }
        }
        if outside.may_wake() && !detection.report_due {
            return self.wait(detection, outside);
        }
        let mut block = report::describe(&mut detection.graph, ranks, calls, &*self.directory);
        self.locate(&mut block.cycle);
        self.locate(&mut block.others);
        self.report_block(detection, block, outside.foreign)
    }

    /// Decides that channels grow. If that would exceed the memory limit, the run ends instead.
    fn resume(&self, detection: &mut Detection, grow: Vec<Grow>, calls: &Calls) -> Decision {
        let Detection {
            growth_limit,
            graph,
            ..
        } = &mut *detection;
        if let Err(mut overgrown) = growth_limit.admit(&grow, graph, calls, &*self.directory) {
            self.locate(&mut overgrown.cycle);
            self.end(RunError::Memory(overgrown));
            return Decision::End;
        }
        detection.growths.extend_from_slice(&grow);
        Decision::Resume(grow.into())
    }

    /// Decides to wait, because a timer or something outside of the network may wake a process. The
    /// decision contains the quiet period if there is a callback for quiescence and no timer is
    /// set.
    fn wait(&self, detection: &Detection, outside: Outside) -> Decision {
        self.has_activity.store(false, Ordering::SeqCst);
        let reports = !outside.timers && lock(&self.notice).is_some();
        Decision::Wait(reports.then_some(detection.quiet))
    }

    /// Reports a blocked network. If `foreign` is false, this ends the run. Otherwise something
    /// outside of the network may wake a process. Then the block is passed to the callback for
    /// quiescence, if there is one, the quiet period grows, and the decision is to wait.
    fn report_block(&self, detection: &mut Detection, block: Block, foreign: bool) -> Decision {
        if !foreign {
            self.end(RunError::Blocked(block));
            return Decision::End;
        }
        detection.report_due = false;
        detection.quiet = detection.quiet.saturating_mul(QUIET_FACTOR);
        self.has_activity.store(false, Ordering::SeqCst);
        let notice = lock(&self.notice).clone();
        // Reported again after a longer period if nothing has moved by then.
        let again = notice.is_some().then_some(detection.quiet);
        user_code::quietly(|| {
            if let Some(notice) = notice {
                notice.give(&block);
            }
        });
        Decision::Wait(again)
    }
}
