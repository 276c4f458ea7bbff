//! Inquiries: another thread asks a run that goes on what its processes are doing.
//!
//! The thread leaves the question and wakes all schedulers. Each answers between two turns, when nothing of its own
//! changes (`answer.rs`): which of its processes can run, and at which channels the others wait. Answers of several
//! schedulers are not of the same moment. Of one that does not answer in time it is told which process it is running.
//!
//! A run that nobody asks about pays a look at a flag for each batch of wake-ups from other threads.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::calls::WaitingCall;
use super::queue::Waiting;
use super::running_task::RunningTask;
use super::waits::Update;
use crate::link::waiter::NOBODY;
use crate::sync::lock;

/// What a scheduler is doing.
pub(crate) enum Answer {
    Idle(Snapshot),
    /// It is running a process, by its place on the scheduler, or something else, and has not answered.
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

// SAFETY: both may be looked at by other threads, and the pointers are used under the lock under which their owner takes them
// away before it goes.
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

    /// Leaves the question for all who can be asked, whom `wake` then wakes, and waits so long for answers: those of each scheduler.
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

    /// Whether schedulers may have been asked. What was asked before a wake-up came is seen: the inbox has a lock.
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

    /// Of each scheduler that is running a process: how many batches of turns it has been through, and the place of the process there.
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

    /// The id of the process at a place of a scheduler, and whether others than it are queued there; none if the scheduler has gone.
    pub(super) fn others_queued(&self, scheduler: usize, process: u32) -> Option<(u32, bool)> {
        let seats = lock(&self.seats);
        let seated = seats.get(scheduler)?.known.as_ref()?;
        let id = seated.base.wrapping_add(process);
        // SAFETY: as above.
        Some((id, unsafe { seated.waiting.as_ref() }.has_other(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::Queue;
    use super::*;
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
