//! A scheduler: the processes of one thread, and the state that its wakers need.

use super::deferred::Closings;
use super::deferred::DeferredWakes;
use super::deferred::TokenDrops;
use super::frames::Remote;
use super::hooks::Hooks;
use super::pacing::BatchSize;
use super::pacing::SpinHistory;
use super::polled_waits::PolledWaits;
use super::report::Directory;
use super::report::UnreceivedMessages;
use super::run_queue::Queue;
use super::shared::Shared;
use super::statistics::RankTraffic;
use super::statistics::Recorder;
use super::statistics::Statistics;
use super::task::Predictions;
use super::task::RunningTask;
use super::task::TaskHeader;
use super::timers::Timers;
use super::upper_layer::UpperLayer;
use super::upper_layer::UpperLayerCell;
use super::user_code;
use super::wait_points::Registry;
use crate::link::between;
use crate::link::inbox::SchedulerRequest;
use crate::link::waiter::NO_ID;
use crate::link::waiter::REMOTE;
use crate::placement::SchedulerId;
use crate::placement::SchedulerIndex;
use std::cell::Cell;
use std::cell::RefCell;
use std::pin::Pin;
use std::ptr;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

/// The part of a scheduler that wakers use. Other threads may read it during a poll.
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

/// Maximum number of processes on the schedulers of one thread. Their ids have 28 bits.
pub const MOST: u32 = REMOTE - 1;

/// The first ids of a scheduler. The ids of an outer run come before them.
#[derive(Default)]
pub struct FirstIds {
    pub(super) process: u32,
    pub(super) hook: u32,
}

/// An entry of the table of processes.
pub(super) type Slot = Cell<Option<NonNull<TaskHeader>>>;

/// The processes of one thread, and the state of their waits.
pub struct Scheduler {
    pub(super) queue: Queue,
    pub(super) batch_size: BatchSize,
    pub(super) tasks: Vec<Slot>,
    /// Address at which the table would have the process with id 0. With it, a lookup needs no
    /// subtraction, which would be on the critical path of each poll.
    origin: *const Slot,
    /// Id of the first process. The ids of an outer run are lower, so an id on a port that was
    /// moved between the two runs is unambiguous.
    pub(super) base: u32,
    pub(super) core: WakerCore,
    run: u64,
    pub(super) live: Cell<usize>,
    /// Whether a process has run since this scheduler last slept.
    pub(super) ran: Cell<bool>,
    /// Whether waits have been reported. From then on, processes that end are reported too.
    pub(super) reported: Cell<bool>,
    /// Kind and index of each process that has ended since the last report.
    pub(super) ended: RefCell<Vec<(u32, u32)>>,
    pub(super) measured: bool,
    /// Whether polls are timed, because the run is measured or traced.
    pub(super) timed: bool,
    pub(super) recorder: Option<Box<Recorder>>,
    pub(super) predictions: Predictions,
    choices: Cell<usize>,
    /// Id of a process that may have been asked to stop. It is only a hint, because the process is
    /// in the queue as well.
    pub(super) asked: Cell<u32>,
    /// Whether a process that is asked to stop is polled before all others. False if the order is
    /// shuffled.
    pub(super) stops_first: bool,
    pub(super) hooks: Hooks,
    /// The layer above, in whose calls processes wait.
    pub upper_layer: UpperLayerCell,
    pub(super) registry: Pin<Box<Registry>>,
    pub(super) polled: PolledWaits,
    pub(super) timers: Timers,
    pub(super) deferred: DeferredWakes,
    pub(super) closings: Closings,
    pub(super) token_drops: Rc<TokenDrops>,
    pub(super) spin_history: SpinHistory,
    /// Connection to the other OS processes of the run.
    pub(super) remote: Option<Rc<Remote>>,
    /// Scheduler that polls the process in which this run was started, or null.
    pub(super) outer: Cell<*const Scheduler>,
    pub(super) mail: Cell<Vec<u32>>,
    pub(super) directory: Arc<dyn Directory>,
    pub(super) statistics: RefCell<Statistics>,
}

impl Scheduler {
    /// Creates a scheduler with room for `processes`, which [`Scheduler::put`] adds. The scheduler
    /// must be created on the thread that runs it.
    ///
    /// `index` is its index in this OS process. `shuffle` is the seed of a random order of polls.
    /// `first` has the ids of its first process and hook.
    pub fn new(
        shared: &Arc<Shared>,
        index: usize,
        processes: usize,
        shuffle: Option<u64>,
        mut statistics: Statistics,
        registry: Pin<Box<Registry>>,
        first: FirstIds,
    ) -> Self {
        let timed = statistics.measured || statistics.trace.is_some();
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
            reported: Cell::new(false),
            ended: RefCell::default(),
            measured: statistics.measured,
            timed,
            recorder: statistics
                .trace
                .take()
                .map(|trace| Box::new(Recorder::new(trace))),
            predictions: Predictions::new(),
            choices: Cell::new(0),
            asked: Cell::new(NO_ID),
            stops_first: shuffle.is_none(),
            hooks: Hooks::new(first.hook),
            upper_layer: UpperLayerCell::default(),
            registry,
            polled: PolledWaits::new(),
            timers: Timers::default(),
            deferred: DeferredWakes::new(),
            closings: Closings::default(),
            token_drops: Rc::default(),
            spin_history: SpinHistory::new(),
            remote: None,
            outer: Cell::new(ptr::null()),
            mail: Cell::default(),
            directory: Arc::clone(&shared.directory),
            statistics: RefCell::new(statistics),
        }
    }

    /// Returns the first ids that are free for a run within a process of this scheduler.
    #[inline]
    pub(super) fn next_ids(&self) -> FirstIds {
        FirstIds {
            process: self.base + self.tasks.len() as u32,
            hook: self.hooks.end(),
        }
    }

    /// Connects the scheduler to the other OS processes of the run. `None` means that there are
    /// none. Must be called before it has any processes.
    #[inline]
    pub fn connect(&mut self, remote: Option<Rc<Remote>>) {
        self.remote = remote;
    }

    /// Returns the connection to the other OS processes of the run, or `None` if there are none.
    #[inline]
    pub fn remote(&self) -> Option<&Rc<Remote>> {
        self.remote.as_ref()
    }

    /// Returns true if the inbox is filled, or if a frame has come from another OS process or a
    /// waiting frame can be sent to one. May also return true if the link to the other OS processes
    /// has a value to return: see [`Remote::is_ready`].
    #[inline]
    pub(super) fn has_mail(&self) -> bool {
        let inbox = self.core.shared.inbox(self.index());
        inbox.is_filled() || self.remote.as_ref().is_some_and(|remote| remote.is_ready())
    }

    /// Adds a process, ready to run, at index `at`. All processes must be added before the first
    /// poll, because `Predictions` in `task.rs` relies on it.
    ///
    /// # Panics
    /// If `at` is not below the number of processes for which the scheduler has room.
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

    /// Returns the index of the scheduler in its OS process.
    #[inline]
    pub fn index(&self) -> usize {
        self.core.scheduler.0 as usize
    }

    /// Returns the number of the scheduler among all schedulers of the run.
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

    /// Returns the number of the run. A port compares it to detect that it was moved to another
    /// run.
    #[inline]
    pub fn run(&self) -> u64 {
        self.run
    }

    #[inline]
    pub fn statistics(&self) -> &RefCell<Statistics> {
        &self.statistics
    }

    /// Counts a wait for space in a channel to another scheduler, if the run is measured.
    #[inline]
    pub fn count_room_wait(&self, channel: u32) {
        let mut statistics = self.statistics.borrow_mut();
        if statistics.measured {
            *statistics.room_waits.entry(channel).or_default() += 1;
        }
    }

    /// Returns a number that increases by 1 with each call, from 0, for a choice in rotation. After
    /// the largest number, 0 follows.
    #[inline]
    pub fn next_choice(&self) -> usize {
        self.choices.replace(self.choices.get().wrapping_add(1))
    }

    /// Returns the table entry of a process, which is empty if the process has ended. Returns
    /// `None` if no process of this scheduler has this id.
    #[inline(always)]
    pub(super) fn slot(&self, id: u32) -> Option<&Slot> {
        if id.wrapping_sub(self.base) as usize >= self.tasks.len() {
            return None;
        }
        // SAFETY: the check above shows that `id` is at least `base` and below `base` plus the
        // length of the table. `origin` is the address of the table minus `base` entries. The table
        // is neither moved nor resized.
        Some(unsafe { &*self.origin.wrapping_add(id as usize) })
    }

    /// Returns the header of a process, or `None` if the process has ended or no process of this
    /// scheduler has this id.
    #[inline(always)]
    pub(super) fn header(&self, id: u32) -> Option<&TaskHeader> {
        let header = self.slot(id)?.get()?;
        // SAFETY: a table entry is emptied as soon as the memory of its task has been freed, and no
        // entry is read between the two.
        Some(unsafe { &*header.as_ptr() })
    }

    /// Returns kind and index of the process that is being polled, or `None` if none is.
    #[inline]
    pub fn running(&self) -> Option<(u32, u32)> {
        let header = self.header(self.core.running.process())?;
        Some((header.kind(), header.index()))
    }

    /// Returns the waits that this scheduler polls.
    #[inline]
    pub fn polled(&self) -> &PolledWaits {
        &self.polled
    }

    /// Returns the wake-ups that are deferred to the end of the poll.
    #[inline]
    pub fn deferred(&self) -> &DeferredWakes {
        &self.deferred
    }

    /// Calls `f`, such as a batch of polls. A panic in it is caught and ends the run, and is
    /// reported for the process that is being polled, if there is one.
    #[inline]
    pub(super) fn guarded(&self, f: impl FnOnce()) {
        if let Err(message) = user_code::caught(f) {
            self.fail(format!("panicked: {message}"));
        }
    }

    /// Ends the run because of an error that belongs to no process.
    #[inline]
    pub(super) fn fail_without_process(&self, message: String) {
        self.core.shared.fail(None, message);
    }

    /// Ends the run because of an error of the process that is being polled. If none is, the error
    /// belongs to no process.
    #[inline]
    pub(super) fn fail(&self, message: String) {
        let process = self
            .running()
            .map(|(kind, index)| self.directory.process(kind, index));
        self.core.shared.fail(process, message);
    }
}

/// Methods for the layer above.
impl Scheduler {
    /// Returns true if the layer above has been created, so that processes may wait in its calls.
    pub(super) fn has_upper_layer(&self) -> bool {
        self.upper_layer.created().is_some()
    }

    /// Returns the layer above, which is created if necessary. Returns `None` if the run has no
    /// such layer.
    pub(super) fn layer(&self) -> Option<&Rc<dyn UpperLayer>> {
        self.upper_layer
            .layer(self.shared(), self.number(), self.remote())
    }

    /// Passes requests from schedulers of this OS process to the layer above, which is created if
    /// necessary. Drops them if the run has no such layer. A panic ends the run.
    pub(super) fn handle_requests(&self, requests: Vec<SchedulerRequest>) {
        for request in requests {
            self.guarded(|| {
                if let Some(layer) = self.layer() {
                    layer.handle_request(request);
                }
            });
        }
    }

    /// Passes a frame from another OS process to the layer above, which is created if necessary.
    /// Ignores the frame if the run has no such layer. An invalid frame ends the run. `from` is the
    /// scheduler that sent it.
    pub(super) fn take_frame(&self, from: u32, header: between::Header, bytes: &[u8]) {
        let Some(layer) = self.layer() else { return };
        if let Err(why) = layer.frame(from, header, bytes) {
            self.fail_without_process(why);
        }
    }

    /// Takes the traffic of the calls of the layer above, after which no traffic is counted. It is
    /// empty if the layer was not created, or if the run is not profiled.
    pub(super) fn upper_layer_traffic(&self) -> RankTraffic {
        let made = self.upper_layer.created();
        made.map_or_else(RankTraffic::default, |layer| layer.traffic())
    }

    /// Closes the layer above after the processes of this run have been dropped. Returns the
    /// messages that no rank has received, of which there are none if the layer was not created.
    pub(super) fn close_upper_layer(&self) -> UnreceivedMessages {
        self.upper_layer
            .created()
            .map_or((0, None), |layer| layer.close())
    }
}
