//! One scheduler: the processes of one thread.

use std::cell::{Cell, RefCell};
use std::hint;
use std::pin::Pin;
use std::ptr;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use super::acks::Acks;
use super::current::{CURRENT, with_current};
use super::deferred::DeferredWakes;
use super::directory::Directory;
use super::floor::Above;
use super::guard;
use super::hooks::{Hooks, Loose};
use super::lookout::Lookout;
use super::outside::Outside;
use super::parker::Unparked;
use super::polled::PolledWaits;
use super::queue::Queue;
use super::recorder::Recorder;
use super::registry::Registry;
use super::shared::{Shared, Verdict};
use super::tally::Tally;
use super::task::{self, TaskHeader};
use super::waker::{self, WakerCore};
use crate::link::waiter::{ELSEWHERE, NOBODY};
use crate::placement::{SchedulerId, SchedulerIndex};

/// How many processes run before the inbox is looked at again.
pub(super) const BATCH: usize = 64;
/// How long is looked for mail at most while another OS process copies a large token out of this one's memory: about as
/// long as it takes to copy some megabytes, and to be woken takes a fifth of that.
const COPYING: Duration = Duration::from_micros(500);
/// Most processes on the schedulers of one thread: their ids have 28 bits.
pub(crate) const MOST: u32 = ELSEWHERE - 1;

pub(crate) struct Scheduler {
    pub(super) queue: Queue,
    pub(super) tasks: Vec<Cell<Option<NonNull<TaskHeader>>>>,
    /// The id of the first process. Those of a run around this one come before: so an id on a port
    /// that was moved between the two means the same everywhere.
    pub(super) base: u32,
    pub(super) core: WakerCore,
    run: u64,
    pub(super) live: Cell<usize>,
    /// Something has run since this scheduler last slept.
    ran: Cell<bool>,
    /// Waits have been told: who ends from now on has to be told too.
    pub(super) told: Cell<bool>,
    /// Kind and index of those who have ended since.
    pub(super) ended: RefCell<Vec<(u32, u32)>>,
    pub(super) measured: bool,
    /// Measured, or traced.
    timed: bool,
    pub(super) recorder: Option<Box<Recorder>>,
    choices: Cell<usize>,
    /// A process that may have been asked to stop: a hint, for it is in the queue as well.
    pub(super) asked: Cell<u32>,
    pub(super) plain: bool,
    pub(super) hooks: Hooks,
    /// What else than channels its processes wait at.
    pub(crate) above: Above,
    pub(super) registry: Pin<Box<Registry>>,
    pub(super) polled: PolledWaits,
    pub(super) deferred: DeferredWakes,
    acks: Acks,
    lookout: Lookout,
    /// Other OS processes of the run.
    pub(super) outside: Option<Rc<Outside>>,
    /// The scheduler in one of whose processes this one runs.
    pub(super) outer: Cell<*const Scheduler>,
    mail: Cell<Vec<u32>>,
    pub(super) directory: Arc<dyn Directory>,
    pub(super) tally: RefCell<Tally>,
}

impl Scheduler {
    /// A scheduler with room for `processes`, all still to be given by [`Scheduler::put`]. It has
    /// to be made on the thread that it is to live on.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        index: usize,
        processes: usize,
        shuffle: Option<u64>,
        mut tally: Tally,
        registry: Pin<Box<Registry>>,
    ) -> Self {
        let timed = tally.measured || tally.trace.is_some();
        let base = with_current(|outer| (outer.base + outer.tasks.len() as u32, outer.hooks.end()));
        let (base, hooks) = base.unwrap_or((0, 0));
        Scheduler {
            queue: Queue::new(processes, shuffle),
            tasks: vec![Cell::new(None); processes],
            base,
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
            choices: Cell::new(0),
            asked: Cell::new(NOBODY),
            plain: shuffle.is_none() && !timed,
            hooks: Hooks::new(hooks),
            above: Above::default(),
            registry,
            polled: PolledWaits::new(),
            deferred: DeferredWakes::new(),
            acks: Acks::new(),
            lookout: Lookout::new(),
            outside: None,
            outer: Cell::new(ptr::null()),
            mail: Cell::default(),
            directory: Arc::clone(&shared.directory),
            tally: RefCell::new(tally),
        }
    }

    /// How many processes there may be on a scheduler that is made now: one within a process of
    /// another shares its ids.
    pub(crate) fn room() -> usize {
        let used = with_current(|outer| outer.base + outer.tasks.len() as u32);
        (MOST - used.unwrap_or(0)) as usize
    }

    /// The run is one of several OS processes: before it has anything else.
    pub(crate) fn connect(&mut self, outside: Option<Rc<Outside>>) {
        self.outside = outside;
    }

    /// The other OS processes of a run.
    pub(crate) fn outside(&self) -> Option<&Rc<Outside>> {
        self.outside.as_ref()
    }

    pub(super) fn has_mail(&self) -> bool {
        let inbox = self.core.shared.inbox(self.index());
        inbox.is_filled()
            || self
                .outside
                .as_ref()
                .is_some_and(|outside| outside.is_ready())
    }

    /// Makes this the scheduler of the thread while `f` runs.
    fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Leave(*const Scheduler);
        impl Drop for Leave {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        // A run within a process of another may take long.
        with_current(|outer| outer.flush_deferred());
        let _leave = Leave(CURRENT.replace(self));
        self.outer.set(_leave.0);
        f()
    }

    /// Gives the scheduler a process, ready to run.
    pub(crate) fn put(&self, at: usize, header: NonNull<TaskHeader>) {
        self.tasks[at].set(Some(header));
        self.live.set(self.live.get() + 1);
        self.wake(self.base + at as u32);
    }

    pub(crate) fn index(&self) -> usize {
        self.core.scheduler.0 as usize
    }

    /// Its number among all schedulers of the run.
    pub(crate) fn number(&self) -> SchedulerId {
        self.core.shared.number(self.core.scheduler)
    }

    pub(crate) fn directory(&self) -> &dyn Directory {
        &*self.directory
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.core.shared
    }

    /// The number of the run, by which a port knows whether it has moved to another.
    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    pub(crate) fn tally(&self) -> &RefCell<Tally> {
        &self.tally
    }

    /// A number that goes up with each call, for those who want to take turns.
    pub(crate) fn turn_of_choice(&self) -> usize {
        self.choices.replace(self.choices.get().wrapping_add(1))
    }

    #[inline(always)]
    pub(super) fn header(&self, id: u32) -> Option<&TaskHeader> {
        let header = self.tasks.get(id.wrapping_sub(self.base) as usize)?.get()?;
        // SAFETY: a task leaves the table before its memory goes.
        Some(unsafe { &*header.as_ptr() })
    }

    /// Kind and index of the process being polled.
    pub(crate) fn running(&self) -> Option<(u32, u32)> {
        let header = self.header(self.core.current.load(Ordering::Relaxed))?;
        Some((header.kind(), header.index()))
    }

    /// The waits that this scheduler polls.
    pub(crate) fn polled(&self) -> &PolledWaits {
        &self.polled
    }

    /// What has yet to be done at ends of channels.
    pub(crate) fn deferred(&self) -> &DeferredWakes {
        &self.deferred
    }

    /// What schedulers tell each other of tokens taken, if this is one of the run.
    #[inline(always)]
    pub(crate) fn acks(&self, run: &Arc<Shared>) -> Option<&Acks> {
        Arc::ptr_eq(&self.core.shared, run).then_some(&self.acks)
    }

    /// A scheduler's life: `build` gives it its processes, they run until the whole run ends, and
    /// what is left of them is dropped. Returns what was counted.
    pub(crate) fn live(&self, build: impl FnOnce()) -> Tally {
        self.enter(|| {
            let seated = self.sit();
            self.guarded(build);
            self.work();
            drop(seated);
            self.hand_in();
            self.announce();
            self.clear();
            // Of a turn that was cut short by a panic, at channels of the run around this one.
            self.flush_deferred();
        });
        self.tally.take()
    }

    /// Runs until the whole run ends.
    fn work(&self) {
        // SAFETY: the core lives as long as `self`, longer than the waker.
        let waker = unsafe { waker::waker(&self.core) };
        let shared = &*self.core.shared;
        let inbox = shared.inbox(self.index());
        // When a standstill is to be told that lasts until then.
        let mut quiet = None;
        while !shared.stopped() {
            if inbox.is_filled() {
                self.take_mail();
            }
            self.polled.poll(false, |id| self.wake(id));
            self.guarded(|| self.turn(&waker));
            self.tidy();
            if self.exchange()
                || !self.queue.is_empty()
                || inbox.is_filled()
                || self.spin()
                || self.arm()
            {
                continue;
            }
            if self.hooks.has_loose() || self.waits_for_room_around() {
                continue;
            }
            let ran = self.ran.replace(false);
            if ran {
                // It is looked at anew.
                quiet = None;
                shared.stir();
            }
            if let Some(recorder) = &self.recorder {
                recorder.idle();
            }
            if let Some(outside) = &self.outside {
                match self.sleep_among(outside, ran, quiet) {
                    Some(Verdict::End) => return,
                    Some(verdict) => quiet = verdict.told_at(),
                    None => {}
                }
                continue;
            }
            self.tally.borrow_mut().sleeps += 1;
            let at_most = quiet.map(|at| at.saturating_duration_since(Instant::now()));
            match shared.sleep(self.index(), at_most) {
                // Perhaps for nothing: whoever woke it may have come late.
                Unparked::Woken => {}
                Unparked::TimedOut => {
                    quiet = None;
                    shared.ask();
                }
                Unparked::AllAsleep => match self.standstill() {
                    Verdict::End => return,
                    verdict => quiet = verdict.told_at(),
                },
            }
        }
    }

    /// Drops every process that is left.
    fn clear(&self) {
        for (at, task) in self.tasks.iter().enumerate() {
            let Some(header) = task.get() else { continue };
            let id = self.base + at as u32;
            self.core.current.store(id, Ordering::Relaxed);
            // SAFETY: what is in the table is alive. If a destructor panics, the memory is still
            // there, and the second call frees it.
            let discard = || unsafe { task::discard(header) };
            if guard::caught(discard).is_err() {
                discard();
            }
            task.set(None);
        }
        self.core.current.store(NOBODY, Ordering::Relaxed);
        self.take_letters(self.core.shared.inbox(self.index()).letters());
        let unreceived = self.close_above();
        self.tally.borrow_mut().unreceived = unreceived;
        if let Some(outside) = &self.outside {
            for (channel, token) in outside.take_exposed() {
                self.drop_token(channel, token);
            }
        }
        self.registry.clear();
        self.hooks.clear();
        while self.hooks.has_loose() {
            self.tidy();
        }
    }

    fn take_mail(&self) {
        self.ran.set(true);
        let mut mail = self.mail.take();
        self.core.shared.inbox(self.index()).drain(&mut mail);
        for id in mail.drain(..) {
            self.wake(id);
        }
        self.mail.set(mail);
        self.take_letters(self.core.shared.inbox(self.index()).letters());
        self.answer();
    }

    /// Wakes and drops the foreign wakers that have piled up: code of the user, which runs here and
    /// not in the middle of something of ours.
    #[inline]
    fn tidy(&self) {
        if self.hooks.has_loose() {
            self.tidy_now();
        }
    }

    #[cold]
    fn tidy_now(&self) {
        self.ran.set(true);
        for loose in self.hooks.take_loose() {
            self.guarded(|| match loose {
                Loose::Wake(waker) => waker.wake(),
                Loose::Drop(waker) => drop(waker),
            });
        }
        // They may have read and written across schedulers, and this one may sleep now.
        self.flush_deferred();
    }

    /// Runs a batch; a panic ends the run in the name of the process that panicked.
    pub(super) fn guarded(&self, f: impl FnOnce()) {
        if let Err(message) = guard::caught(f) {
            self.fail(format!("panicked: {message}"));
        }
    }

    /// Ends the run for a reason that is no process's.
    pub(super) fn fail_without_process(&self, message: String) {
        self.core.shared.fail(None, message);
    }

    pub(super) fn fail(&self, message: String) {
        let process = self
            .running()
            .map(|(kind, index)| self.directory.process(kind, index));
        self.core.shared.fail(process, message);
    }

    fn turn(&self, waker: &Waker) {
        self.ran.set(self.ran.get() || !self.queue.is_empty());
        if self.timed {
            return self.timed_turn(waker);
        }
        let mut context = Context::from_waker(waker);
        // It changes in standstills only, which are between turns.
        if self.told.get() {
            self.batch(true, &mut context);
        } else {
            self.batch(false, &mut context);
        }
        self.core.end_batch();
    }

    #[inline(always)]
    fn batch(&self, told: bool, context: &mut Context<'_>) {
        for _ in 0..BATCH {
            let Some(id) = self.queue.pop() else { break };
            self.step(id, told, context);
        }
    }

    /// A turn of a process. `told` is whether waits have been told.
    #[inline(always)]
    pub(super) fn step(&self, id: u32, told: bool, context: &mut Context<'_>) {
        let slot = &self.tasks[id.wrapping_sub(self.base) as usize];
        let Some(header) = slot.get() else { return };
        self.core.current.store(id, Ordering::Relaxed);
        // SAFETY: what is in the table is alive.
        unsafe { header.as_ref() }.dequeue();
        if self.poll(slot, header, told, context) {
            self.pass_stop_on(told, context);
        }
        self.flush_deferred();
    }

    /// Polls the process of a slot; true if it has ended, and has left the table. `told` is whether
    /// waits have been told.
    #[inline(always)]
    fn poll(
        &self,
        slot: &Cell<Option<NonNull<TaskHeader>>>,
        header: NonNull<TaskHeader>,
        told: bool,
        context: &mut Context<'_>,
    ) -> bool {
        let told = match told {
            // SAFETY: what is in the table is alive.
            true => Some(self.tell_woken(unsafe { header.as_ref() })),
            false => None,
        };
        // SAFETY: as above, and no other process is being polled; one that has ended leaves the
        // table here.
        let ended = unsafe { task::poll(header, context) };
        if ended {
            slot.set(None);
            self.live.set(self.live.get() - 1);
            if let Some(told) = told {
                self.ended.borrow_mut().push(told);
            }
        }
        ended
    }

    /// A process that was perhaps told to wait has a turn. Its kind and index.
    #[inline(never)]
    fn tell_woken(&self, header: &TaskHeader) -> (u32, u32) {
        if header.take_told() {
            let id = self.core.current.load(Ordering::Relaxed);
            self.registry.take_told(id);
        }
        (header.kind(), header.index())
    }

    /// A process has ended: polls the one it asked to stop, and so on up a chain, before all others
    /// that can run. Else each of them would have a turn for each link of the chain, for nothing.
    ///
    /// The process stays marked as queued, and in the queue, where it is passed by or polled again.
    fn pass_stop_on(&self, told: bool, context: &mut Context<'_>) {
        loop {
            let id = self.asked.replace(NOBODY);
            let at = id.wrapping_sub(self.base);
            let Some(slot) = self.tasks.get(at as usize) else {
                return;
            };
            let Some(header) = slot.get() else { return };
            self.core.current.store(id, Ordering::Relaxed);
            if !self.poll(slot, header, told, context) {
                return;
            }
        }
    }

    /// Waits a little for mail, or for what it polls, where that is cheaper than to sleep;
    /// true if some came.
    fn spin(&self) -> bool {
        let shared = &*self.core.shared;
        let Some(patience) = shared.patience() else {
            return false;
        };
        let inbox = shared.inbox(self.index());
        let mut start = None;
        let patient = self.lookout.is_patient() || self.is_being_read();
        loop {
            for _ in 0..64 {
                if self.polled.poll(true, |id| self.wake(id))
                    || inbox.is_filled()
                    || shared.stopped()
                    || self.has_mail()
                {
                    if start.is_some() {
                        self.lookout.has_paid();
                    }
                    return true;
                }
                hint::spin_loop();
            }
            if !patient {
                self.lookout.was_in_vain();
                return false;
            }
            // Most waits are over by now, and to ask for the time takes as long as some of them.
            let start = *start.get_or_insert_with(Instant::now);
            let elapsed = start.elapsed();
            if elapsed > patience && (elapsed > COPYING || !self.is_being_read()) {
                self.lookout.was_in_vain();
                return false;
            }
        }
    }

    /// Whether another OS process is at reading a token in the memory of this one: it may answer soon.
    fn is_being_read(&self) -> bool {
        self.outside
            .as_ref()
            .is_some_and(|outside| outside.is_exposed())
    }

    /// Arms the waits that it polls: the scheduler is going to sleep. True if it need not.
    fn arm(&self) -> bool {
        self.polled.arm(|id| self.wake(id))
    }
}
