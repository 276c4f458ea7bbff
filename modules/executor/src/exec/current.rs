//! Access to the scheduler of this thread, for ports and wakers.

use super::deferred::OUTSIDE;
use super::report::ProcessInfo;
use super::scheduler::FirstIds;
use super::scheduler::MOST;
use super::scheduler::Scheduler;
use super::scheduler::WakerCore;
use super::task::TaskHeader;
use super::upper_layer::UpperLayer;
use super::user_code::uninterrupted;
use super::wait_points::Registry;
use crate::link::waiter::HOOK;
use crate::link::waiter::NO_ID;
use std::any::Any;
use std::cell::Cell;
use std::error::Error;
use std::ptr;
use std::rc::Rc;
use std::task::Context;

/// Maximum number of causes of an error that are reported.
const CAUSES: usize = 32;

thread_local! {
    pub(super) static CURRENT: Cell<*const Scheduler> = const { Cell::new(ptr::null()) };
}

/// Calls `f` with the scheduler of this thread. Returns `None` outside of a run.
#[inline(always)]
pub fn with_current<R>(f: impl FnOnce(&Scheduler) -> R) -> Option<R> {
    let scheduler = CURRENT.get();
    // SAFETY: `Scheduler::enter` keeps the pointer valid while it is set.
    unsafe { scheduler.as_ref() }.map(f)
}

/// Returns the first ids for a scheduler that is created now. A nested run continues the ids of the
/// run around it. Outside of a run, ids begin at 0.
#[inline]
pub fn first_ids() -> FirstIds {
    with_current(Scheduler::next_ids).unwrap_or_default()
}

/// Returns the maximum number of processes of a scheduler that is created now.
#[inline]
pub fn room() -> usize {
    (MOST - first_ids().process) as usize
}

/// Calls `f` with the scheduler of this thread, for the process that is going to wait, and returns
/// the result of `f`.
///
/// # Panics
/// Panics if it is called outside of a run.
#[inline(always)]
pub fn waiting<R>(f: impl FnOnce(&Scheduler) -> R) -> R {
    #[cold]
    #[inline(never)]
    fn no_process() -> ! {
        panic!("a port was awaited outside a process of a run");
    }
    with_current(f).unwrap_or_else(|| no_process())
}

/// Returns the id of the process that is being polled on this thread. Returns [`NO_ID`] if no
/// process is being polled, also outside of a run.
#[inline]
pub fn running() -> u32 {
    with_current(|scheduler| scheduler.core.running.process()).unwrap_or(NO_ID)
}

/// Returns the name, rank and position of the process that is being polled on this thread. Returns
/// `None` if no process is being polled, also outside of a run.
#[inline]
pub fn running_process() -> Option<ProcessInfo> {
    let process = |scheduler: &Scheduler| {
        let (kind, index) = scheduler.running()?;
        Some(scheduler.directory.process(kind, index))
    };
    with_current(process).flatten()
}

/// Wakes a process or hook of the scheduler of this thread. Has no effect outside of a run.
#[inline]
pub fn wake(id: u32) {
    with_current(|scheduler| scheduler.wake(id));
}

/// Wakes a process or hook of the scheduler of this thread. The process is polled next, unless the
/// order is shuffled or it has been woken before. Has no effect outside of a run.
#[inline]
pub fn wake_next(id: u32) {
    with_current(|scheduler| scheduler.wake_next(id));
}

/// Wakes a process or hook of the scheduler of this thread because a reader has left. If `id` is a
/// process, it is polled before all others as soon as a process has ended, unless the order is
/// shuffled. Has no effect outside of a run.
#[inline]
pub fn wake_stopped(id: u32) {
    with_current(|scheduler| {
        scheduler.wake(id);
        if scheduler.stops_first && id & HOOK == 0 {
            scheduler.asked.set(id);
        }
    });
}

/// Requests an early poll of the process that last waited to write to a reader that has left. The
/// process is then polled before all others as soon as a process has ended. This has an effect only
/// if `id` has been woken and not been polled since, and the order is not shuffled.
///
/// Otherwise a chain of processes that end one after the other would need a poll of all other
/// processes for each link.
#[inline]
pub fn stopped_soon(id: u32) {
    with_current(|scheduler| {
        if scheduler.stops_first && scheduler.header(id).is_some_and(TaskHeader::is_queued) {
            scheduler.asked.set(id);
        }
    });
}

/// Calls `f` with the scheduler of the run with number `run` on this thread: the current run, or
/// one around it. Returns the result of `f`, or `None` if the thread is not in this run.
#[inline]
pub fn with_run<R>(run: u64, f: impl FnOnce(&Scheduler) -> R) -> Option<R> {
    let mut scheduler = CURRENT.get();
    // SAFETY: `Scheduler::enter` keeps the pointer valid while it is set, and the outer runs end
    // after the inner ones.
    while let Some(this) = unsafe { scheduler.as_ref() } {
        if this.run() == run {
            return Some(f(this));
        }
        scheduler = this.outer.get();
    }
    None
}

/// Sends the waiting frames of the runs around the run of `scheduler`, because their schedulers do
/// not run now. Sends only as many as there is space for. Returns true if no frame is left.
#[inline]
pub fn flush_around(scheduler: &Scheduler) -> bool {
    let mut all = true;
    let mut around = scheduler.outer.get();
    // SAFETY: as in `with_run`.
    while let Some(this) = unsafe { around.as_ref() } {
        all &= this.remote().is_none_or(|remote| remote.flush());
        around = this.outer.get();
    }
    all
}

/// Exchanges frames with other OS processes on behalf of the runs around the run of `scheduler`. It
/// does so for a run that has unsent frames because a link is full, or that keeps values until they
/// have been sent or read.
///
/// It also receives, because the other OS process may be waiting for space in the same way. The
/// values may contain ends of channels for which a process of this scheduler waits.
///
/// Returns true if such a run exists. A run that is in the middle of an exchange does not count,
/// because it receives no frame before the user code that it has called returns.
pub(super) fn exchange_around(scheduler: &Scheduler) -> bool {
    let mut any = false;
    let mut around = scheduler.outer.get();
    // SAFETY: as in `with_run`.
    while let Some(this) = unsafe { around.as_ref() } {
        if let Some(remote) = this.remote()
            && !remote.is_exchanging.get()
            && (remote.keeps_values() || !remote.flush())
        {
            this.exchange_with(remote);
            any = true;
        }
        around = this.outer.get();
    }
    any
}

/// Removes an end of a channel between schedulers from all schedulers of this thread, because the
/// end is dropped.
#[inline]
pub fn forget(end: *const ()) {
    let mut scheduler = CURRENT.get();
    // SAFETY: as in `with_run`.
    while let Some(this) = unsafe { scheduler.as_ref() } {
        this.polled.forget(end);
        this.deferred.forget(end);
        scheduler = this.outer.get();
    }
}

/// Returns the id of the process that polls with this context, or the hook of its task. Returns
/// `None` outside of a run. Also returns `None` if the context has a foreign waker, such as the
/// waker of a combinator, or belongs to another scheduler.
#[inline(always)]
pub fn plain_waiter(context: &Context<'_>) -> Option<u32> {
    let scheduler = CURRENT.get();
    // SAFETY: `Scheduler::enter` keeps the pointer valid while it is set.
    let core = unsafe { &raw const scheduler.as_ref()?.core };
    if !ptr::eq(context.waker().data(), core.cast()) {
        return None;
    }
    // SAFETY: as above.
    Some(unsafe { (*core).running.id() })
}

/// Records the number of tokens that the channel `number` of this thread carried, if the run is
/// measured. Called when the channel is freed. Has no effect outside of a run.
#[inline]
pub fn channel_is_gone(number: u32, tokens: u64) {
    with_current(|scheduler| {
        if scheduler.measured {
            let mut statistics = scheduler.statistics.borrow_mut();
            statistics.channel(number, tokens, None);
        }
    });
}

/// Records that a reader left without reading all tokens that were written or were to be written.
/// `number` returns the number of its channel, or `None` to record no channel. Has no effect
/// outside of a run, or after the run has stopped, because then all processes leave.
#[inline]
pub fn left_early(number: impl FnOnce(&Registry) -> Option<u32>) {
    with_current(|scheduler| {
        if !scheduler.core.shared.stopped()
            && let Some(number) = number(&scheduler.registry)
        {
            scheduler.statistics.borrow_mut().left_early(number);
        }
    });
}

/// Defers the closing of an end of a channel of a run until the current poll has ended, or until
/// all processes are created. Returns false if neither is in progress in that run, if that run has
/// stopped, or if a nested run is in progress. Then the caller must close the end.
///
/// # Safety
/// Calling `close(end)` once must be sound, on this thread, at any time in the life of its
/// scheduler.
#[inline]
pub unsafe fn close_later(run: u64, end: *const (), close: unsafe fn(*const ())) -> bool {
    with_current(|scheduler| {
        // Does not defer in a nested run, because that may wait for the effect of the closing.
        //
        // SAFETY: the caller guarantees the contract of `Scheduler::close_later`.
        scheduler.run() == run && unsafe { scheduler.close_later(end, close) }
    })
    .unwrap_or(false)
}

/// Drops tokens that a reader has left unread, at once or at the latest after the current poll. A
/// panic of a destructor that runs at once is passed on to the caller.
///
/// Tokens of channels borrow nothing, because ends exist for `'static` types only. Therefore they
/// may be dropped later.
#[inline]
pub fn drop_tokens<T>(tokens: Vec<T>) {
    // Reference counted, because a fiber that waits in a destructor may outlive the run.
    match with_current(|scheduler| Rc::clone(&scheduler.token_drops)) {
        Some(leaving) => leaving.drop_or_queue(tokens, || {
            with_current(|scheduler| scheduler.leaves()).flatten()
        }),
        // Without a scheduler, only the drops in progress empty the queue. They must nest, so a
        // wait is not allowed in them.
        None => OUTSIDE.with(|leaving| uninterrupted(|| leaving.drop_or_queue(tokens, || None))),
    }
}

/// Counts a wake-up sent to another scheduler. Has no effect outside of a run.
#[inline]
pub fn count_sent() {
    with_current(|scheduler| scheduler.statistics.borrow_mut().sent += 1);
}

/// Wakes the process or hook `id` if `core` belongs to the scheduler of this thread. Returns true
/// if `core` belongs to it.
#[inline]
pub(crate) fn wake_if_here(core: &WakerCore, id: u32) -> bool {
    with_current(|scheduler| {
        let here = ptr::eq(core, &raw const scheduler.core);
        if here {
            scheduler.wake(id);
        }
        here
    })
    .unwrap_or(false)
}

/// Ends the run because the process `index` of a kind, on this thread, returned an error. The
/// message contains up to 32 causes of the error. Has no effect outside of a run.
#[cold]
pub fn failed(kind: u32, index: u32, error: &dyn Error) {
    let mut message = error.to_string();
    let causes = std::iter::successors(error.source(), |&error| error.source());
    // The chain may be endless, because an error may be among its own causes.
    for error in causes.take(CAUSES) {
        message.push_str(": ");
        message.push_str(&error.to_string());
    }
    with_current(|scheduler| {
        let process = scheduler.directory.process(kind, index);
        scheduler.core.shared.fail(Some(process), message);
    });
}

/// Returns the upper layer of the scheduler of this thread, and the rank of the process that is
/// running. Creates the layer if necessary. Returns `None` outside of a run, if no process is
/// running, if the run has no such layer, or if the layer has another type.
pub fn upper_layer<F: UpperLayer>() -> Option<(Rc<F>, u32)> {
    let found = with_current(|scheduler| {
        let (kind, index) = scheduler.running()?;
        let layer = Rc::clone(scheduler.layer()?) as Rc<dyn Any>;
        let rank = scheduler.directory().rank(kind, index);
        Some((layer.downcast().ok()?, rank))
    });
    found.flatten()
}
