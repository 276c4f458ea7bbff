//! The begin and the end of a wait at a side of a point. A process begins to wait with
//! [`Scheduler::waiter`] and [`Point::arm`]. [`Scheduler::wake`] wakes it, and [`Point::disarm`]
//! ends a wait without a wake-up. A wait names a process, a hook, or a process of the outer run.

use super::current;
use super::hooks::HookWaiter;
use super::hooks::Owner;
use super::hooks::Ready;
use super::hooks::Side;
use super::scheduler::Scheduler;
use super::wait_points;
use super::wait_points::Point;
use crate::link::waiter::ARMED;
use crate::link::waiter::GONE;
use crate::link::waiter::HOOK;
use crate::link::waiter::ID;
use crate::link::waiter::STOP;
use crate::link::waiter::is_hooked;
use crate::link::waiter::may_be_hooked;
use crate::link::waiter::waits;
use std::ptr;
use std::rc::Rc;
use std::task::Context;
use std::task::Waker;

impl Point {
    /// Sets the state word of the waiter at a side to `word`, and marks the point as changed. The
    /// hook of an earlier waiter at this side must have been freed.
    #[inline(always)]
    pub fn arm(&self, side: Side, word: u32) {
        self.set(side, word);
        self.touch();
    }

    /// Ends the wait at a side, and calls `how` with the id of the waiter, to wake it. Has no
    /// effect if the word of the side is not armed: no process waits there, or one that waits only
    /// for the other side to leave.
    #[inline(always)]
    pub fn wake(&self, side: Side, how: impl Fn(u32)) {
        if let Some(id) = self.release(side) {
            self.touch();
            how(id);
        }
    }

    /// Ends a wait at a side because its future was dropped. Frees the hook of a foreign waker. Has
    /// no effect if no process waits there.
    #[inline(always)]
    pub fn disarm(&self, side: Side) {
        let word = self.word(side);
        if waits(word) {
            self.set(side, word & !(ARMED | STOP));
            self.touch();
            if may_be_hooked(word) {
                self.unhook(side, word);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn unhook(&self, side: Side, word: u32) {
        current::with_current(|scheduler| scheduler.unhook(word, self.owner(side)));
    }

    /// Ends a wait at a side and marks the side as gone. Its word is then GONE and the bits of
    /// `with`.
    #[inline]
    pub fn leave(&self, side: Side, with: u32) {
        self.disarm(side);
        self.set(side, GONE | with);
    }

    /// Ends a wait at `side`, also one for the opposite side to leave, and calls `how` with the id
    /// of the waiter. If none waits, and `side` has not left, calls `last` with the id of the last
    /// waiter at `side`. That process may have been woken and not been polled since. The id is
    /// `NO_ID` if none has waited there. `last` is not called for a hook.
    #[inline]
    pub fn wake_left(&self, side: Side, how: impl Fn(u32), last: impl Fn(u32)) {
        let word = self.word(side);
        if word & (STOP | ARMED | GONE) == STOP {
            self.set(side, word & !STOP);
            self.touch();
            debug_assert!(word & HOOK == 0, "a hook that waits to be stopped is armed");
            how(word & ID);
        } else if let Some(id) = self.release(side) {
            self.touch();
            how(id);
        } else if word & (GONE | HOOK) == 0 {
            last(word & ID);
        }
    }

    /// Adds the point to the list of points whose words have changed, unless it is marked as being
    /// in the list. Marks it.
    #[inline(always)]
    fn touch(&self) {
        if self.mark() {
            wait_points::touch(self);
        }
    }
}

impl Scheduler {
    /// Returns the id to wake for a poll with this context: the process or the hook of its task, or
    /// a new hook for a foreign waker. `word` is the present word of the end that is going to wait,
    /// and `owner` identifies that word. If a wait there with a foreign waker was cancelled, its
    /// hook is reused or freed.
    ///
    /// Cloning a foreign waker runs user code, which may do anything except use this end. Panics if
    /// a hook is needed and all 2^28 - 1 indices are in use.
    #[inline]
    pub fn waiter(&self, context: &Context<'_>, word: u32, owner: Owner) -> u32 {
        if self.is_own(context) {
            let current = self.core.running.id();
            self.unhook(word, owner);
            current
        } else {
            let process = self.core.running.process();
            self.foreign_waiter(context.waker(), process, word, owner)
        }
    }

    /// Returns true if the context has the waker with which this scheduler polls its processes.
    /// Returns false for a foreign waker, and for the waker of another scheduler.
    #[inline]
    pub(super) fn is_own(&self, context: &Context<'_>) -> bool {
        ptr::eq(context.waker().data(), (&raw const self.core).cast())
    }

    /// Returns a hook for a foreign waker, in the name of a process. See [`Scheduler::waiter`] for
    /// `word`, `owner` and the panic.
    #[inline]
    pub fn foreign_waiter(&self, waker: &Waker, process: u32, word: u32, owner: Owner) -> u32 {
        if !self.hooks.has(word) {
            self.unhook(word, owner);
        }
        self.hooks.foreign(waker, word, process, owner)
    }

    /// Frees the hook of a foreign waker that the word of an end names. Must be called when the end
    /// is dropped or a new wait begins there. Otherwise the waker would be kept until the run ends.
    /// A word from another run may name a hook that has another owner by now. Such a hook is not
    /// changed. A hook that belongs to a run around this one is freed there.
    #[inline]
    pub fn unhook(&self, word: u32, owner: Owner) {
        if !is_hooked(word) {
            return;
        }
        if !self.hooks.has(word) {
            return self.with_outer(|outer| outer.unhook(word, owner));
        }
        self.hooks.remove_foreign(word & ID, owner);
    }

    /// Registers the process or task that polls with this context to be woken when a member of the
    /// bundle is put on the list. If `only` is given, only this member counts. Replaces an earlier
    /// wait for the bundle. Panics as [`Scheduler::waiter`] does.
    #[inline]
    pub fn wait_for_bundle(&self, context: &Context<'_>, ready: &Rc<Ready>, only: Option<u32>) {
        let id = self.waiter(context, ready.word(), Ready::owner(ready));
        self.hooks.wait(ready, only, id);
    }

    #[cold]
    /// Calls `f` with the scheduler of the outer run. Has no effect if there is none.
    fn with_outer(&self, f: impl FnOnce(&Scheduler)) {
        // SAFETY: as in `with_run`.
        if let Some(outer) = unsafe { self.outer.get().as_ref() } {
            f(outer);
        }
    }

    /// Wakes a process or hook of this scheduler: appends the process to the queue, unless it is
    /// queued. Passes the id of a hook or process of a run around this one to the scheduler of that
    /// run. Ignores other ids, such as `NO_ID`.
    #[inline]
    pub fn wake(&self, id: u32) {
        match self.header(id) {
            Some(header) => {
                if header.enqueue() {
                    self.queue.push(id);
                }
            }
            None => self.wake_other(id, Scheduler::wake),
        }
    }

    /// Wakes a process or hook like [`Scheduler::wake`], but the process is polled next, unless it
    /// is already queued. A process of a run around this one is woken as by [`Scheduler::wake`].
    #[inline]
    pub(super) fn wake_next(&self, id: u32) {
        match self.header(id) {
            Some(header) => {
                if header.enqueue() {
                    self.queue.push_next(id);
                }
            }
            None => self.wake_other(id, Scheduler::wake_next),
        }
    }

    /// Wakes a hook, or a process of a run around this one that shares a channel with a process of
    /// this run. If a process or task waits behind a hook of this scheduler, it is woken by `how`.
    /// A foreign waker is only released, to be woken later (`Hooks::take_released`). An id of a run
    /// around this one is passed to [`Scheduler::wake`] of that run. Other ids have no effect.
    #[inline(never)]
    fn wake_other(&self, id: u32, how: fn(&Scheduler, u32)) {
        if id & HOOK != 0 && self.hooks.has(id) {
            if self.reported.get()
                && let Some(HookWaiter::Process(id)) = self.hooks.waiter_of(id)
            {
                self.registry.take_reported(id);
            }
            if let Some(id) = self.hooks.fire(id) {
                how(self, id);
            }
        } else if id & HOOK != 0 || id < self.base {
            self.with_outer(|outer| outer.wake(id));
        }
    }
}
