//! One scheduler: the processes of one OS-process-to-be, on one thread.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::hint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Waker};
use std::time::Instant;

use super::directory::Directory;
use super::doze::Rest;
use super::hooks::Hooks;
use super::queue::Queue;
use super::runner::{Shared, Verdict};
use super::task::{self, Header};
use super::waker::{self, Beacon};
use super::watch::{Debts, Watches};
use crate::kpn::block::Wait;
use crate::link::waiter::{HOOK, ID, NOBODY, is_hooked};
use crate::stats::Tally;

/// How many processes run before the inbox is looked at again.
const BATCH: usize = 64;

pub(crate) struct Scheduler {
    queue: Queue,
    tasks: Vec<Cell<Option<NonNull<Header>>>>,
    beacon: Beacon,
    /// The beacon of block rounds. That it is another sends every wait the slow way.
    probe: Beacon,
    live: Cell<usize>,
    probing: Cell<bool>,
    measured: bool,
    choices: Cell<usize>,
    /// A process that may have been asked to stop: a hint, for it is in the queue as well.
    asked: Cell<u32>,
    plain: bool,
    hooks: Hooks,
    watches: Watches,
    debts: Debts,
    /// The scheduler in one of whose processes this one runs.
    outer: Cell<*const Scheduler>,
    waits: RefCell<Vec<Wait>>,
    mail: Cell<Vec<u32>>,
    directory: Arc<dyn Directory>,
    tally: RefCell<Tally>,
}

thread_local! {
    static CURRENT: Cell<*const Scheduler> = const { Cell::new(ptr::null()) };
}

/// Calls `f` with the scheduler of this thread, if a run is on.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(&Scheduler) -> R) -> Option<R> {
    let scheduler = CURRENT.get();
    // SAFETY: `Scheduler::enter` keeps the pointer valid while it is set.
    unsafe { scheduler.as_ref() }.map(f)
}

/// Calls `f` with the scheduler whose process is going to wait.
#[inline(always)]
pub(crate) fn waiting<R>(f: impl FnOnce(&Scheduler) -> R) -> R {
    #[cold]
    #[inline(never)]
    fn outside() -> ! {
        panic!("a port can wait only inside of a process of a run");
    }
    with_current(f).unwrap_or_else(|| outside())
}

/// Wakes a process or hook of this thread's scheduler.
#[inline]
pub(crate) fn wake(id: u32) {
    with_current(|scheduler| scheduler.wake(id));
}

/// Wakes a process or hook of this thread's scheduler, to run next.
#[inline]
pub(crate) fn wake_next(id: u32) {
    with_current(|scheduler| scheduler.wake_next(id));
}

/// Wakes a process or hook of this thread's scheduler because a reader has left.
pub(crate) fn wake_stopped(id: u32) {
    with_current(|scheduler| {
        scheduler.wake(id);
        if scheduler.plain && id & HOOK == 0 {
            scheduler.asked.set(id);
        }
    });
}

/// An end of a channel between schedulers goes: no scheduler of this thread is to look at it.
pub(crate) fn forget(end: *const ()) {
    let mut scheduler = CURRENT.get();
    // SAFETY: `Scheduler::enter` keeps the pointer valid while it is set, and the outer ones have
    // not been left before the inner.
    while let Some(this) = unsafe { scheduler.as_ref() } {
        this.watches.forget(end);
        this.debts.forget(end);
        scheduler = this.outer.get();
    }
}

/// The process whose turn it is has to settle something at an end before its turn ends.
///
/// # Safety
/// As for [`Debts::owe`]; [`forget`] does the forgetting.
#[inline]
pub(crate) unsafe fn owe(way: usize, end: *const (), settle: unsafe fn(*const ())) {
    // SAFETY: the caller's promise.
    with_current(|scheduler| unsafe { scheduler.debts.owe(way, end, settle) });
}

/// The id of the process that polls with this context, if it is one of this thread, polls by
/// itself and not through a foreign combinator, and this is no block round.
#[inline(always)]
pub(crate) fn plain_waiter(context: &Context<'_>) -> Option<u32> {
    let scheduler = CURRENT.get();
    // SAFETY: `Scheduler::enter` keeps the pointer valid while it is set.
    let beacon = unsafe { &raw const scheduler.as_ref()?.beacon };
    // In a block round the waker is that of another beacon.
    if !ptr::eq(context.waker().data(), beacon.cast()) {
        return None;
    }
    // SAFETY: as above.
    Some(unsafe { (*beacon).current.load(Ordering::Relaxed) })
}

/// Wakes a process of a scheduler of any thread.
pub(crate) fn wake_at(home: u32, id: u32) {
    with_current(|scheduler| {
        scheduler.tally.borrow_mut().sent += 1;
        scheduler.beacon.shared.send(home, id);
    });
}

/// Wakes the process if the beacon is that of this thread's scheduler.
pub(crate) fn wake_if_here(beacon: &Beacon, id: u32) -> bool {
    with_current(|scheduler| {
        let here = scheduler.is_own(beacon);
        if here {
            scheduler.wake(id);
        }
        here
    })
    .unwrap_or(false)
}

impl Scheduler {
    /// A scheduler with room for `processes`, all still to be given by [`Scheduler::put`].
    pub(crate) fn new(
        shared: &Arc<Shared>,
        index: usize,
        processes: usize,
        shuffle: Option<u64>,
        tally: Tally,
    ) -> Self {
        let beacon = || Beacon {
            shared: Arc::clone(shared),
            scheduler: index as u32,
            current: AtomicU32::new(NOBODY),
        };
        Scheduler {
            queue: Queue::new(processes, shuffle),
            tasks: vec![Cell::new(None); processes],
            beacon: beacon(),
            probe: beacon(),
            live: Cell::new(0),
            probing: Cell::new(false),
            measured: tally.measured,
            choices: Cell::new(0),
            asked: Cell::new(NOBODY),
            plain: shuffle.is_none() && !tally.measured,
            hooks: Hooks::default(),
            watches: Watches::new(),
            debts: Debts::new(),
            outer: Cell::new(ptr::null()),
            waits: RefCell::default(),
            mail: Cell::default(),
            directory: Arc::clone(&shared.directory),
            tally: RefCell::new(tally),
        }
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
        with_current(|outer| outer.debts.settle());
        let _leave = Leave(CURRENT.replace(self));
        self.outer.set(_leave.0);
        f()
    }

    /// Whether a beacon is one of this scheduler's two.
    fn is_own(&self, beacon: *const Beacon) -> bool {
        ptr::eq(beacon, &raw const self.beacon) || ptr::eq(beacon, &raw const self.probe)
    }

    /// Gives the scheduler a process, ready to run.
    pub(crate) fn put(&self, id: usize, header: NonNull<Header>) {
        self.tasks[id].set(Some(header));
        self.live.set(self.live.get() + 1);
        self.wake(id as u32);
    }

    pub(crate) fn index(&self) -> usize {
        self.beacon.scheduler as usize
    }

    pub(crate) fn schedulers(&self) -> usize {
        self.beacon.shared.schedulers()
    }

    pub(crate) fn directory(&self) -> &dyn Directory {
        &*self.directory
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// The number of the run, by which a port knows whether it has moved to another.
    pub(crate) fn run(&self) -> u64 {
        self.beacon.shared.run
    }

    pub(crate) fn tally(&self) -> &RefCell<Tally> {
        &self.tally
    }

    /// A number that goes up with each call, for those who want to take turns.
    pub(crate) fn turn_of_choice(&self) -> usize {
        self.choices.replace(self.choices.get().wrapping_add(1))
    }

    /// The waiter's id for who polls with this context: the process, or a hook for a foreign
    /// waker. `word` is the present word of the end that is going to wait: the hook of a foreign
    /// waker that waited there and was cancelled is used again, or freed.
    pub(crate) fn waiter(&self, context: &Context<'_>, word: u32) -> u32 {
        if self.is_own(context.waker().data().cast()) {
            self.unhook(word);
            self.beacon.current.load(Ordering::Relaxed)
        } else {
            self.hooks.foreign(context.waker(), word)
        }
    }

    /// Frees the hook of a foreign waker by the word of the end it waits at: the end leaves, or
    /// somebody else is going to wait there. Else the waker would be kept for ever, and the run
    /// with it.
    pub(crate) fn unhook(&self, word: u32) {
        if is_hooked(word) {
            self.hooks.remove_foreign(word & ID);
        }
    }

    fn header(&self, id: u32) -> Option<&Header> {
        let header = self.tasks.get(id as usize)?.get()?;
        // SAFETY: a task leaves the table before its memory goes.
        Some(unsafe { &*header.as_ptr() })
    }

    /// Kind and index of the process being polled.
    pub(crate) fn running(&self) -> Option<(u32, u32)> {
        let header = self.header(self.beacon.current.load(Ordering::Relaxed))?;
        Some((header.kind(), header.index()))
    }

    /// Wakes a process or hook of this scheduler. Ids of nobody are ignored.
    #[inline]
    pub(crate) fn wake(&self, id: u32) {
        if id & HOOK != 0 {
            return self.wake_hook(id);
        }
        if self.header(id).is_some_and(Header::enqueue) {
            self.queue.push(id);
        }
    }

    /// As [`Scheduler::wake`], but the process runs next.
    #[inline]
    fn wake_next(&self, id: u32) {
        if id & HOOK != 0 {
            return self.wake_hook(id);
        }
        if self.header(id).is_some_and(Header::enqueue) {
            self.queue.push_next(id);
        }
    }

    #[cold]
    fn wake_hook(&self, id: u32) {
        if let Some(id) = self.hooks.fire(id) {
            self.wake(id);
        }
    }

    /// The waits that this scheduler looks after.
    pub(crate) fn watches(&self) -> &Watches {
        &self.watches
    }

    /// Whether this is a block round, in which whoever waits has to call [`Scheduler::note`].
    #[inline]
    pub(crate) fn probing(&self) -> bool {
        self.probing.get()
    }

    /// Notes what the process being polled waits for.
    pub(crate) fn note(&self, mut wait: Wait) {
        wait.scheduler = self.beacon.scheduler;
        wait.task = self.beacon.current.load(Ordering::Relaxed);
        self.waits.borrow_mut().push(wait);
    }

    /// A scheduler's life: `build` gives it its processes, they run until the whole run ends, and
    /// what is left of them is dropped. Returns what was counted.
    pub(crate) fn live(&self, build: impl FnOnce()) -> Tally {
        self.enter(|| {
            self.guarded(build);
            self.work();
            self.clear();
        });
        self.tally.take()
    }

    /// Runs until the whole run ends.
    fn work(&self) {
        // SAFETY: the beacon lives as long as `self`, longer than the waker.
        let waker = unsafe { waker::waker(&self.beacon) };
        let shared = &*self.beacon.shared;
        let inbox = shared.inbox(self.index());
        while !shared.stopped() {
            if inbox.is_filled() {
                self.take_mail();
            }
            self.watches.look(false, |id| self.wake(id));
            self.guarded(|| self.turn(&waker));
            if !self.queue.is_empty() || inbox.is_filled() || self.spin() || self.arm() {
                continue;
            }
            self.tally.borrow_mut().sleeps += 1;
            if shared.sleep(self.index()) == Rest::Everyone && matches!(self.round(), Verdict::End)
            {
                return;
            }
        }
    }

    /// Drops every process that is left.
    fn clear(&self) {
        for (id, task) in self.tasks.iter().enumerate() {
            let Some(header) = task.get() else { continue };
            self.beacon.current.store(id as u32, Ordering::Relaxed);
            // SAFETY: what is in the table is alive. If a destructor panics, the memory is still
            // there, and the second call frees it.
            let discard = || unsafe { task::discard(header) };
            if catch_unwind(AssertUnwindSafe(discard)).is_err() {
                discard();
            }
            task.set(None);
        }
        self.beacon.current.store(NOBODY, Ordering::Relaxed);
    }

    fn take_mail(&self) {
        let mut mail = self.mail.take();
        self.beacon.shared.inbox(self.index()).drain(&mut mail);
        for id in mail.drain(..) {
            self.wake(id);
        }
        self.mail.set(mail);
    }

    /// Runs a batch; a panic ends the run in the name of the process that panicked.
    fn guarded(&self, f: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            self.fail(format!("panicked: {}", text.unwrap_or("(no message)")));
        }
    }

    fn fail(&self, message: String) {
        let process = self
            .running()
            .map(|(kind, index)| self.directory.process(kind, index));
        self.beacon.shared.fail(process, message);
    }

    fn turn(&self, waker: &Waker) {
        let mut context = Context::from_waker(waker);
        if self.measured {
            let mut clock = Instant::now();
            for _ in 0..BATCH {
                let Some(id) = self.queue.pop() else { break };
                let who = self
                    .header(id)
                    .map(|header| (header.kind(), header.index()));
                self.step(id, &mut context);
                let now = Instant::now();
                self.tally.borrow_mut().poll(id, who, now - clock);
                clock = now;
            }
        } else {
            for _ in 0..BATCH {
                let Some(id) = self.queue.pop() else { break };
                self.step(id, &mut context);
            }
        }
        self.beacon.current.store(NOBODY, Ordering::Relaxed);
        self.debts.settle();
    }

    #[inline]
    fn step(&self, id: u32, context: &mut Context<'_>) {
        let slot = &self.tasks[id as usize];
        let Some(header) = slot.get() else { return };
        self.beacon.current.store(id, Ordering::Relaxed);
        // SAFETY: what is in the table is alive.
        unsafe { header.as_ref() }.dequeue();
        // SAFETY: as above; when a step ends the process, it leaves the table here.
        if unsafe { task::poll(header, context) } {
            slot.set(None);
            self.live.set(self.live.get() - 1);
            self.pass_stop_on(context);
        }
    }

    /// A process has ended: polls the one it asked to stop, and so on up a chain, before all others
    /// that can run. Else each of them would have a turn for each link of the chain, for nothing.
    ///
    /// The process stays marked as queued, and in the queue, where it is passed by or polled again.
    fn pass_stop_on(&self, context: &mut Context<'_>) {
        loop {
            let id = self.asked.replace(NOBODY);
            let Some(slot) = self.tasks.get(id as usize).filter(|_| !self.probing()) else {
                return;
            };
            let Some(header) = slot.get() else { return };
            self.beacon.current.store(id, Ordering::Relaxed);
            // SAFETY: what is in the table is alive; no other process is being polled.
            if !unsafe { task::poll(header, context) } {
                return;
            }
            slot.set(None);
            self.live.set(self.live.get() - 1);
        }
    }

    /// Waits a little for mail, or for what is looked after, where that is cheaper than to sleep;
    /// true if some came.
    fn spin(&self) -> bool {
        let shared = &*self.beacon.shared;
        let Some(patience) = shared.patience() else {
            return false;
        };
        let inbox = shared.inbox(self.index());
        let mut start = None;
        loop {
            for _ in 0..64 {
                if self.watches.look(true, |id| self.wake(id))
                    || inbox.is_filled()
                    || shared.stopped()
                {
                    return true;
                }
                hint::spin_loop();
            }
            // Most waits are over by now, and to ask for the time takes as long as some of them.
            let start = *start.get_or_insert_with(Instant::now);
            if start.elapsed() > patience {
                return false;
            }
        }
    }

    /// Arms what was looked after: the scheduler is going to sleep. True if it need not.
    fn arm(&self) -> bool {
        self.watches.arm(|id| self.wake(id))
    }

    /// The block round: everyone slept. Polls each process once more to hear what it waits for,
    /// and decides with the other schedulers what to do.
    #[cold]
    fn round(&self) -> Verdict {
        // SAFETY: the beacon lives as long as `self`, longer than the waker.
        let waker = unsafe { waker::waker(&self.probe) };
        let mut context = Context::from_waker(&waker);
        self.probing.set(true);
        self.guarded(|| {
            for id in 0..self.tasks.len() as u32 {
                let before = self.waits.borrow().len();
                let Some((kind, index)) = self.header(id).map(|h| (h.kind(), h.index())) else {
                    continue;
                };
                self.probe.current.store(id, Ordering::Relaxed);
                self.step(id, &mut context);
                let rank = self.directory.rank(kind, index);
                if self.header(id).is_some() && self.waits.borrow().len() == before {
                    self.note(Wait::unknown());
                }
                for wait in &mut self.waits.borrow_mut()[before..] {
                    wait.rank = rank;
                }
            }
        });
        self.probing.set(false);
        self.debts.settle();
        self.beacon.current.store(NOBODY, Ordering::Relaxed);
        let moved = !self.queue.is_empty();
        self.beacon
            .shared
            .meet(self.live.get(), moved, self.waits.take())
    }
}

/// Ends the run in the name of a process of this thread, for an error it returned.
#[cold]
pub(crate) fn failed(kind: u32, index: u32, error: &dyn Error) {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(": ");
        message.push_str(&error.to_string());
        cause = error.source();
    }
    with_current(|scheduler| {
        let process = scheduler.directory.process(kind, index);
        scheduler.beacon.shared.fail(Some(process), message);
    });
}
