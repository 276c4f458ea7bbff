//! What the processes of a run are doing, in words.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::calls::Calls;
use super::inquiry::{Answer, Snapshot};
use super::report;
use super::shared::Shared;
use super::side::Side;
use super::waits::WaitGraph;
use crate::block::BlockedProcess;
use crate::link::waiter::NOBODY;
use crate::placement::SchedulerIndex;
use crate::running::Tell;
use crate::sync::lock;

/// How long a scheduler may take to answer.
const PATIENCE: Duration = Duration::from_millis(300);
/// Most ways to wait that are listed.
const LISTED: usize = 20;

/// A way to wait: in which call, or at which class of channels, to write, for the reader to leave.
type Way = (Option<String>, usize, bool, bool);

impl Tell for Shared {
    fn state(&self) -> Option<String> {
        (!self.stopped()).then(|| self.describe())
    }

    fn overlong(&self) -> Vec<String> {
        let others = |scheduler, process| self.others_can_run(scheduler, process);
        let told = lock(&self.overlong).look(Instant::now(), &self.inquiry.at_work(), others);
        let told = told.into_iter().filter_map(|(scheduler, process, lasted)| {
            let process = self.named(self.resident(scheduler, process)?);
            let seconds = lasted.as_secs();
            let waits = match self.has_called(scheduler) {
                true => {
                    "a thread that is a rank there waits in a call: who joins a thread waits for its end by `OnThread`, which lets others run"
                }
                false => {
                    "others there wait for a turn: `yield_now().await` between the parts of a long computation lets them run"
                }
            };
            Some(format!(
                "{process} has kept its scheduler busy for {seconds} s, and {waits}"
            ))
        });
        told.collect()
    }
}

impl Shared {
    /// Whether others of a scheduler can run while it runs this one: they have been woken by it, or by other threads, or a thread that
    /// is a rank there has called. What has come from other schedulers and OS processes is not looked at.
    fn others_can_run(&self, scheduler: usize, process: u32) -> bool {
        let other = |id| self.inbox(scheduler).has_other(id);
        match self.inquiry.others_queued(scheduler, process) {
            Some((id, queued)) => queued || other(id) || self.has_called(scheduler),
            None => false,
        }
    }

    /// Whether a thread that is a rank of a scheduler has called, which has not been looked at: its letter has the scheduler's own number.
    fn has_called(&self, scheduler: usize) -> bool {
        let own = self.number(SchedulerIndex(scheduler as u32)).0;
        self.inbox(scheduler).has_letter_of(own)
    }

    fn describe(&self) -> String {
        let wake = || {
            (0..self.inboxes() as u32)
                .for_each(|scheduler| self.send(SchedulerIndex(scheduler), NOBODY));
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
                    let wait = if waiting_len == 1 { "waits" } else { "wait" };
                    lines.push(format!("{who}: {ready} ready, {waiting_len} {wait}"));
                    all.waiting.extend(waiting);
                    all.waits.extend(waits);
                    all.calls.extend(calls);
                }
                Answer::Busy(process) => {
                    let rank = process.and_then(|at| self.resident(scheduler, at));
                    let doing = match rank {
                        Some(rank) => format!("running {} for long", self.named(rank)),
                        None => "busy for long".to_string(),
                    };
                    lines.push(format!(
                        "{who}: {doing}; nothing is known of its other processes"
                    ));
                }
            }
        }
        lines.extend(self.waiting(all));
        lines.join("\n  ")
    }

    /// A process with its rank and place.
    fn named(&self, rank: u32) -> String {
        let (kind, index) = self.directory.of_rank(rank);
        let process = self.directory.process(kind, index);
        let place = process.place.map_or_else(String::new, |p| format!(", {p}"));
        format!("{} (rank {rank}{place})", process.name)
    }

    /// A line for each way in which processes of a kind wait.
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
                1 => "; another of its kind waits alike".to_string(),
                more => format!("; {more} more of its kind wait alike"),
            };
            let told = processes.iter().map(|process| told(process) + &more);
            lines.extend(told);
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

fn told(process: &BlockedProcess) -> String {
    match process.waits.is_empty() {
        true => format!(
            "{} (rank {}) waits for something outside of the network",
            process.name, process.rank
        ),
        false => process.to_string(),
    }
}
