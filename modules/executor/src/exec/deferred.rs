//! The work that a poll leaves behind: deferred wake-ups, ends of channels to close, and tokens to
//! drop. `between_polls.rs` does it.
//!
//! Wake-ups: to ask whether the other side of a channel sleeps takes a fence, which costs more than
//! a token. So a process that takes or puts many tokens leaves that to the end of its poll. A
//! wake-up may be late by a poll, but is never lost (`link/spsc.rs` says why). One fence serves all
//! of them.
//!
//! Ends of channels between schedulers: a process that fails drops its ports first, and only then
//! is it known that it has failed. A process on another thread that saw them closed before might
//! fail because of that, and be reported in its place. So the other side sees an end closed when
//! the poll is over, and, if the process failed, after the run was stopped.
//!
//! Tokens that a reader leaves unread: to drop them is code of the user. Nothing of the channel is
//! left to be done by then, so a destructor may panic, wait on the stack of a fiber, or use any
//! channel. A token may hold a port whose tokens hold ports in turn. To drop each within the one
//! before would take a stack as deep as that chain. Therefore tokens beyond a depth are queued.
//! They are dropped by the drop of tokens of the same run that ends first, or by the scheduler
//! after the poll. The second is needed because the drops that are counted may be those of fibers
//! that wait in a destructor for a queued token. Outside of runs a destructor of a token cannot
//! wait.

use crate::finally::Finally;
use crate::sync::{Ordering, fence};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem::{self, ManuallyDrop};
use std::ptr;

/// What a scheduler has yet to do at an end: see `link/spsc.rs` about late wake-ups. Field by
/// field, as a polled wait.
struct DeferredWake {
    end: Cell<*const ()>,
    /// Asks behind a fence.
    tell: Cell<unsafe fn(*const ())>,
}

/// The wake-ups that the process whose turn it is has deferred: for the channel it took from last,
/// and for the one it put into last.
pub struct DeferredWakes {
    some: Cell<bool>,
    wakes: [DeferredWake; 2],
}

thread_local! {
    /// Those of the scheduler of this thread.
    static CURRENT: Cell<*const DeferredWakes> = const { Cell::new(ptr::null()) };
}

/// Notes that the scheduler of this thread, if a run is on, has something to be done elsewhere.
#[inline(always)]
pub(super) fn note() {
    // SAFETY: `DeferredWakes::enter` keeps the pointer valid while it is set.
    if let Some(deferred) = unsafe { CURRENT.get().as_ref() } {
        deferred.note();
    }
}

impl DeferredWake {
    const fn new() -> Self {
        DeferredWake {
            end: Cell::new(ptr::null()),
            tell: Cell::new(|_| {}),
        }
    }

    /// Asks, if something is noted, and there is a fence behind what was done at the end.
    fn tell(&self) {
        let end = self.end.replace(ptr::null());
        if !end.is_null() {
            // SAFETY: what is noted has not gone, and the function is its own.
            unsafe { (self.tell.get())(end) };
        }
    }
}

impl DeferredWakes {
    pub const fn new() -> Self {
        DeferredWakes {
            some: Cell::new(false),
            wakes: [const { DeferredWake::new() }; 2],
        }
    }

    /// Makes these the ones of this thread while `f` runs.
    #[inline]
    pub(super) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Leave(*const DeferredWakes);
        impl Drop for Leave {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _leave = Leave(CURRENT.replace(self));
        f()
    }

    /// Defers asking whom to wake at an end, and asks at the one before it if that was another.
    ///
    /// # Safety
    /// The function has to fit the end, and [`DeferredWakes::forget`] has to be called before it
    /// goes.
    #[inline]
    pub unsafe fn defer(&self, way: usize, end: *const (), tell: unsafe fn(*const ())) {
        let wake = &self.wakes[way];
        if ptr::eq(wake.end.get(), end) {
            return;
        }
        self.some.set(true);
        if !wake.end.get().is_null() {
            fence(Ordering::SeqCst);
            wake.tell();
        }
        wake.end.set(end);
        wake.tell.set(tell);
    }

    /// Notes that there is something to be done elsewhere.
    #[inline(always)]
    pub(super) fn note(&self) {
        self.some.set(true);
    }

    /// Whether there is anything.
    #[inline(always)]
    pub fn is_pending(&self) -> bool {
        self.some.get()
    }

    /// Asks everywhere whom to wake, and wakes.
    #[inline]
    pub fn flush(&self) {
        self.some.set(false);
        fence(Ordering::SeqCst);
        self.wakes.iter().for_each(DeferredWake::tell);
    }

    /// An end goes, which asks by itself.
    #[inline]
    pub fn forget(&self, end: *const ()) {
        for wake in &self.wakes {
            if ptr::eq(wake.end.get(), end) {
                wake.end.set(ptr::null());
            }
        }
    }
}

/// An end that has left its scheduler, and is still to be closed.
pub(super) struct Closing {
    pub(super) end: *const (),
    /// Closes the end and lets go of it.
    pub(super) close: unsafe fn(*const ()),
    /// Kind and index of the process that left it: what it did not read is dropped in its name.
    pub(super) process: Option<(u32, u32)>,
}

/// Those of a turn, in the order in which they were left.
#[derive(Default)]
pub(super) struct Closings {
    queue: RefCell<VecDeque<Closing>>,
    /// Who left the end that is being closed.
    pub(super) of: Cell<Option<(u32, u32)>>,
    /// Processes are being made, and none has had a turn.
    pub(super) making: Cell<bool>,
}

impl Closings {
    #[inline]
    pub(super) fn push(&self, closing: Closing) {
        self.queue.borrow_mut().push_back(closing);
    }

    /// The next, of which nothing is borrowed: to close it is code of the user, which may leave
    /// further ends.
    #[inline]
    pub(super) fn pop(&self) -> Option<Closing> {
        self.queue.borrow_mut().pop_front()
    }
}

/// How many drops of tokens may be going on before others are queued.
const DEEPEST: u32 = 32;

/// Tokens of any type that are to be dropped.
pub(super) struct Tokens {
    tokens: *mut (),
    drop: unsafe fn(*mut ()),
    /// Kind and index of the process that left them: a panic is its failure.
    pub(super) process: Option<(u32, u32)>,
}

impl Tokens {
    fn new<T>(tokens: Vec<T>, process: Option<(u32, u32)>) -> Self {
        Tokens {
            process,
            tokens: Box::into_raw(Box::new(tokens)).cast(),
            // SAFETY: called once, by `drop`, with the pointer of the Box of this type.
            drop: |tokens| drop(unsafe { Box::from_raw(tokens.cast::<Vec<T>>()) }),
        }
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        // SAFETY: the function belongs to the pointer, and this is the only call.
        unsafe { (self.drop)(self.tokens) };
    }
}

/// The drops of tokens that are going on in a run, and those that are queued.
///
/// Without a destructor: that of a thread is there as long as the thread. What is queued is dropped
/// by [`drop_queued`](Leaving::drop_queued).
#[derive(Default)]
pub(super) struct Leaving {
    /// Not a depth: drops of several fibers may be going on at the same time, and end in any order.
    going_on: Cell<u32>,
    queue: RefCell<ManuallyDrop<Vec<Tokens>>>,
}

thread_local! {
    /// Outside of runs. Values of the thread itself, which may hold ports, are dropped late.
    pub(super) static OUTSIDE: Leaving = const {
        Leaving {
            going_on: Cell::new(0),
            queue: RefCell::new(ManuallyDrop::new(Vec::new())),
        }
    };
}

impl Leaving {
    /// Drops tokens that a reader has left behind, or queues them. `process` is the one that leaves
    /// them.
    #[inline]
    pub(super) fn drop_or_queue<T>(
        &self,
        tokens: Vec<T>,
        process: impl FnOnce() -> Option<(u32, u32)>,
    ) {
        if self.going_on.get() >= DEEPEST {
            let tokens = Tokens::new(tokens, process());
            self.queue.borrow_mut().push(tokens);
            return note();
        }
        self.going_on.set(self.going_on.get() + 1);
        let _ended = Finally(|| self.going_on.set(self.going_on.get() - 1));
        let _queued = Finally(|| self.drop_queued());
        drop(tokens);
    }

    /// Drops what is queued. If that panics, the rest is dropped all the same.
    fn drop_queued(&self) {
        while let Some(tokens) = self.pop() {
            let rest = Finally(|| self.drop_queued());
            drop(tokens);
            mem::forget(rest);
        }
    }

    /// Takes out tokens that are queued: those that were queued last.
    #[inline]
    pub(super) fn pop(&self) -> Option<Tokens> {
        let mut queue = self.queue.borrow_mut();
        let tokens = queue.pop();
        if tokens.is_none() {
            // Nobody else frees its memory.
            drop(mem::take(&mut **queue));
        }
        tokens
    }
}
