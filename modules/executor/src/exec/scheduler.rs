//! A scheduler: the processes of one thread, and the state that its wakers need.

use super::deferred::Closings;
use super::deferred::DeferredWakes;
use super::deferred::Leaving;
use super::frames::Outside;
use super::hooks::Hooks;
use super::pacing::BatchSize;
use super::pacing::Lookout;
use super::polled_waits::PolledWaits;
use super::report::Directory;
use super::report::UnreceivedMessages;
use super::run_queue::Queue;
use super::shared::Shared;
use super::statistics::RankTraffic;
use super::statistics::Recorder;
use super::statistics::Tally;
use super::task::Predictions;
use super::task::RunningTask;
use super::task::TaskHeader;
use super::upper_layer::Above;
use super::upper_layer::Floor;
use super::user_code;
use super::wait_points::Registry;
use crate::link::between;
use crate::link::inbox::Letter;
use crate::link::waiter::ELSEWHERE;
use crate::link::waiter::NOBODY;
use crate::placement::SchedulerId;
use crate::placement::SchedulerIndex;
use std::cell::Cell;
use std::cell::RefCell;
use std::pin::Pin;
use std::ptr;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

/// What a waker needs to know of a scheduler. Other threads may look at it during a poll.
pub(crate) struct WakerCore {
    pub(crate) shared: Arc<Shared>,
    pub(crate) scheduler: SchedulerIndex,
    pub(super) running: RunningTask,
}

impl WakerCore {
    #[inline]
    pub(super) fn new(shared: Arc<Shared>, scheduler: SchedulerIndex) -> Self {
        WakerCore {
            shared,
            scheduler,
            running: RunningTask::new(),
        }
    }
}

/// Most processes on the schedulers of one thread: their ids have 28 bits.
pub const MOST: u32 = ELSEWHERE - 1;

/// The first ids that a scheduler gives: those of a run around it come before.
#[derive(Default)]
pub struct FirstIds {
    pub(super) process: u32,
    pub(super) hook: u32,
}

/// A place of the table of processes.
pub(super) type Slot = Cell<Option<NonNull<TaskHeader>>>;

/// The processes of one thread, and what they wait for.
pub struct Scheduler {
    pub(super) queue: Queue,
    pub(super) batch_size: BatchSize,
    pub(super) tasks: Vec<Slot>,
    /// Where the table would have the process whose id is 0: so to find one takes no subtraction,
    /// for which all that runs would have to wait.
    origin: *const Slot,
    /// The id of the first process. Those of a run around this one come before: so an id on a port
    /// that was moved between the two means the same everywhere.
    pub(super) base: u32,
    pub(super) core: WakerCore,
    run: u64,
    pub(super) live: Cell<usize>,
    /// Something has run since this scheduler last slept.
    pub(super) ran: Cell<bool>,
    /// Waits have been told: who ends from now on has to be told too.
    pub(super) told: Cell<bool>,
    /// Kind and index of those who have ended since.
    pub(super) ended: RefCell<Vec<(u32, u32)>>,
    pub(super) measured: bool,
    /// Measured, or traced.
    pub(super) timed: bool,
    pub(super) recorder: Option<Box<Recorder>>,
    pub(super) predictions: Predictions,
    choices: Cell<usize>,
    /// A process that may have been asked to stop: a hint, for it is in the queue as well.
    pub(super) asked: Cell<u32>,
    /// Who is asked to stop goes before all others: not where the order is shuffled.
    pub(super) stops_first: bool,
    pub(super) hooks: Hooks,
    /// What else than channels its processes wait at.
    pub above: Above,
    pub(super) registry: Pin<Box<Registry>>,
    pub(super) polled: PolledWaits,
    pub(super) deferred: DeferredWakes,
    pub(super) closings: Closings,
    pub(super) leaving: Rc<Leaving>,
    pub(super) lookout: Lookout,
    /// Other OS processes of the run.
    pub(super) outside: Option<Rc<Outside>>,
    /// The scheduler in one of whose processes this one runs.
    pub(super) outer: Cell<*const Scheduler>,
    pub(super) mail: Cell<Vec<u32>>,
    pub(super) directory: Arc<dyn Directory>,
    pub(super) tally: RefCell<Tally>,
}

impl Scheduler {
    /// A scheduler with room for `processes`, all still to be given by [`Scheduler::put`]. It has
    /// to be made on the thread that it is to live on.
    pub fn new(
        shared: &Arc<Shared>,
        index: usize,
        processes: usize,
        shuffle: Option<u64>,
        mut tally: Tally,
        registry: Pin<Box<Registry>>,
        first: FirstIds,
    ) -> Self {
        let timed = tally.measured || tally.trace.is_some();
        let tasks: Vec<Slot> = vec![Cell::new(None); processes];
        Scheduler {
            queue: Queue::new(processes, shuffle),
            batch_size: BatchSize::new(),
            origin: tasks.as_ptr().wrapping_sub(first.process as usize),
            tasks,
            base: first.process,
            run: shared.run,
            core: WakerCore::new(Arc::clone(shared), SchedulerIndex(index as u32)),
            live: Cell::new(0),
            ran: Cell::new(true),
            told: Cell::new(false),
            ended: RefCell::default(),
            measured: tally.measured,
            timed,
            recorder: tally
                .trace
                .take()
                .map(|trace| Box::new(Recorder::new(trace))),
            predictions: Predictions::new(),
            choices: Cell::new(0),
            asked: Cell::new(NOBODY),
            stops_first: shuffle.is_none(),
            hooks: Hooks::new(first.hook),
            above: Above::default(),
            registry,
            polled: PolledWaits::new(),
            deferred: DeferredWakes::new(),
            closings: Closings::default(),
            leaving: Rc::default(),
            lookout: Lookout::new(),
            outside: None,
            outer: Cell::new(ptr::null()),
            mail: Cell::default(),
            directory: Arc::clone(&shared.directory),
            tally: RefCell::new(tally),
        }
    }

    /// The ids that are free for a run within a process of this one.
    #[inline]
    pub(super) fn next_ids(&self) -> FirstIds {
        FirstIds {
            process: self.base + self.tasks.len() as u32,
            hook: self.hooks.end(),
        }
    }

    /// The run is one of several OS processes: before it has anything else.
    #[inline]
    pub fn connect(&mut self, outside: Option<Rc<Outside>>) {
        self.outside = outside;
    }

    /// The other OS processes of a run.
    #[inline]
    pub fn outside(&self) -> Option<&Rc<Outside>> {
        self.outside.as_ref()
    }

    #[inline]
    pub(super) fn has_mail(&self) -> bool {
        let inbox = self.core.shared.inbox(self.index());
        inbox.is_filled()
            || self
                .outside
                .as_ref()
                .is_some_and(|outside| outside.is_ready())
    }

    /// Gives the scheduler a process, ready to run. All are given before the first has its turn:
    /// `task.rs` rests on it.
    #[inline]
    pub fn put(&self, at: usize, header: NonNull<TaskHeader>) {
        debug_assert!(
            self.predictions.are_unused(),
            "a process that is made after the first turn"
        );
        self.tasks[at].set(Some(header));
        self.live.set(self.live.get() + 1);
        self.wake(self.base + at as u32);
    }

    #[inline]
    pub fn index(&self) -> usize {
        self.core.scheduler.0 as usize
    }

    /// Its number among all schedulers of the run.
    #[inline]
    pub fn number(&self) -> SchedulerId {
        self.core.shared.number(self.core.scheduler)
    }

    #[inline]
    pub fn directory(&self) -> &dyn Directory {
        &*self.directory
    }

    #[inline]
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    #[inline]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    #[inline]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.core.shared
    }

    /// The number of the run, by which a port knows whether it has moved to another.
    #[inline]
    pub fn run(&self) -> u64 {
        self.run
    }

    #[inline]
    pub fn tally(&self) -> &RefCell<Tally> {
        &self.tally
    }

    /// Counts a wait for room in a channel to another scheduler, if the run is measured.
    #[inline]
    pub fn count_room_wait(&self, channel: u32) {
        let mut tally = self.tally.borrow_mut();
        if tally.measured {
            *tally.room_waits.entry(channel).or_default() += 1;
        }
    }

    /// A number that goes up with each call, for those who want to take turns.
    #[inline]
    pub fn turn_of_choice(&self) -> usize {
        self.choices.replace(self.choices.get().wrapping_add(1))
    }

    /// The place of a process in the table; none if the id is no process's of this scheduler.
    #[inline(always)]
    pub(super) fn slot(&self, id: u32) -> Option<&Slot> {
        if id.wrapping_sub(self.base) as usize >= self.tasks.len() {
            return None;
        }
        // SAFETY: the table is as long as that and begins with the first id; neither its place nor
        // its length ever changes.
        Some(unsafe { &*self.origin.wrapping_add(id as usize) })
    }

    #[inline(always)]
    pub(super) fn header(&self, id: u32) -> Option<&TaskHeader> {
        let header = self.slot(id)?.get()?;
        // SAFETY: a task leaves the table before its memory goes.
        Some(unsafe { &*header.as_ptr() })
    }

    /// Kind and index of the process being polled.
    #[inline]
    pub fn running(&self) -> Option<(u32, u32)> {
        let header = self.header(self.core.running.process())?;
        Some((header.kind(), header.index()))
    }

    /// The waits that this scheduler polls.
    #[inline]
    pub fn polled(&self) -> &PolledWaits {
        &self.polled
    }

    /// What has yet to be done at ends of channels.
    #[inline]
    pub fn deferred(&self) -> &DeferredWakes {
        &self.deferred
    }

    /// Runs a batch; a panic ends the run in the name of the process that panicked.
    #[inline]
    pub(super) fn guarded(&self, f: impl FnOnce()) {
        if let Err(message) = user_code::caught(f) {
            self.fail(format!("panicked: {message}"));
        }
    }

    /// Ends the run for a reason that is no process's.
    #[inline]
    pub(super) fn fail_without_process(&self, message: String) {
        self.core.shared.fail(None, message);
    }

    #[inline]
    pub(super) fn fail(&self, message: String) {
        let process = self
            .running()
            .map(|(kind, index)| self.directory.process(kind, index));
        self.core.shared.fail(process, message);
    }
}

/// The layer above.
impl Scheduler {
    /// Whether processes may wait in calls.
    pub(super) fn has_floor_above(&self) -> bool {
        self.above.made().is_some()
    }

    /// The floor above; none if there is none.
    pub(super) fn floor(&self) -> Option<&Rc<dyn Floor>> {
        self.above
            .floor(self.shared(), self.number(), self.outside())
    }

    /// Gives the floor above what has come for it.
    pub(super) fn take_letters(&self, letters: Vec<Letter>) {
        for letter in letters {
            self.guarded(|| {
                if let Some(floor) = self.floor() {
                    floor.letter(letter);
                }
            });
        }
    }

    /// The same, from another OS process.
    pub(super) fn take_frame(&self, from: u32, header: between::Header, bytes: &[u8]) {
        let Some(floor) = self.floor() else { return };
        if let Err(why) = floor.frame(from, header, bytes) {
            self.fail_without_process(why);
        }
    }

    /// What was sent by calls of the floor above, where the run is profiled.
    pub(super) fn traffic_above(&self) -> RankTraffic {
        let made = self.above.made();
        made.map_or_else(RankTraffic::default, |floor| floor.traffic())
    }

    /// The processes of this run have gone: closes the floor above.
    pub(super) fn close_above(&self) -> UnreceivedMessages {
        self.above.made().map_or((0, None), |floor| floor.close())
    }
}
