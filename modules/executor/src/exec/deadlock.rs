//! Deadlock detection: the procedure when all schedulers are quiescent.
//!
//! No process runs meanwhile, and no code of a process is called: the waits are read from the state
//! words of channels. [`Scheduler::standstill`] is the entry. With several schedulers or OS
//! processes, each reports its waits to the first (`meeting.rs`), and that decides for all. Either
//! a channel grows because it is full on a cycle of waits (`wait_graph.rs`), or the network is
//! blocked, or something outside of it may still wake a process.

use super::frames::Outside;
use super::frames::TOLD;
use super::frames::VERDICT;
use super::hooks::Behind;
use super::hooks::Side;
use super::meeting::Meeting;
use super::meeting::QUIETER;
use super::meeting::Told;
use super::meeting::Verdict;
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
use super::wait_points::Look;
use crate::block::Block;
use crate::error::RunError;
use crate::link::inbox::Inbox;
use crate::link::waiter::ARMED;
use crate::link::waiter::ELSEWHERE;
use crate::link::waiter::GONE;
use crate::link::waiter::HOOK;
use crate::link::waiter::ID;
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
    /// Takes part in a deadlock detection: reports the waits of its processes, and carries out the
    /// decision.
    #[cold]
    pub(super) fn standstill(&self) -> Verdict {
        let mut verdict = self.meet(self.tell());
        if let Verdict::Census = verdict {
            let ranks = (0..self.tasks.len() as u32).filter_map(|at| self.rank(self.base + at));
            verdict = self.meet(Told {
                ranks: ranks.collect(),
                calls: self.calls(),
                ..self.tell()
            });
        }
        if let Verdict::Resume(grow) = &verdict {
            for channel in &**grow {
                let wake = |id| self.wake(id);
                self.registry.grow(channel.number, channel.capacity, wake);
            }
        }
        verdict
    }

    /// Returns a report of the waits that have changed since the last call.
    fn tell(&self) -> Told {
        let ended = self.ended.take();
        self.told.set(self.live.get() > 0);
        // The count must be read before the inbox. A foreign waker fills the inbox before it is
        // released, so at least one of the two is seen.
        let foreign = self.core.shared.has_foreign_wakers();
        let mut told = Told {
            live: self.live.get(),
            // Frames from other OS processes need no check. A frame that comes now belongs to the
            // detection, or its sender reports that it has moved.
            moved: self.outside.as_ref().is_some_and(|o| o.moved.get())
                || !self.queue.is_empty()
                || self.hooks.has_loose()
                || self.core.shared.inbox(self.index()).is_filled(),
            foreign,
            above: self.has_floor_above(),
            ended: ended
                .into_iter()
                .map(|(kind, index)| self.directory.rank(kind, index))
                .collect(),
            ..Told::default()
        };
        if told.live == 0 {
            // No process is left that waits. Those that were reported as waiting have ended.
            return told;
        }
        self.registry.collect(|look| {
            if let Some(update) = self.update(look) {
                told.updates.push(update);
            }
        });
        for ready in self.hooks.take_touched() {
            ready.collect(|number, side, word| {
                let wait = word.and_then(|word| {
                    let look = self.registry.look(number, side);
                    self.wait(Look { word, ..look })
                });
                told.updates.push(Update { number, side, wait });
            });
        }
        let (times, waits) = &mut self.tally.borrow_mut().told;
        *times += 1;
        *waits += told.updates.len() as u64;
        told
    }

    /// Returns the update for one side of a channel. Returns `None` if a bundle or another OS
    /// process reports it.
    fn update(&self, look: Look) -> Option<Update> {
        let Look {
            number,
            side,
            word,
            cross,
            ..
        } = look;
        if cross.is_none() && word & ID == ELSEWHERE && word & (GONE | ARMED) == 0 {
            // The other OS process reports this side. (At an end of this OS process the word means
            // that no process waits.)
            return None;
        }
        if is_hooked(word) && matches!(self.hooks.behind(word), Some(Behind::Bundle(true))) {
            return None;
        }
        let wait = self.wait(look);
        Some(Update { number, side, wait })
    }

    /// Returns the wait at a side of a channel, if there is one.
    fn wait(&self, look: Look) -> Option<Wait> {
        let Look {
            number,
            side,
            word,
            capacity,
            other,
            cross,
        } = look;
        if word & GONE != 0 || word & (ARMED | STOP) == 0 {
            return None;
        }
        let id = match word & HOOK {
            0 => word & ID,
            _ => match self.hooks.behind(word)? {
                Behind::Process(id) => id,
                Behind::Bundle(_) => return None,
            },
        };
        if let (Some(slot), Some(header)) = (cross, self.header(id)) {
            header.set_told();
            self.registry.set_told(id, slot);
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

    /// Returns the rank of a process that has not ended.
    pub(super) fn rank(&self, id: u32) -> Option<u32> {
        let header = self.header(id)?;
        Some(self.directory.rank(header.kind(), header.index()))
    }
}

/// Decisions as numbers. They are sent together with the channels that grow.
const RESUME: u8 = 0;
const CENSUS: u8 = 1;
const WAIT: u8 = 2;
const END: u8 = 3;

impl Scheduler {
    /// Returns true if a deadlock detection is in progress in which this scheduler has not taken
    /// part. Marks it as attended.
    pub(super) fn is_called(&self, outside: &Outside) -> bool {
        let called = outside.is_called();
        outside
            .met
            .set(outside.link().meeting().unwrap_or(outside.met.get()));
        called
    }

    /// Takes part in a deadlock detection that is in progress, even if this scheduler has work. It
    /// has work if it was woken from outside of the network when the detection had just begun. The
    /// other schedulers wait in the detection, and the work may be to wait for their frames.
    #[inline]
    pub(super) fn meet_if_called(&self) -> Option<Verdict> {
        let outside = self.outside.as_ref()?;
        outside.is_called().then(|| self.go_to_meeting(outside))
    }

    #[cold]
    fn go_to_meeting(&self, outside: &Outside) -> Verdict {
        // State words do not show polled waits.
        self.polled.arm(|id| self.wake(id));
        if self.ran.get() {
            outside.moved.set(true);
        }
        self.is_called(outside);
        self.standstill()
    }

    /// Reports to the first scheduler, and blocks until it has decided. Returns the decision.
    pub(super) fn meet(&self, told: Told) -> Verdict {
        match &self.outside {
            None => self.core.shared.meet(told),
            Some(outside) if outside.link().me() == 0 => self.lead(outside, told),
            Some(outside) => self.follow(outside, &told),
        }
    }

    /// Reports a failure that is known here to all other OS processes, when the run is over.
    pub(super) fn announce(&self) {
        let Some(outside) = &self.outside else { return };
        match self.core.shared.failure() {
            // The first scheduler detects these, and reports them when all have ended.
            None | Some(RunError::Blocked(_) | RunError::Memory(_)) => {}
            Some(error) => outside.link().fail(&error.to_cause()),
        }
    }

    fn follow(&self, outside: &Outside, told: &Told) -> Verdict {
        outside.send(SchedulerId::LEADER, TOLD, 0, 0, &Encoder::to_vec(told));
        let Some(message) = self.next_mail(outside) else {
            return Verdict::End;
        };
        match Decoder::from_slice::<(u8, Vec<Grow>)>(&message.bytes) {
            Ok((RESUME, grow)) => Verdict::Resume(grow.into()),
            Ok((CENSUS, _)) => Verdict::Census,
            Ok((WAIT, _)) => Verdict::Wait(None),
            _ => {
                self.core.shared.halt();
                Verdict::End
            }
        }
    }

    fn lead(&self, outside: &Outside, mut told: Told) -> Verdict {
        for _ in 1..outside.link().count() {
            let Some(message) = self.next_mail(outside) else {
                return Verdict::End;
            };
            match Decoder::from_slice::<Told>(&message.bytes) {
                Ok(other) => told.join(other),
                Err(error) => {
                    let from = self
                        .core
                        .shared
                        .os_process_of(SchedulerId(message.from as u32));
                    let why = format!("invalid report of waits from OS process {from}: {error}");
                    self.core.shared.fail(None, why);
                    return Verdict::End;
                }
            }
        }
        let verdict = self.core.shared.decide_for_all(told);
        let none: Arc<[Grow]> = Arc::default();
        let (number, grow) = match &verdict {
            Verdict::Resume(grow) => (RESUME, grow),
            Verdict::Census => (CENSUS, &none),
            Verdict::Wait(_) => (WAIT, &none),
            Verdict::End => (END, &none),
        };
        match verdict {
            Verdict::Census => {}
            Verdict::Wait(_) => {
                outside.link().unstir();
                outside.link().close_meeting();
            }
            Verdict::Resume(_) => outside.link().close_meeting(),
            Verdict::End => outside.link().end(),
        }
        let bytes = Encoder::to_vec(&(number, grow.to_vec())).clone();
        for other in 1..outside.link().count() as u32 {
            outside.send(SchedulerId(other), VERDICT, 0, 0, &bytes);
        }
        outside.flush();
        verdict
    }
}

impl Scheduler {
    /// Returns the calls in which processes of this scheduler wait, except for processes that have
    /// been woken.
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
}

impl Shared {
    /// Adds the report of a scheduler, and blocks until all schedulers of this OS process have
    /// reported. The last one decides for all. Returns the decision.
    pub fn meet(&self, mut told: Told) -> Verdict {
        let mut meeting = lock(&self.meeting);
        meeting.arrived += 1;
        meeting.told.live += told.live;
        meeting.told.moved |= told.moved;
        meeting.told.foreign |= told.foreign;
        for rank in told.ended {
            meeting.graph.remove(rank);
        }
        // The order does not matter, because one scheduler reports each side of a channel.
        meeting.told.updates.append(&mut told.updates);
        meeting.told.ranks.append(&mut told.ranks);
        meeting.told.above |= told.above;
        meeting.told.calls.append(&mut told.calls);
        if meeting.arrived < self.inboxes.len() {
            let number = meeting.number;
            while meeting.number == number {
                meeting = self
                    .decided
                    .wait(meeting)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            return match &meeting.verdict {
                // It is enough if one scheduler waits with a deadline.
                Some(Verdict::Wait(_)) => Verdict::Wait(None),
                verdict => verdict.clone().unwrap_or(Verdict::End),
            };
        }
        let told = std::mem::take(&mut meeting.told);
        let verdict = self.decide(&mut meeting, told);
        meeting.number += 1;
        meeting.arrived = 0;
        meeting.verdict = Some(verdict.clone());
        self.decided.notify_all();
        verdict
    }

    /// Decides from the reports of all OS processes.
    pub fn decide_for_all(&self, mut told: Told) -> Verdict {
        let mut meeting = lock(&self.meeting);
        for rank in std::mem::take(&mut told.ended) {
            meeting.graph.remove(rank);
        }
        self.decide(&mut meeting, told)
    }

    fn decide(&self, meeting: &mut Meeting, told: Told) -> Verdict {
        for update in told.updates {
            meeting.graph.update(update);
        }
        if self.stopped() {
            return Verdict::End;
        }
        if told.live == 0 {
            self.stop();
            return Verdict::End;
        }
        // The count must be read before the inboxes, as in `Scheduler::tell`.
        let foreign = told.foreign || self.has_foreign_wakers();
        let mail = self.inboxes.iter().any(Inbox::is_filled);
        if told.moved || mail {
            // The quiet period begins again, even if it had passed.
            meeting.asked = false;
            return Verdict::Resume(Arc::default());
        }
        if !told.ranks.is_empty() {
            let calls = Calls::new(self.directory.channels(), told.calls);
            calls
                .updates(false)
                .for_each(|wait| meeting.graph.update(wait));
            let verdict = self.decide_by_all(meeting, told.ranks, &calls, foreign);
            calls
                .updates(true)
                .for_each(|wait| meeting.graph.update(wait));
            return verdict;
        }
        let grow = meeting.graph.grow();
        if !grow.is_empty() {
            return self.resume(meeting, grow, &Calls::default());
        }
        // Calls are known only after all processes have been reported.
        if foreign && !meeting.asked && !told.above {
            return self.wait(meeting);
        }
        Verdict::Census
    }

    /// Decides when all remaining processes are known, and the calls in which they wait.
    fn decide_by_all(
        &self,
        meeting: &mut Meeting,
        ranks: Vec<u32>,
        calls: &Calls,
        foreign: bool,
    ) -> Verdict {
        if !calls.is_empty() {
            let grow = meeting.graph.grow_for_calls();
            if !grow.is_empty() {
                return self.resume(meeting, grow, calls);
            }
        }
        if foreign && !meeting.asked {
            return self.wait(meeting);
        }
        let mut block = report::describe(&mut meeting.graph, ranks, calls, &*self.directory);
        self.locate(&mut block.cycle);
        self.locate(&mut block.others);
        self.tell(meeting, block, foreign)
    }

    /// Decides that channels grow. If that would exceed the memory limit, the run ends instead.
    fn resume(&self, meeting: &mut Meeting, grow: Vec<Grow>, calls: &Calls) -> Verdict {
        let Meeting { ceiling, graph, .. } = &mut *meeting;
        if let Err(mut overgrown) = ceiling.admit(&grow, graph, calls, &*self.directory) {
            self.locate(&mut overgrown.cycle);
            self.end(RunError::Memory(overgrown));
            return Verdict::End;
        }
        meeting.growths.extend_from_slice(&grow);
        Verdict::Resume(grow.into())
    }

    /// Decides to wait, because something outside of the network may wake a process.
    fn wait(&self, meeting: &Meeting) -> Verdict {
        self.stirred.store(false, Ordering::SeqCst);
        Verdict::Wait(lock(&self.notice).is_some().then_some(meeting.quiet))
    }

    /// Reports a blocked network. This ends the run, unless something outside of the network may
    /// wake a process.
    fn tell(&self, meeting: &mut Meeting, block: Block, foreign: bool) -> Verdict {
        if !foreign {
            self.end(RunError::Blocked(block));
            return Verdict::End;
        }
        meeting.asked = false;
        meeting.quiet = meeting.quiet.saturating_mul(QUIETER);
        self.stirred.store(false, Ordering::SeqCst);
        let notice = lock(&self.notice).clone();
        // Reported again after a longer period if nothing has moved by then.
        let again = notice.is_some().then_some(meeting.quiet);
        user_code::quietly(|| {
            if let Some(notice) = notice {
                notice.give(&block);
            }
        });
        Verdict::Wait(again)
    }
}
