//! Requests of another thread for the state of the processes of a run.
//!
//! The thread sets a flag and wakes all schedulers. Each scheduler answers with a [`Snapshot`]
//! between two polls (`run_state.rs`): which of its processes are ready, and at which channels the
//! others wait. Snapshots of several schedulers are not taken at the same time. A scheduler that
//! does not answer in time is reported with the process that it is polling.
//!
//! A process whose long polls keep others of its scheduler waiting ([`Overlong`]) is found without
//! a request. A scheduler writes two numbers in any case: the process that it polls, and the count
//! of its batches of polls.

use super::report::WaitingCall;
use super::run_queue::Waiting;
use super::task::RunningTask;
use super::wait_graph::Update;
use crate::link::waiter::NO_ID;
use crate::sync::AtomicBool;
use crate::sync::Condvar;
use crate::sync::Mutex;
use crate::sync::PoisonError;
use crate::sync::lock;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

/// The answer of a scheduler.
pub(crate) enum Answer {
    /// The scheduler has answered, or is not registered.
    Idle(Snapshot),
    /// The scheduler has not answered. The value is the index of the process that it is polling, or
    /// `None` if it is not polling a process.
    Busy(Option<u32>),
}

/// The processes of a scheduler between two polls.
#[derive(Default)]
pub(crate) struct Snapshot {
    /// Number of processes that are ready.
    pub(crate) ready: usize,
    /// Rank and kind of each process that waits.
    pub(crate) waiting: Vec<(u32, u32)>,
    /// The waits at channels.
    pub(crate) waits: Vec<Update>,
    /// The waits in calls.
    pub(crate) calls: Vec<WaitingCall>,
}

/// The inquiry of a run, and the answers to it.
pub(crate) struct Inquiry {
    asked: AtomicBool,
    entries: Mutex<Vec<Entry>>,
    answered: Condvar,
}

/// The entry of a scheduler.
#[derive(Default)]
struct Entry {
    known: Option<SchedulerView>,
    asked: bool,
    answer: Option<Snapshot>,
}

/// The parts of a scheduler that other threads may read while it is registered.
#[derive(Clone, Copy)]
pub(super) struct SchedulerView {
    /// The process that the scheduler is polling.
    pub(super) running: NonNull<RunningTask>,
    /// The run queue of the scheduler.
    pub(super) waiting: NonNull<Waiting>,
    /// Id of its first process.
    pub(super) base: u32,
}

// SAFETY: both targets consist of atomics, so any thread may read them. The pointers are used only
// under the lock of `Inquiry::entries`. Their owner removes them under it before it frees
// the targets.
unsafe impl Send for SchedulerView {}

impl SchedulerView {
    /// Returns the index of the process that the scheduler is polling, or `None` if it polls none.
    fn at(&self) -> Option<u32> {
        // SAFETY: the caller holds the lock under which the pointer is removed before its target is
        // freed.
        let id = unsafe { self.running.as_ref() }.process();
        (id != NO_ID).then(|| id.wrapping_sub(self.base))
    }
}

impl Inquiry {
    pub(crate) fn new(schedulers: usize) -> Self {
        Inquiry {
            asked: AtomicBool::new(false),
            entries: Mutex::new((0..schedulers).map(|_| Entry::default()).collect()),
            answered: Condvar::new(),
        }
    }

    /// Registers a scheduler for inquiries until it [leaves](Self::leave). Has no effect if no
    /// scheduler has this index.
    ///
    /// # Safety
    /// The pointers in `view` must be valid until [`leave`](Self::leave) is called for the
    /// scheduler.
    pub(super) unsafe fn register(&self, scheduler: usize, view: SchedulerView) {
        if let Some(entry) = lock(&self.entries).get_mut(scheduler) {
            entry.known = Some(view);
        }
    }

    /// Ends the registration of a scheduler. An inquiry no longer waits for its answer.
    pub(super) fn leave(&self, scheduler: usize) {
        if let Some(entry) = lock(&self.entries).get_mut(scheduler) {
            (entry.known, entry.asked) = (None, false);
        }
        self.answered.notify_all();
    }

    /// Requests an answer from each registered scheduler, calls `wake`, which must wake the
    /// schedulers, and blocks for answers for at most `patience`. Returns one answer for each
    /// scheduler, by index. A scheduler that is not registered has an empty answer. A registered
    /// scheduler that has not answered in time gets [`Answer::Busy`], with the index of the process
    /// that it is polling, or `None` if it polls none.
    pub(super) fn ask(&self, patience: Duration, wake: impl FnOnce()) -> Vec<Answer> {
        for entry in &mut *lock(&self.entries) {
            entry.asked = entry.known.is_some();
            entry.answer = None;
        }
        self.asked.store(true, Ordering::Relaxed);
        wake();
        let end = Instant::now() + patience;
        let mut entries = lock(&self.entries);
        while entries.iter().any(|entry| entry.asked) {
            let Some(rest) = end.checked_duration_since(Instant::now()) else {
                break;
            };
            let waited = self.answered.wait_timeout(entries, rest);
            entries = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.asked.store(false, Ordering::Relaxed);
        let answers = entries.iter_mut().map(|entry| {
            entry.asked = false;
            match (entry.answer.take(), &entry.known) {
                (Some(snapshot), _) => Answer::Idle(snapshot),
                (None, None) => Answer::Idle(Snapshot::default()),
                (None, Some(view)) => Answer::Busy(view.at()),
            }
        });
        answers.collect()
    }

    /// Returns true if schedulers may have been asked. A scheduler that was woken by `ask` sees the
    /// flag, because the wake-up goes through the lock of the inbox.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns true if this scheduler was asked and has not answered. Panics if no scheduler has
    /// this index.
    pub(super) fn is_asked(&self, scheduler: usize) -> bool {
        lock(&self.entries)[scheduler].asked
    }

    /// Stores the answer of a scheduler, if it was asked and has not answered. Panics if no
    /// scheduler has this index.
    pub(super) fn answer(&self, scheduler: usize, snapshot: Snapshot) {
        let entry = &mut lock(&self.entries)[scheduler];
        if std::mem::take(&mut entry.asked) {
            entry.answer = Some(snapshot);
            self.answered.notify_all();
        }
    }

    /// Returns for each scheduler the number of batches that it has finished and the index of the
    /// process that it is polling. The entry is `None` if the scheduler is not registered or is not
    /// polling a process.
    pub(super) fn polled_processes(&self) -> Vec<Option<(u32, u32)>> {
        let entries = lock(&self.entries);
        let entries = entries.iter().map(|entry| {
            let view = entry.known.as_ref()?;
            // SAFETY: the pointer is removed under this lock before its target is freed.
            let batches = unsafe { view.running.as_ref() }.batches();
            Some((batches, view.at()?))
        });
        entries.collect()
    }

    /// Returns the id of the process with an index on a scheduler, and whether other processes are
    /// queued there. Returns `None` if the scheduler is not registered.
    pub(super) fn others_queued(&self, scheduler: usize, process: u32) -> Option<(u32, bool)> {
        let entries = lock(&self.entries);
        let view = entries.get(scheduler)?.known.as_ref()?;
        let id = view.base.wrapping_add(process);
        // SAFETY: as above.
        Some((id, unsafe { view.waiting.as_ref() }.has_other(id)))
    }
}

/// Duration of a batch after which it is reported, and the factor by which this duration grows with
/// each report.
const LONG: Duration = Duration::from_secs(10);
const LONGER: u32 = 4;

/// The last observation of each scheduler of an OS process.
#[derive(Default)]
pub(super) struct Overlong(Vec<Seen>);

struct Seen {
    /// Batch and process at the last observation.
    polled: Option<(u32, u32)>,
    /// Time at which they were first observed.
    since: Instant,
    /// Duration after which the batch is reported.
    patience: Duration,
}

impl Overlong {
    /// Updates the observations. Returns scheduler, process and duration for each batch that has
    /// lasted too long while other processes of its scheduler can run. `polled_processes` has batch
    /// and process for each scheduler. `others` returns true for a scheduler and a process if
    /// another process can run there. The duration is measured from the first observation of the
    /// same process in the same batch.
    ///
    /// A batch is too long after 10 s. Each report multiplies this limit of its scheduler by 4,
    /// also for later batches.
    pub(super) fn check(
        &mut self,
        now: Instant,
        polled_processes: &[Option<(u32, u32)>],
        others: impl Fn(usize, u32) -> bool,
    ) -> Vec<(usize, u32, Duration)> {
        let never = || Seen {
            polled: None,
            since: now,
            patience: LONG,
        };
        self.0.resize_with(polled_processes.len(), never);
        let mut reported = Vec::new();
        for (scheduler, (seen, &polled)) in self.0.iter_mut().zip(polled_processes).enumerate() {
            if seen.polled != polled {
                (seen.polled, seen.since) = (polled, now);
                continue;
            }
            let lasted = now.duration_since(seen.since);
            if let Some((_, process)) = polled
                && lasted >= seen.patience
                && others(scheduler, process)
            {
                seen.patience = seen.patience.saturating_mul(LONGER);
                reported.push((scheduler, process, lasted));
            }
        }
        reported
    }
}

#[cfg(test)]
mod inquiry_tests {
    use super::*;
    use crate::exec::run_queue::Queue;
    use crate::link::waiter::HOOK;

    /// A process that polls a task is reported, and not the hook of the task.
    #[test]
    fn a_process_is_reported_while_its_task_is_polled() {
        let (running, queue) = (RunningTask::new(), Queue::new(1, None));
        let view = SchedulerView {
            running: NonNull::from(&running),
            waiting: NonNull::from(queue.waiting()),
            base: 100,
        };
        assert_eq!(view.at(), None);
        running.set(103);
        assert_eq!(running.set_task(HOOK | 7), 103);
        assert_eq!(running.set_task(HOOK | 1), HOOK | 7);
        assert_eq!(view.at(), Some(3));
        running.set(HOOK | 7);
        assert_eq!(view.at(), Some(3));
    }
}

#[cfg(test)]
mod overlong_tests {
    use super::*;

    #[test]
    fn long_polls_are_reported_at_growing_intervals() {
        let (mut seen, start) = (Overlong::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut check = |seconds: u64, work: &[Option<(u32, u32)>]| {
            // Alone in the fourth minute.
            let reported = seen.check(at(seconds), work, |_, _| !(180..240).contains(&seconds));
            reported
                .into_iter()
                .map(|(scheduler, process, lasted)| (scheduler, process, lasted.as_secs()))
                .collect::<Vec<_>>()
        };
        let none: Vec<(usize, u32, u64)> = Vec::new();
        assert_eq!(check(0, &[Some((5, 3)), None]), none);
        // Another batch, another process, no process.
        assert_eq!(check(9, &[Some((6, 3)), None]), none);
        assert_eq!(check(12, &[Some((6, 4)), None]), none);
        assert_eq!(check(21, &[Some((6, 4)), None]), none);
        assert_eq!(check(22, &[Some((6, 4)), Some((1, 0))]), [(0, 4, 10)]);
        assert_eq!(check(33, &[Some((6, 4)), Some((1, 0))]), [(1, 0, 11)]);
        assert_eq!(check(51, &[Some((6, 4)), None]), none);
        assert_eq!(check(52, &[Some((6, 4)), None]), [(0, 4, 40)]);
        assert_eq!(check(60, &[Some((7, 4)), None]), none);
        // The duration does not start again at 10 s for each process.
        assert_eq!(check(100, &[Some((7, 4)), None]), none);
        // A process is not reported while no other process is ready.
        assert_eq!(check(239, &[Some((7, 4)), None]), none);
        assert_eq!(check(240, &[Some((7, 4)), None]), [(0, 4, 180)]);
    }
}
