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
    /// Sets the word of a waiter at a side. The hook of an earlier waiter at this side must have
    /// been freed.
    #[inline(always)]
    pub fn arm(&self, side: Side, word: u32) {
        self.set(side, word);
        self.touch();
    }

    /// Calls `how` with the id of the waiter at a side, to wake it. Has no effect if there is none.
    #[inline(always)]
    pub fn wake(&self, side: Side, how: impl Fn(u32)) {
        if let Some(id) = self.release(side) {
            self.touch();
            how(id);
        }
    }

    /// Ends a wait at a side because its future was dropped. Frees the hook of a foreign waker.
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

    /// Ends a wait at a side and marks the side as gone. The bits of `with` are kept in its word.
    #[inline]
    pub fn leave(&self, side: Side, with: u32) {
        self.disarm(side);
        self.set(side, GONE | with);
    }

    /// Wakes the waiter at `side`, which waits for the opposite side or for its leaving: calls
    /// `how` with its id. If none waits, and the side has not left, calls `last` with the id of the
    /// last waiter at `side`. That process may have been woken and not been polled since. `last` is
    /// not called for a hook.
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

    /// Adds the point to the list of points whose words have changed, unless it is in the list.
    #[inline(always)]
    fn touch(&self) {
        if self.mark() {
            wait_points::touch(self);
        }
    }
}

impl Scheduler {
    /// Returns the id to wake for a poll with this context: the process, or a hook for a foreign
    /// waker. `word` is the present word of the end that is going to wait. If a wait there with a
    /// foreign waker was cancelled, its hook is reused or freed.
    ///
    /// Cloning a foreign waker runs user code, which may do anything except use this end.
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

    /// Returns true if this scheduler polls its processes with this context.
    #[inline]
    pub(super) fn is_own(&self, context: &Context<'_>) -> bool {
        ptr::eq(context.waker().data(), (&raw const self.core).cast())
    }

    /// Returns a hook for a foreign waker, in the name of a process. See [`Scheduler::waiter`] for
    /// `word`.
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
    /// changed.
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

    /// Registers the poller with this context to be woken when a member of the bundle is put on the
    /// list. If `only` is given, only this member counts.
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

    /// Wakes a process or hook of this scheduler. Ignores other ids, such as `NO_ID`.
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

    /// Wakes a process or hook like [`Scheduler::wake`], but the process is polled next.
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

    /// Wakes a hook, or a process of the outer run that shares a channel with a process of this
    /// run. The waiter behind a hook of this scheduler is woken by `how`.
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
