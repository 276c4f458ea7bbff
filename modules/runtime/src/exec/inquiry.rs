//! Inquiries: another thread asks a run that goes on what its processes are doing.
//!
//! The thread leaves the question and wakes all schedulers. Each answers between two turns, when nothing of its own
//! changes: which of its processes can run, and at which channels the others wait. Answers of several schedulers are
//! not of the same moment. Of one that does not answer in time it is told which process it is running.
//!
//! A run that nobody asks about pays a look at a flag for each batch of wake-ups from other threads.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::floor::WaitingCall;
use super::queue::Waiting;
use super::registry::Look;
use super::scheduler::Scheduler;
use super::shared::Shared;
use super::waits::{UNKNOWN, Update, Wait};
use super::waker::WakerCore;
use crate::link::waiter::{ARMED, GONE, NOBODY, STOP};
use crate::placement::SchedulerIndex;
use crate::sync::lock;

/// What a scheduler is doing.
pub(crate) enum Answer {
    Idle(Snapshot),
    /// It is running a process, by rank, or something else, and has not answered.
    Busy(Option<u32>),
}

/// The processes of a scheduler between two turns.
#[derive(Default)]
pub(crate) struct Snapshot {
    /// How many can run.
    pub(crate) ready: usize,
    /// Rank and kind of the others.
    pub(crate) waiting: Vec<(u32, u32)>,
    /// At which channels they wait.
    pub(crate) waits: Vec<Update>,
    /// In which calls they wait.
    pub(crate) calls: Vec<WaitingCall>,
}

/// The question, and what has been answered.
pub(crate) struct Inquiry {
    asked: AtomicBool,
    seats: Mutex<Vec<Seat>>,
    answered: Condvar,
}

/// A scheduler of the run.
#[derive(Default)]
struct Seat {
    /// Where it says which process it runs, and the id of its first: while it lives.
    core: Option<(NonNull<WakerCore>, u32)>,
    /// Who can run there: as long.
    waiting: Option<NonNull<Waiting>>,
    asked: bool,
    answer: Option<Snapshot>,
}

// SAFETY: a core may be looked at by other threads (`waker.rs`), as what waits in a queue may, and the pointers are used under
// the lock under which their owner takes them away before it goes.
unsafe impl Send for Seat {}

impl Inquiry {
    pub(crate) fn new(schedulers: usize) -> Self {
        Inquiry {
            asked: AtomicBool::new(false),
            seats: Mutex::new((0..schedulers).map(|_| Seat::default()).collect()),
            answered: Condvar::new(),
        }
    }
}

/// A scheduler can be asked while this lives.
pub(super) struct Seated<'a>(&'a Scheduler);

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        let inquiry = &self.0.core.shared.inquiry;
        if let Some(seat) = lock(&inquiry.seats).get_mut(self.0.index()) {
            (seat.core, seat.waiting, seat.asked) = (None, None, false);
        }
        inquiry.answered.notify_all();
    }
}

impl Shared {
    /// What each scheduler is doing; those that do not answer for so long are busy.
    pub(crate) fn inquire(&self, patience: Duration) -> Vec<Answer> {
        let inquiry = &self.inquiry;
        let mut seats = lock(&inquiry.seats);
        for seat in &mut *seats {
            seat.asked = seat.core.is_some();
            seat.answer = None;
        }
        inquiry.asked.store(true, Ordering::Relaxed);
        drop(seats);
        (0..self.inboxes() as u32)
            .for_each(|scheduler| self.send(SchedulerIndex(scheduler), NOBODY));
        let end = Instant::now() + patience;
        let mut seats = lock(&inquiry.seats);
        while seats.iter().any(|seat| seat.asked) {
            let Some(rest) = end.checked_duration_since(Instant::now()) else {
                break;
            };
            let waited = inquiry.answered.wait_timeout(seats, rest);
            seats = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        inquiry.asked.store(false, Ordering::Relaxed);
        let answers = seats.iter_mut().enumerate().map(|(scheduler, seat)| {
            seat.asked = false;
            match (seat.answer.take(), seat.core) {
                (Some(snapshot), _) => Answer::Idle(snapshot),
                (None, None) => Answer::Idle(Snapshot::default()),
                (None, Some((core, base))) => {
                    // SAFETY: it is taken away under this lock before it goes.
                    let current = unsafe { core.as_ref() }.current.load(Ordering::Relaxed);
                    let at = current.wrapping_sub(base);
                    Answer::Busy(self.resident(scheduler, at))
                }
            }
        });
        answers.collect()
    }
}

impl Shared {
    /// Of each scheduler that is running a process: how many batches of turns it has been through, and which of its processes it is.
    pub(super) fn at_work(&self) -> Vec<Option<(u32, u32)>> {
        let seats = lock(&self.inquiry.seats);
        let seats = seats.iter().map(|seat| {
            let (core, base) = seat.core?;
            // SAFETY: it is taken away under this lock before it goes.
            let core = unsafe { core.as_ref() };
            let (current, batches) = (&core.current, &core.batches);
            let current = current.load(Ordering::Relaxed);
            (current != NOBODY)
                .then(|| (batches.load(Ordering::Relaxed), current.wrapping_sub(base)))
        });
        seats.collect()
    }

    /// Whether others of a scheduler can run while it runs this one: they have been woken by it, or by other threads. What has come from
    /// other OS processes is not looked at.
    pub(super) fn others_can_run(&self, scheduler: usize, process: u32) -> bool {
        let seats = lock(&self.inquiry.seats);
        let Some(Seat {
            core: Some((_, base)),
            waiting: Some(waiting),
            ..
        }) = seats.get(scheduler)
        else {
            return false;
        };
        let id = base.wrapping_add(process);
        // SAFETY: it is taken away under this lock before it goes.
        let is_queued = unsafe { waiting.as_ref() }.has_other(id);
        is_queued || self.inbox(scheduler).has_other(id)
    }
}

impl Scheduler {
    /// The scheduler begins to live, and can be asked.
    pub(super) fn sit(&self) -> Seated<'_> {
        let core = Some((NonNull::from(&self.core), self.base));
        if let Some(seat) = lock(&self.core.shared.inquiry.seats).get_mut(self.index()) {
            seat.core = core;
            seat.waiting = Some(NonNull::from(self.queue.waiting()));
        }
        Seated(self)
    }

    /// Answers, if this one was asked: between turns.
    #[inline]
    pub(super) fn answer(&self) {
        // What was asked before the wake-up came is seen: the inbox has a lock.
        if self.core.shared.inquiry.asked.load(Ordering::Relaxed) {
            self.answer_now();
        }
    }

    #[cold]
    fn answer_now(&self) {
        let inquiry = &self.core.shared.inquiry;
        if !lock(&inquiry.seats)[self.index()].asked {
            return;
        }
        let snapshot = self.snapshot();
        let seat = &mut lock(&inquiry.seats)[self.index()];
        if std::mem::take(&mut seat.asked) {
            seat.answer = Some(snapshot);
            inquiry.answered.notify_all();
        }
    }

    fn snapshot(&self) -> Snapshot {
        // Who is polled for does not wait by a word, until it is armed.
        self.polled.arm(|id| self.wake(id));
        let mut snapshot = Snapshot::default();
        for task in &self.tasks {
            let Some(header) = task.get() else { continue };
            // SAFETY: what is in the table is alive.
            let header = unsafe { header.as_ref() };
            if header.is_queued() {
                snapshot.ready += 1;
            } else {
                let rank = self.directory.rank(header.kind(), header.index());
                snapshot.waiting.push((rank, header.kind()));
            }
        }
        self.registry.each(|look| {
            if let Some(update) = self.waits(look) {
                snapshot.waits.push(update);
            }
        });
        snapshot.calls = self.calls();
        snapshot
    }

    /// Who waits at a side of a channel, as [`Scheduler::wait`], which tells the standstill; bundles included, and
    /// nothing is noted.
    fn waits(&self, look: Look) -> Option<Update> {
        let Look {
            number,
            side,
            word,
            capacity,
            ..
        } = look;
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
