//! The scheduler of this thread: how ports and wakers reach it.

use super::deferred::OUTSIDE;
use super::report::ProcessInfo;
use super::scheduler::FirstIds;
use super::scheduler::MOST;
use super::scheduler::Scheduler;
use super::scheduler::WakerCore;
use super::task::TaskHeader;
use super::upper_layer::Floor;
use super::user_code::uninterrupted;
use super::wait_points::Registry;
use crate::link::waiter::HOOK;
use crate::link::waiter::NOBODY;
use std::any::Any;
use std::cell::Cell;
use std::error::Error;
use std::ptr;
use std::rc::Rc;
use std::task::Context;

/// Most causes of an error that are told.
const CAUSES: usize = 32;

thread_local! {
    pub(super) static CURRENT: Cell<*const Scheduler> = const { Cell::new(ptr::null()) };
}

/// Calls `f` with the scheduler of this thread, if a run is on.
#[inline(always)]
pub fn with_current<R>(f: impl FnOnce(&Scheduler) -> R) -> Option<R> {
    let scheduler = CURRENT.get();
    // SAFETY: `Scheduler::enter` keeps the pointer valid while it is set.
    unsafe { scheduler.as_ref() }.map(f)
}

/// The first ids of a scheduler that is made now: a run within a process of another shares its ids.
#[inline]
pub fn first_ids() -> FirstIds {
    with_current(Scheduler::next_ids).unwrap_or_default()
}

/// How many processes there may be on a scheduler that is made now.
#[inline]
pub fn room() -> usize {
    (MOST - first_ids().process) as usize
}

/// Calls `f` with the scheduler whose process is going to wait.
#[inline(always)]
pub fn waiting<R>(f: impl FnOnce(&Scheduler) -> R) -> R {
    #[cold]
    #[inline(never)]
    fn outside() -> ! {
        panic!("a port was awaited outside a process of a run");
    }
    with_current(f).unwrap_or_else(|| outside())
}

/// The id of the process that is being polled on this thread; [`NOBODY`]: none is.
#[inline]
pub fn running() -> u32 {
    with_current(|scheduler| scheduler.core.running.process()).unwrap_or(NOBODY)
}

/// The process that is being polled on this thread, in words.
#[inline]
pub fn running_process() -> Option<ProcessInfo> {
    let process = |scheduler: &Scheduler| {
        let (kind, index) = scheduler.running()?;
        Some(scheduler.directory.process(kind, index))
    };
    with_current(process).flatten()
}

/// Wakes a process or hook of this thread's scheduler.
#[inline]
pub fn wake(id: u32) {
    with_current(|scheduler| scheduler.wake(id));
}

/// Wakes a process or hook of this thread's scheduler, to run next.
#[inline]
pub fn wake_next(id: u32) {
    with_current(|scheduler| scheduler.wake_next(id));
}

/// Wakes a process or hook of this thread's scheduler because a reader has left.
#[inline]
pub fn wake_stopped(id: u32) {
    with_current(|scheduler| {
        scheduler.wake(id);
        if scheduler.stops_first && id & HOOK == 0 {
            scheduler.asked.set(id);
        }
    });
}

/// A reader has left, and this process waited last to write to it: if it has been woken and is still to have its turn, that comes at once.
/// Else a chain of processes that end one after the other would stand still at each of them until all others have had theirs.
#[inline]
pub fn stopped_soon(id: u32) {
    with_current(|scheduler| {
        if scheduler.stops_first && scheduler.header(id).is_some_and(TaskHeader::is_queued) {
            scheduler.asked.set(id);
        }
    });
}

/// Calls `f` with the scheduler of a run that is on on this thread, perhaps around another.
#[inline]
pub fn with_run<R>(run: u64, f: impl FnOnce(&Scheduler) -> R) -> Option<R> {
    let mut scheduler = CURRENT.get();
    // SAFETY: `Scheduler::enter` keeps the pointer valid while it is set, and the outer ones have
    // not been left before the inner.
    while let Some(this) = unsafe { scheduler.as_ref() } {
        if this.run() == run {
            return Some(f(this));
        }
        scheduler = this.outer.get();
    }
    None
}

/// Sends what waits for other OS processes in the runs around that of a scheduler of this thread, which do not come to it
/// themselves. Whether nothing is left.
#[inline]
pub fn flush_around(scheduler: &Scheduler) -> bool {
    let mut all = true;
    let mut around = scheduler.outer.get();
    // SAFETY: as in `with_run`.
    while let Some(this) = unsafe { around.as_ref() } {
        all &= this.outside().is_none_or(|outside| outside.flush());
        around = this.outer.get();
    }
    all
}

/// Exchanges with other OS processes for the runs around that of a scheduler of this thread, if such a run has frames that are not
/// sent yet, because a ring is full, or keeps values until they have been sent or read. The other OS process may be waiting for room
/// in its ring in the same way, so this also receives. The values may have ends of channels that a process of this scheduler waits for.
///
/// Returns true if such a run exists. A run that is in the middle of an exchange does not count: it receives nothing before the
/// code of the user that it has called returns.
pub(super) fn exchange_around(scheduler: &Scheduler) -> bool {
    let mut any = false;
    let mut around = scheduler.outer.get();
    // SAFETY: as in `with_run`.
    while let Some(this) = unsafe { around.as_ref() } {
        if let Some(outside) = this.outside()
            && !outside.is_exchanging.get()
            && (outside.keeps_values() || !outside.flush())
        {
            this.exchange_with(outside);
            any = true;
        }
        around = this.outer.get();
    }
    any
}

/// An end of a channel between schedulers goes: no scheduler of this thread is to look at it.
#[inline]
pub fn forget(end: *const ()) {
    let mut scheduler = CURRENT.get();
    // SAFETY: `Scheduler::enter` keeps the pointer valid while it is set, and the outer ones have
    // not been left before the inner.
    while let Some(this) = unsafe { scheduler.as_ref() } {
        this.polled.forget(end);
        this.deferred.forget(end);
        scheduler = this.outer.get();
    }
}

/// The id of the process that polls with this context, or the hook of its task, if it is one of this thread, polls by
/// itself and not through a foreign combinator.
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

/// A channel of this thread is gone, through which so many tokens went.
#[inline]
pub fn channel_is_gone(number: u32, tokens: u64) {
    with_current(|scheduler| {
        if scheduler.measured {
            let mut tally = scheduler.tally.borrow_mut();
            tally.channel(number, tokens, None);
        }
    });
}

/// A reader has left without all that was written to it, or was to be; not where the run has ended, and everybody has to leave.
#[inline]
pub fn left_early(number: impl FnOnce(&Registry) -> Option<u32>) {
    with_current(|scheduler| {
        if !scheduler.core.shared.stopped()
            && let Some(number) = number(&scheduler.registry)
        {
            scheduler.tally.borrow_mut().left_early(number);
        }
    });
}

/// Has an end of a channel of a run closed when the turn of the process that is running is over, or all are made; false: nothing of that
/// is on in that run, and the caller closes it.
///
/// # Safety
/// `close` may be called with `end` once, by this thread, at any time in the life of its scheduler.
#[inline]
pub unsafe fn close_later(run: u64, end: *const (), close: unsafe fn(*const ())) -> bool {
    with_current(|scheduler| {
        // Not in a run within that one, which may wait for what the end's other side does then.
        // SAFETY: the caller's promise.
        scheduler.run() == run && unsafe { scheduler.close_later(end, close) }
    })
    .unwrap_or(false)
}

/// Drops tokens that a reader has left behind, now or at the latest after the turn.
///
/// Tokens of channels borrow nothing (ends are made for types that are `'static` only), so they may be dropped later.
#[inline]
pub fn drop_tokens<T>(tokens: Vec<T>) {
    // Counted: a fiber that waits in a destructor may outlive the run.
    match with_current(|scheduler| Rc::clone(&scheduler.leaving)) {
        Some(leaving) => leaving.drop_or_queue(tokens, || {
            with_current(|scheduler| scheduler.leaves()).flatten()
        }),
        // No scheduler empties the queue, so drops have to end in the order in which they began: nothing waits in them.
        None => OUTSIDE.with(|leaving| uninterrupted(|| leaving.drop_or_queue(tokens, || None))),
    }
}

/// Counts a wake-up sent to another scheduler.
#[inline]
pub fn count_sent() {
    with_current(|scheduler| scheduler.tally.borrow_mut().sent += 1);
}

/// Wakes the process if the core is that of this thread's scheduler.
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

/// Ends the run in the name of a process of this thread, for an error it returned.
#[cold]
pub fn failed(kind: u32, index: u32, error: &dyn Error) {
    let mut message = error.to_string();
    let causes = std::iter::successors(error.source(), |&error| error.source());
    // An error may be, or come back to, its own cause.
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
/// running. `None`: no process is running, or the layer has another type.
pub fn upper_layer<F: Floor>() -> Option<(Rc<F>, u32)> {
    let found = with_current(|scheduler| {
        let (kind, index) = scheduler.running()?;
        let floor = Rc::clone(scheduler.floor()?) as Rc<dyn Any>;
        let rank = scheduler.directory().rank(kind, index);
        Some((floor.downcast().ok()?, rank))
    });
    found.flatten()
}
