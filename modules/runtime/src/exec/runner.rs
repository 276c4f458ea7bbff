//! What the schedulers of a run share, and the meeting in which they look at a global block.

use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::directory::{Directory, ProcessInfo};
use super::doze::{Doze, Rest};
use crate::error::{Failure, RunError};
use crate::kpn::block::{self, Analysis, Wait};
use crate::link::inbox::Inbox;
use crate::stats::Growth;
use crate::sync::lock;

/// How long a scheduler looks for mail before it sleeps. A sleep and a wake-up by the kernel
/// take about this long.
const PATIENCE: Duration = Duration::from_micros(20);

/// What the schedulers decided about a standstill.
#[derive(Clone, Copy)]
pub(crate) enum Verdict {
    Resume,
    End,
}

pub(crate) struct Shared {
    pub(crate) run: u64,
    pub(crate) directory: Arc<dyn Directory>,
    inboxes: Vec<Inbox>,
    doze: Doze,
    /// Clones of wakers held outside of the runtime.
    foreign: AtomicIsize,
    stop: AtomicBool,
    failure: Mutex<Option<RunError>>,
    growths: Mutex<Vec<Growth>>,
    meeting: Mutex<Meeting>,
    decided: Condvar,
    patience: Option<Duration>,
}

struct Meeting {
    number: u64,
    arrived: usize,
    live: usize,
    moved: bool,
    waits: Vec<Wait>,
    verdict: Verdict,
}

impl Shared {
    pub(crate) fn new(schedulers: usize, directory: Arc<dyn Directory>) -> Arc<Self> {
        static RUNS: AtomicU64 = AtomicU64::new(1);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Shared {
            run: RUNS.fetch_add(1, Ordering::Relaxed),
            directory,
            inboxes: (0..schedulers).map(|_| Inbox::new()).collect(),
            doze: Doze::new(schedulers),
            foreign: AtomicIsize::new(0),
            stop: AtomicBool::new(false),
            failure: Mutex::new(None),
            growths: Mutex::default(),
            meeting: Mutex::new(Meeting {
                number: 0,
                arrived: 0,
                live: 0,
                moved: false,
                waits: Vec::new(),
                verdict: Verdict::Resume,
            }),
            decided: Condvar::new(),
            // Alone there is nobody to wait for, and on a shared core waiting keeps others off.
            patience: (schedulers > 1 && schedulers <= cores).then_some(PATIENCE),
        })
    }

    pub(crate) fn schedulers(&self) -> usize {
        self.inboxes.len()
    }

    pub(crate) fn inbox(&self, scheduler: usize) -> &Inbox {
        &self.inboxes[scheduler]
    }

    pub(crate) fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// Wakes a process or hook of any scheduler.
    pub(crate) fn send(&self, scheduler: u32, id: u32) {
        if let Some(inbox) = self.inboxes.get(scheduler as usize) {
            inbox.push(id);
            self.doze.rouse(scheduler as usize);
        }
    }

    /// Counts foreign wakers up or down, and tells how many there are then.
    pub(crate) fn foreign_wakers(&self, change: isize) -> isize {
        // SeqCst: the last sleeper's look at the count must not come before the drop of a waker
        // whose last wake-up it has not seen; the inbox is SeqCst too.
        self.foreign.fetch_add(change, Ordering::SeqCst) + change
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Ends the run. Of several failures the first is kept.
    pub(crate) fn end(&self, error: RunError) {
        lock(&self.failure).get_or_insert(error);
        self.stop.store(true, Ordering::SeqCst);
        for scheduler in 0..self.inboxes.len() {
            self.doze.rouse(scheduler);
        }
    }

    pub(crate) fn fail(&self, process: Option<ProcessInfo>, message: String) {
        let (name, rank, place) = match process {
            Some(process) => (process.name, process.rank as usize, process.place),
            None => ("(no process)".to_string(), 0, None),
        };
        self.end(RunError::Failed(Failure {
            process: name,
            rank,
            place,
            message,
        }));
    }

    /// Takes out how the run ended.
    pub(crate) fn outcome(&self) -> Result<Vec<Growth>, RunError> {
        match lock(&self.failure).take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut lock(&self.growths))),
        }
    }

    pub(crate) fn sleep(&self, me: usize) -> Rest {
        let stay = || self.inboxes[me].is_filled() || self.stopped();
        self.doze
            .sleep(me, stay, || self.foreign.load(Ordering::SeqCst) == 0)
    }

    /// Everyone slept and has looked again: each tells how many processes it has left, whether
    /// one of them moved after all, and what they wait for. The last to come decides for all.
    pub(crate) fn meet(&self, live: usize, moved: bool, mut waits: Vec<Wait>) -> Verdict {
        let mut meeting = lock(&self.meeting);
        meeting.arrived += 1;
        meeting.live += live;
        meeting.moved |= moved;
        meeting.waits.append(&mut waits);
        if meeting.arrived < self.inboxes.len() {
            let number = meeting.number;
            while meeting.number == number {
                meeting = self
                    .decided
                    .wait(meeting)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            return meeting.verdict;
        }
        let waits = std::mem::take(&mut meeting.waits);
        let verdict = self.decide(meeting.live, meeting.moved, waits);
        meeting.number += 1;
        (meeting.arrived, meeting.live, meeting.moved) = (0, 0, false);
        meeting.verdict = verdict;
        self.decided.notify_all();
        verdict
    }

    fn decide(&self, live: usize, moved: bool, waits: Vec<Wait>) -> Verdict {
        if self.stopped() || live == 0 {
            return Verdict::End;
        }
        let mail = self.inboxes.iter().any(Inbox::is_filled);
        if moved || mail || self.foreign.load(Ordering::SeqCst) != 0 {
            return Verdict::Resume;
        }
        match block::analyse(&waits, &*self.directory, self.run) {
            Analysis::Grow(channels) => {
                for wait in channels {
                    let capacity = wait.capacity.saturating_mul(2).min(u32::MAX / 2);
                    // SAFETY: every scheduler stands still in this meeting, whose lock orders
                    // what we write before their going on.
                    unsafe { wait.grow(capacity) };
                    self.send(wait.scheduler, wait.task);
                    lock(&self.growths).push(Growth {
                        channel: block::describe(&*self.directory, wait.number),
                        capacity: capacity as usize,
                    });
                }
                Verdict::Resume
            }
            Analysis::Blocked(block) => {
                self.end(RunError::Blocked(block));
                Verdict::End
            }
        }
    }
}
