//! Requests of another thread for the state of the processes of a run.
//!
//! It sets a flag and wakes all schedulers. Each answers with a [`Snapshot`] between two polls
//! (`run_state.rs`): which of its processes are ready, and at which channels the others wait.
//! Snapshots of several schedulers are not of the same moment. A scheduler that does not answer in
//! time is reported with the process that it is polling.
//!
//! A process whose long polls keep others of its scheduler waiting ([`Overlong`]) is found without
//! a request, from two numbers that a scheduler writes in any case: the process that it polls, and
//! the count of its batches of polls.

use super::report::WaitingCall;
use super::run_queue::Waiting;
use super::task::RunningTask;
use super::wait_graph::Update;
use crate::link::waiter::NOBODY;
use crate::sync::AtomicBool;
use crate::sync::Condvar;
use crate::sync::Mutex;
use crate::sync::PoisonError;
use crate::sync::lock;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

/// What a scheduler is doing.
pub(crate) enum Answer {
    Idle(Snapshot),
    /// It is running a process, by its place on the scheduler, or something else, and has not
    /// answered.
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
    known: Option<Seated>,
    asked: bool,
    answer: Option<Snapshot>,
}

/// What other threads may look at of a scheduler, while it lives.
#[derive(Clone, Copy)]
pub(super) struct Seated {
    /// Where it says which process it runs.
    pub(super) running: NonNull<RunningTask>,
    /// Who can run there.
    pub(super) waiting: NonNull<Waiting>,
    /// The id of its first process.
    pub(super) base: u32,
}

// SAFETY: both may be looked at by other threads, and the pointers are used under the lock under
// which their owner takes them away before it goes.
unsafe impl Send for Seated {}

impl Seated {
    /// The place among its processes of the one that it runs, or of nobody.
    fn at(&self) -> Option<u32> {
        // SAFETY: it is taken away under the lock, which the caller holds, before it goes.
        let id = unsafe { self.running.as_ref() }.process();
        (id != NOBODY).then(|| id.wrapping_sub(self.base))
    }
}

impl Inquiry {
    pub(crate) fn new(schedulers: usize) -> Self {
        Inquiry {
            asked: AtomicBool::new(false),
            seats: Mutex::new((0..schedulers).map(|_| Seat::default()).collect()),
            answered: Condvar::new(),
        }
    }

    /// A scheduler can be asked from now on, until it [leaves](Self::leave).
    ///
    /// # Safety
    /// What is pointed to has to be there until then.
    pub(super) unsafe fn sit(&self, scheduler: usize, seated: Seated) {
        if let Some(seat) = lock(&self.seats).get_mut(scheduler) {
            seat.known = Some(seated);
        }
    }

    pub(super) fn leave(&self, scheduler: usize) {
        if let Some(seat) = lock(&self.seats).get_mut(scheduler) {
            (seat.known, seat.asked) = (None, false);
        }
        self.answered.notify_all();
    }

    /// Leaves the question for all who can be asked, whom `wake` then wakes, and waits so long for
    /// answers: those of each scheduler.
    pub(super) fn ask(&self, patience: Duration, wake: impl FnOnce()) -> Vec<Answer> {
        for seat in &mut *lock(&self.seats) {
            seat.asked = seat.known.is_some();
            seat.answer = None;
        }
        self.asked.store(true, Ordering::Relaxed);
        wake();
        let end = Instant::now() + patience;
        let mut seats = lock(&self.seats);
        while seats.iter().any(|seat| seat.asked) {
            let Some(rest) = end.checked_duration_since(Instant::now()) else {
                break;
            };
            let waited = self.answered.wait_timeout(seats, rest);
            seats = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.asked.store(false, Ordering::Relaxed);
        let answers = seats.iter_mut().map(|seat| {
            seat.asked = false;
            match (seat.answer.take(), &seat.known) {
                (Some(snapshot), _) => Answer::Idle(snapshot),
                (None, None) => Answer::Idle(Snapshot::default()),
                (None, Some(seated)) => Answer::Busy(seated.at()),
            }
        });
        answers.collect()
    }

    /// Whether schedulers may have been asked. What was asked before a wake-up came is seen: the
    /// inbox has a lock.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Whether this scheduler was asked, and has not answered.
    pub(super) fn is_asked(&self, scheduler: usize) -> bool {
        lock(&self.seats)[scheduler].asked
    }

    pub(super) fn answer(&self, scheduler: usize, snapshot: Snapshot) {
        let seat = &mut lock(&self.seats)[scheduler];
        if std::mem::take(&mut seat.asked) {
            seat.answer = Some(snapshot);
            self.answered.notify_all();
        }
    }

    /// Of each scheduler that is running a process: how many batches of turns it has been through,
    /// and the place of the process there.
    pub(super) fn at_work(&self) -> Vec<Option<(u32, u32)>> {
        let seats = lock(&self.seats);
        let seats = seats.iter().map(|seat| {
            let seated = seat.known.as_ref()?;
            // SAFETY: it is taken away under this lock before it goes.
            let batches = unsafe { seated.running.as_ref() }.batches();
            Some((batches, seated.at()?))
        });
        seats.collect()
    }

    /// The id of the process at a place of a scheduler, and whether others than it are queued
    /// there; none if the scheduler has gone.
    pub(super) fn others_queued(&self, scheduler: usize, process: u32) -> Option<(u32, bool)> {
        let seats = lock(&self.seats);
        let seated = seats.get(scheduler)?.known.as_ref()?;
        let id = seated.base.wrapping_add(process);
        // SAFETY: as above.
        Some((id, unsafe { seated.waiting.as_ref() }.has_other(id)))
    }
}

/// How long a batch of turns lasts before it is told, and how many times longer the next time.
const LONG: Duration = Duration::from_secs(10);
const LONGER: u32 = 4;

/// What was seen of the schedulers of an OS process.
#[derive(Default)]
pub(super) struct Overlong(Vec<Seen>);

struct Seen {
    /// Batch and process, and since when it was these at each look.
    at_work: Option<(u32, u32)>,
    since: Instant,
    patience: Duration,
}

impl Overlong {
    /// Looks at what each scheduler runs now. Tells scheduler and process, and for how long that
    /// has run, where `others` of it can run.
    pub(super) fn look(
        &mut self,
        now: Instant,
        at_work: &[Option<(u32, u32)>],
        others: impl Fn(usize, u32) -> bool,
    ) -> Vec<(usize, u32, Duration)> {
        let never = || Seen {
            at_work: None,
            since: now,
            patience: LONG,
        };
        self.0.resize_with(at_work.len(), never);
        let mut told = Vec::new();
        for (scheduler, (seen, &at_work)) in self.0.iter_mut().zip(at_work).enumerate() {
            if seen.at_work != at_work {
                (seen.at_work, seen.since) = (at_work, now);
                continue;
            }
            let lasted = now.duration_since(seen.since);
            if let Some((_, process)) = at_work
                && lasted >= seen.patience
                && others(scheduler, process)
            {
                seen.patience = seen.patience.saturating_mul(LONGER);
                told.push((scheduler, process, lasted));
            }
        }
        told
    }
}

#[cfg(test)]
mod inquiry_tests {
    use super::*;
    use crate::exec::run_queue::Queue;
    use crate::link::waiter::HOOK;

    /// Who polls a task runs, and not the hook of that.
    #[test]
    fn who_polls_a_task_runs() {
        let (running, queue) = (RunningTask::new(), Queue::new(1, None));
        let seated = Seated {
            running: NonNull::from(&running),
            waiting: NonNull::from(queue.waiting()),
            base: 100,
        };
        assert_eq!(seated.at(), None);
        running.set(103);
        assert_eq!(running.set_task(HOOK | 7), 103);
        assert_eq!(running.set_task(HOOK | 1), HOOK | 7);
        assert_eq!(seated.at(), Some(3));
        running.set(HOOK | 7);
        assert_eq!(seated.at(), Some(3));
    }
}

#[cfg(test)]
mod overlong_tests {
    use super::*;

    #[test]
    fn who_runs_for_long_is_told_ever_more_rarely() {
        let (mut seen, start) = (Overlong::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut look = |seconds: u64, work: &[Option<(u32, u32)>]| {
            // Alone in the fourth minute.
            let told = seen.look(at(seconds), work, |_, _| !(180..240).contains(&seconds));
            told.into_iter()
                .map(|(scheduler, process, lasted)| (scheduler, process, lasted.as_secs()))
                .collect::<Vec<_>>()
        };
        let none: Vec<(usize, u32, u64)> = Vec::new();
        assert_eq!(look(0, &[Some((5, 3)), None]), none);
        // Another batch, another process, nobody.
        assert_eq!(look(9, &[Some((6, 3)), None]), none);
        assert_eq!(look(12, &[Some((6, 4)), None]), none);
        assert_eq!(look(21, &[Some((6, 4)), None]), none);
        assert_eq!(look(22, &[Some((6, 4)), Some((1, 0))]), [(0, 4, 10)]);
        assert_eq!(look(33, &[Some((6, 4)), Some((1, 0))]), [(1, 0, 11)]);
        assert_eq!(look(51, &[Some((6, 4)), None]), none);
        assert_eq!(look(52, &[Some((6, 4)), None]), [(0, 4, 40)]);
        assert_eq!(look(60, &[Some((7, 4)), None]), none);
        // It is not told for each process anew.
        assert_eq!(look(100, &[Some((7, 4)), None]), none);
        // Who keeps nobody from running is not told, until he does.
        assert_eq!(look(239, &[Some((7, 4)), None]), none);
        assert_eq!(look(240, &[Some((7, 4)), None]), [(0, 4, 180)]);
    }
}
