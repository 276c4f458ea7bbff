//! How a process begins to wait on a side of a point ([`Point::arm`], [`Scheduler::waiter`]), is
//! woken there ([`Scheduler::wake`]), and ceases to wait ([`Point::disarm`]). A wait names a
//! process, a hook, or a process of the run around this one.

use super::current;
use super::hooks::Behind;
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
    /// Somebody waits on a side, by a word. A hook that waited there before must have been freed.
    #[inline(always)]
    pub fn arm(&self, side: Side, word: u32) {
        self.set(side, word);
        self.touch();
    }

    /// Wakes whoever waits on a side.
    #[inline(always)]
    pub fn wake(&self, side: Side, how: impl Fn(u32)) {
        if let Some(id) = self.release(side) {
            self.touch();
            how(id);
        }
    }

    /// Nobody waits on a side any more: a future was dropped. Frees the hook of a foreign waker.
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

    /// A side leaves, for ever; `with` is kept in its word.
    #[inline]
    pub fn leave(&self, side: Side, with: u32) {
        self.disarm(side);
        self.set(side, GONE | with);
    }

    /// Wakes the other side, which waits for this one or for its leaving. If it does neither,
    /// `last` is told who waited there last: it may have been woken already and have had no turn
    /// since.
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

    #[inline(always)]
    fn touch(&self) {
        if self.mark() {
            wait_points::touch(self);
        }
    }
}

impl Scheduler {
    /// The waiter's id for who polls with this context: the process, or a hook for a foreign
    /// waker. `word` is the present word of the end that is going to wait: the hook of a foreign
    /// waker that waited there and was cancelled is used again, or freed.
    ///
    /// To clone a foreign waker is code of the user, which may do anything but use the end itself.
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

    /// Whether it is the context that processes of this scheduler are polled with.
    #[inline]
    pub(super) fn is_own(&self, context: &Context<'_>) -> bool {
        ptr::eq(context.waker().data(), (&raw const self.core).cast())
    }

    /// The same for a waker that is none of a process, but in the name of one.
    #[inline]
    pub fn foreign_waiter(&self, waker: &Waker, process: u32, word: u32, owner: Owner) -> u32 {
        if !self.hooks.has(word) {
            self.unhook(word, owner);
        }
        self.hooks.foreign(waker, word, process, owner)
    }

    /// Frees the hook of a foreign waker by the word of the end it waits at: the end leaves, or
    /// somebody else is going to wait there. Else the waker would be kept for ever. A word that was
    /// carried here from another run names a hook that may be another's by now, which is left
    /// alone.
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

    /// Has whoever polls with `context` woken when a member of a bundle, or its one member, is put
    /// on its list.
    #[inline]
    pub fn wait_for_bundle(&self, context: &Context<'_>, ready: &Rc<Ready>, only: Option<u32>) {
        let id = self.waiter(context, ready.word(), Ready::owner(ready));
        self.hooks.wait(ready, only, id);
    }

    #[cold]
    fn with_outer(&self, f: impl FnOnce(&Scheduler)) {
        // SAFETY: as in `with_run`.
        if let Some(outer) = unsafe { self.outer.get().as_ref() } {
            f(outer);
        }
    }

    /// Wakes a process or hook of this scheduler. Ids of nobody are ignored.
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

    /// As [`Scheduler::wake`], but the process runs next.
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

    /// Wakes what is no process of this scheduler: a hook, or somebody of the run around this one,
    /// with whom a process of this one shares a channel. Who is behind a hook is woken so.
    #[inline(never)]
    fn wake_other(&self, id: u32, how: fn(&Scheduler, u32)) {
        if id & HOOK != 0 && self.hooks.has(id) {
            if self.told.get()
                && let Some(Behind::Process(id)) = self.hooks.behind(id)
            {
                self.registry.take_told(id);
            }
            if let Some(id) = self.hooks.fire(id) {
                how(self, id);
            }
        } else if id & HOOK != 0 || id < self.base {
            self.with_outer(|outer| outer.wake(id));
        }
    }
}
