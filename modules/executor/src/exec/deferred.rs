//! The work that a poll leaves behind: deferred wake-ups, ends of channels to close, and tokens to
//! drop. `between_polls.rs` does it.
//!
//! Wake-ups: to check whether the other side of a channel sleeps takes a fence, which costs more
//! than a token. Therefore a process that takes or puts many tokens checks at the end of its poll.
//! A wake-up may be late by a poll, but is never lost (see `link/spsc.rs`). One fence serves all of
//! them.
//!
//! Ends of channels between schedulers: a process that fails drops its ports first, and its failure
//! is known only after that. A process on another thread that saw the ends closed before might fail
//! because of them, and be reported instead. Therefore the other side sees an end closed when the
//! poll is over, and, if the process failed, after the run was stopped.
//!
//! Unread tokens: dropping them runs user code. The state of the channel is final before that, so a
//! destructor may panic, wait on the stack of a fiber, or use any channel. A token may hold a port
//! whose tokens hold ports in turn. Nested drops would need a stack as deep as that chain.
//! Therefore tokens beyond a depth are queued. They are dropped by the drop of tokens of the same
//! run that ends first, or by the scheduler after the poll. The scheduler is needed because the
//! drops in progress may be those of fibers that wait in a destructor for a queued token. Outside
//! of runs a destructor of a token cannot wait.

use crate::finally::Finally;
use crate::sync::{Ordering, fence};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem::{self, ManuallyDrop};
use std::ptr;

/// Deferred wake-up of the other side of a channel (`link/spsc.rs`). The fields are separate cells
/// for the reason given at `PolledWait`.
struct DeferredWake {
    end: Cell<*const ()>,
    /// Wakes the process that waits at the other side, if any. A fence must precede the call.
    notify: Cell<unsafe fn(*const ())>,
}

/// Deferred wake-ups of the process that is being polled: for the channel that it last read from,
/// and for the channel that it last wrote to.
pub struct DeferredWakes {
    some: Cell<bool>,
    wakes: [DeferredWake; 2],
}

thread_local! {
    /// Deferred wake-ups of the current scheduler of this thread.
    static CURRENT: Cell<*const DeferredWakes> = const { Cell::new(ptr::null()) };
}

/// Notes that the scheduler of this thread has work to do after the poll. Has no effect outside of
/// a run.
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
            notify: Cell::new(|_| {}),
        }
    }

    /// Wakes the other side if an end is noted. A fence must come between the last access to the
    /// channel and this call.
    fn notify(&self) {
        let end = self.end.replace(ptr::null());
        if !end.is_null() {
            // SAFETY: `forget` is called before an end is freed, so the end is valid. The function
            // was noted with it.
            unsafe { (self.notify.get())(end) };
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

    /// Makes this the instance of this thread while `f` runs.
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

    /// Defers the wake-up of the other side of an end. `way` is the entry, 0 or 1: one is for the
    /// channel that was last read from, and one for the channel that was last written to. If
    /// another end is in this entry, performs its wake-up now. Has no effect if this end is already
    /// there. Panics if `way` is larger.
    ///
    /// # Safety
    /// `notify` must be sound with `end`, and [`DeferredWakes::forget`] must be called before `end`
    /// becomes invalid.
    #[inline]
    pub unsafe fn defer(&self, way: usize, end: *const (), notify: unsafe fn(*const ())) {
        let wake = &self.wakes[way];
        if ptr::eq(wake.end.get(), end) {
            return;
        }
        self.some.set(true);
        if !wake.end.get().is_null() {
            fence(Ordering::SeqCst);
            wake.notify();
        }
        wake.end.set(end);
        wake.notify.set(notify);
    }

    /// Notes that there is work to do after the poll.
    #[inline(always)]
    pub(super) fn note(&self) {
        self.some.set(true);
    }

    /// Returns true if something was deferred or noted since the last [`DeferredWakes::flush`].
    #[inline(always)]
    pub fn is_pending(&self) -> bool {
        self.some.get()
    }

    /// Performs the deferred wake-ups and removes them. No work is pending afterwards.
    #[inline]
    pub fn flush(&self) {
        self.some.set(false);
        fence(Ordering::SeqCst);
        self.wakes.iter().for_each(DeferredWake::notify);
    }

    /// Removes an end that is going to be freed. The caller performs its wake-up.
    #[inline]
    pub fn forget(&self, end: *const ()) {
        for wake in &self.wakes {
            if ptr::eq(wake.end.get(), end) {
                wake.end.set(ptr::null());
            }
        }
    }
}

/// End of a channel that its process has left, and that is still to be closed.
pub(super) struct Closing {
    pub(super) end: *const (),
    /// Closes and releases the end.
    pub(super) close: unsafe fn(*const ()),
    /// Kind and index of the process that left the end. The unread tokens are dropped in its name.
    pub(super) process: Option<(u32, u32)>,
}

/// Ends that were left in a poll, in order.
#[derive(Default)]
pub(super) struct Closings {
    queue: RefCell<VecDeque<Closing>>,
    /// Process that left the end that is being closed.
    pub(super) left_by: Cell<Option<(u32, u32)>>,
    /// True while processes are created. None of them has been polled then.
    pub(super) creating: Cell<bool>,
}

impl Closings {
    #[inline]
    pub(super) fn push(&self, closing: Closing) {
        self.queue.borrow_mut().push_back(closing);
    }

    /// Removes and returns the next end, or returns `None` if no end is left. No borrow is held
    /// afterwards, because closing the end runs user code, which may leave further ends.
    #[inline]
    pub(super) fn pop(&self) -> Option<Closing> {
        self.queue.borrow_mut().pop_front()
    }
}

/// Maximum number of drops in progress. Further tokens are queued.
const DEEPEST: u32 = 32;

/// Tokens of any type that are to be dropped.
pub(super) struct Tokens {
    tokens: *mut (),
    drop: unsafe fn(*mut ()),
    /// Kind and index of the process that left the tokens. A panic is reported as its failure.
    pub(super) process: Option<(u32, u32)>,
}

impl Tokens {
    fn new<T>(tokens: Vec<T>, process: Option<(u32, u32)>) -> Self {
        Tokens {
            process,
            tokens: Box::into_raw(Box::new(tokens)).cast(),
            // SAFETY: `drop` calls this once, with the pointer of the `Box` of this type.
            drop: |tokens| drop(unsafe { Box::from_raw(tokens.cast::<Vec<T>>()) }),
        }
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        // SAFETY: the function was stored with the pointer, and this is the only call.
        unsafe { (self.drop)(self.tokens) };
    }
}

/// Drops of tokens of a run: the number in progress, and the tokens that are queued.
///
/// The type has no destructor, so that the instance of a thread exists as long as the thread.
/// [`drop_queued`](TokenDrops::drop_queued) drops the queued tokens.
#[derive(Default)]
pub(super) struct TokenDrops {
    /// Number of drops in progress. It is not a depth, because drops of several fibers may overlap
    /// and end in any order.
    going_on: Cell<u32>,
    queue: RefCell<ManuallyDrop<Vec<Tokens>>>,
}

thread_local! {
    /// Instance for drops outside of runs. Thread-local values may hold ports and are dropped late.
    pub(super) static OUTSIDE: TokenDrops = const {
        TokenDrops {
            going_on: Cell::new(0),
            queue: RefCell::new(ManuallyDrop::new(Vec::new())),
        }
    };
}

impl TokenDrops {
    /// Drops tokens that a reader has left unread, and then the queued tokens. If [`DEEPEST`] drops
    /// are in progress, only queues the tokens. `process` returns the process that leaves them, and
    /// is called in this case only. A panic of a destructor is passed on.
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

    /// Drops the queued tokens, those that were queued last first. A panic does not keep the
    /// remaining ones from being dropped, and is passed on.
    fn drop_queued(&self) {
        while let Some(tokens) = self.pop() {
            let rest = Finally(|| self.drop_queued());
            drop(tokens);
            mem::forget(rest);
        }
    }

    /// Removes and returns the tokens that were queued last, or returns `None` if the queue is
    /// empty.
    #[inline]
    pub(super) fn pop(&self) -> Option<Tokens> {
        let mut queue = self.queue.borrow_mut();
        let tokens = queue.pop();
        if tokens.is_none() {
            // The queue has no destructor, so its memory is freed here.
            drop(mem::take(&mut **queue));
        }
        tokens
    }
}
