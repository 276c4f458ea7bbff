//! Description of the state of a run: which processes are ready, and where the others wait. It is
//! the answer to the signal USR1. This file also finds processes that keep others from running.
//! `snapshots.rs` requests the states from the schedulers.

use super::hooks::Side;
use super::report;
use super::report::Calls;
use super::scheduler::Scheduler;
use super::shared::Shared;
use super::snapshots::Answer;
use super::snapshots::SchedulerView;
use super::snapshots::Snapshot;
use super::wait_graph::UNKNOWN;
use super::wait_graph::Update;
use super::wait_graph::Wait;
use super::wait_graph::WaitGraph;
use super::wait_points::SideState;
use crate::block::BlockedProcess;
use crate::link::waiter::ARMED;
use crate::link::waiter::GONE;
use crate::link::waiter::NO_ID;
use crate::link::waiter::STOP;
use crate::placement::SchedulerIndex;
use crate::running::Overlong;
use crate::running::StateReport;
use crate::sync::lock;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::time::Duration;
use std::time::Instant;

/// Maximum time for which a scheduler may take to answer.
const PATIENCE: Duration = Duration::from_millis(300);
/// Maximum number of ways to wait that are listed.
const LISTED: usize = 20;

/// A way to wait: position of the call, class of the channel, whether the wait is for a write, and
/// whether it is for the reader to leave.
type Way = (Option<String>, usize, bool, bool);

impl StateReport for Shared {
    fn state(&self) -> Option<String> {
        (!self.stopped()).then(|| self.describe())
    }

    fn overlong(&self) -> Vec<Overlong> {
        let others = |scheduler, process| self.others_can_run(scheduler, process);
        let reported =
            lock(&self.overlong).check(Instant::now(), &self.inquiry.polled_processes(), others);
        let reported = reported.into_iter().filter_map(|(scheduler, process, lasted)| {
            let rank = self.rank_at(scheduler, process)?;
            let process = self.named(rank);
            let seconds = lasted.as_secs();
            let waits = match self.has_called(scheduler) {
                true => {
                    "a thread of the same scheduler waits in a call; to join such a thread, await \
                     `OnThread`, which lets other processes run"
                }
                false => {
                    "other processes of that scheduler are ready; call `yield_now().await` between \
                     parts of a long computation"
                }
            };
            let text = format!("{process} has kept its scheduler busy for {seconds} s: {waits}");
            let rank = rank as usize;
            Some(Overlong { rank, lasted, text })
        });
        reported.collect()
    }
}

impl Shared {
    /// Returns true if other processes of a scheduler can run while it polls the process with index
    /// `process`. They have been woken by this process or by another thread, or a thread that is a
    /// rank of the scheduler waits in a call. Messages from other schedulers and OS processes are
    /// not checked. Returns false if the scheduler is not registered.
    fn others_can_run(&self, scheduler: usize, process: u32) -> bool {
        let other = |id| self.inbox(scheduler).has_other(id);
        match self.inquiry.others_queued(scheduler, process) {
            Some((id, queued)) => queued || other(id) || self.has_called(scheduler),
            None => false,
        }
    }

    /// Returns true if a thread that is a rank of a scheduler has made a call that the scheduler
    /// has not handled yet. The request of such a call carries the scheduler's own number.
    fn has_called(&self, scheduler: usize) -> bool {
        let own = self.number(SchedulerIndex(scheduler as u32)).0;
        self.inbox(scheduler).has_request_of(own)
    }

    /// Describes the state of all schedulers of this OS process. Blocks for up to 300 ms until all
    /// have answered. For a scheduler that has not answered by then, names only the process that it
    /// is polling.
    fn describe(&self) -> String {
        let wake = || {
            (0..self.inboxes() as u32)
                .for_each(|scheduler| self.send(SchedulerIndex(scheduler), NO_ID));
        };
        let answers = self.inquiry.ask(PATIENCE, wake);
        let mut lines = Vec::new();
        let mut all = Snapshot::default();
        for (scheduler, answer) in answers.into_iter().enumerate() {
            let who = match self.os_process() {
                Some((me, count)) => {
                    let host = self.host_of_several(me);
                    let on = host.map(|host| format!(" on {host}")).unwrap_or_default();
                    let which = match self.inboxes() {
                        1 => String::new(),
                        _ => format!(", scheduler {scheduler}"),
                    };
                    format!("OS process {me} of {count}{on}{which}")
                }
                None => format!("scheduler {scheduler}"),
            };
            match answer {
                Answer::Idle(Snapshot {
                    ready,
                    waiting,
                    waits,
                    calls,
                }) => {
                    let waiting_len = waiting.len();
                    lines.push(format!("{who}: {ready} ready, {waiting_len} waiting"));
                    all.waiting.extend(waiting);
                    all.waits.extend(waits);
                    all.calls.extend(calls);
                }
                Answer::Busy(process) => {
                    let rank = process.and_then(|at| self.rank_at(scheduler, at));
                    let doing = match rank {
                        Some(rank) => format!("long poll of {}", self.named(rank)),
                        None => "long poll".to_string(),
                    };
                    lines.push(format!(
                        "{who}: {doing}; it has not reported its other processes"
                    ));
                }
            }
        }
        lines.extend(self.waiting(all));
        lines.join("\n  ")
    }

    /// Returns a text with the name, the rank and, if it is known, the position of a process.
    fn named(&self, rank: u32) -> String {
        let (kind, index) = self.directory.of_rank(rank);
        let process = self.directory.process(kind, index);
        let place = process.place.map_or_else(String::new, |p| format!(", {p}"));
        format!("{} (rank {rank}{place})", process.name)
    }

    /// Returns a line for each way in which processes of a kind wait, in order of the lowest rank.
    /// There are at most [`LISTED`] of these lines. If there are more ways, one more line has their
    /// number.
    fn waiting(&self, mut all: Snapshot) -> Vec<String> {
        let mut graph = WaitGraph::default();
        let mut ways: HashMap<u32, Vec<Way>> = HashMap::new();
        let calls = Calls::new(self.directory.channels(), all.calls);
        for update in all.waits.into_iter().chain(calls.updates(false)) {
            graph.update(update);
            if let Some(wait) = update.wait {
                let call = calls.get(update.number);
                let class = call.map_or_else(|| self.directory.class_of(update.number), |_| 0);
                let call = call.map(|call| call.place.to_string());
                let write = matches!(update.side, Side::Write);
                ways.entry(wait.rank)
                    .or_default()
                    .push((call, class, write, wait.stop));
            }
        }
        all.waiting.sort_unstable();
        let mut groups: Vec<(u32, usize)> = Vec::new();
        let mut alike = HashMap::new();
        for (rank, kind) in all.waiting {
            let mut way = ways.remove(&rank).unwrap_or_default();
            way.sort_unstable();
            way.dedup();
            let group = *alike.entry((kind, way)).or_insert(groups.len());
            match groups.get_mut(group) {
                Some(group) => group.1 += 1,
                None => groups.push((rank, 1)),
            }
        }
        let mut lines = Vec::new();
        for &(rank, count) in groups.iter().take(LISTED) {
            let (processes, _) = report::processes(&[rank], &graph, &calls, &*self.directory);
            let more = match count - 1 {
                0 => String::new(),
                1 => "; another process of its kind waits in the same way".to_string(),
                more => format!("; {more} more processes of its kind wait in the same way"),
            };
            let reported = processes.iter().map(|process| describe(process) + &more);
            lines.extend(reported);
        }
        if groups.len() > LISTED {
            lines.push(format!(
                "and processes that wait in {} other ways",
                groups.len() - LISTED
            ));
        }
        lines
    }
}

fn describe(process: &BlockedProcess) -> String {
    match process.waits.is_empty() {
        true => format!(
            "{} (rank {}) waits for an event outside the network",
            process.name, process.rank
        ),
        false => process.to_string(),
    }
}

/// Registration of a scheduler for inquiries. It ends when this value is dropped.
pub(super) struct Registration<'a>(&'a Scheduler);

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        self.0.shared().inquiry.leave(self.0.index());
    }
}

impl Scheduler {
    /// Registers the scheduler for inquiries, until the returned value is dropped.
    pub(super) fn register(&self) -> Registration<'_> {
        let view = SchedulerView {
            running: NonNull::from(&self.core.running),
            waiting: NonNull::from(self.queue.waiting()),
            base: self.base,
        };
        let inquiry = &self.shared().inquiry;
        // SAFETY: they point to fields of the scheduler. `Registration` borrows the scheduler, and
        // removes the pointers when it is dropped.
        unsafe { inquiry.register(self.index(), view) };
        Registration(self)
    }

    /// Answers an inquiry if there is one that this scheduler has not answered. Must be called
    /// between polls.
    #[inline]
    pub(super) fn answer(&self) {
        if self.shared().inquiry.is_on() {
            self.answer_now();
        }
    }

    #[cold]
    fn answer_now(&self) {
        let inquiry = &self.shared().inquiry;
        if inquiry.is_asked(self.index()) {
            inquiry.answer(self.index(), self.snapshot());
        }
    }

    fn snapshot(&self) -> Snapshot {
        // A polled wait is not in the state word of its channel until it is armed.
        self.polled.arm(|id| self.wake(id));
        let mut snapshot = Snapshot::default();
        for task in &self.tasks {
            let Some(header) = task.get() else { continue };
            // SAFETY: the processes in the table are alive.
            let header = unsafe { header.as_ref() };
            if header.is_queued() {
                snapshot.ready += 1;
            } else {
                let rank = self.directory.rank(header.kind(), header.index());
                snapshot.waiting.push((rank, header.kind()));
            }
        }
        self.registry.each(|side_state| {
            if let Some(update) = self.waits(side_state) {
                snapshot.waits.push(update);
            }
        });
        snapshot.calls = self.calls();
        snapshot.calls.extend(self.sleeps());
        snapshot
    }

    /// Returns the wait at a side of a channel. Returns `None` if no process waits there, or if the
    /// process has been woken or is not on this scheduler. In contrast to [`Scheduler::wait`],
    /// which is for deadlock detection, it includes bundles and does not mark the wait as reported.
    fn waits(&self, side_state: SideState) -> Option<Update> {
        let SideState {
            number,
            side,
            word,
            capacity,
            ..
        } = side_state;
        if word & GONE != 0 || word & (ARMED | STOP) == 0 {
            return None;
        }
        let header = self.header(self.hooks.process(word)?)?;
        if header.is_queued() {
            return None;
        }
        let wait = Wait {
            rank: self.directory.rank(header.kind(), header.index()),
            peer: UNKNOWN,
            hint: false,
            stop: word & STOP != 0,
            capacity,
        };
        Some(Update {
            number,
            side,
            wait: Some(wait),
        })
    }
}
