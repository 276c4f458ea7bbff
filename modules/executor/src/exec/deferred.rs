//! Wake-ups that are deferred to the end of a turn.
//!
//! To ask whether the other side of a channel sleeps takes a fence, which costs more than a token. So a process that
//! takes or puts many tokens leaves that to the end of its turn: a wake-up may be late by a turn, never lost (`link/spsc.rs` says why).
//! The fence is here, one for all that is asked.

use std::cell::Cell;
use std::ptr;

use crate::sync::{Ordering, fence};

/// What a scheduler has yet to do at an end: see `link/spsc.rs` about late wake-ups. Field by field, as a
/// polled wait.
struct DeferredWake {
    end: Cell<*const ()>,
    /// Asks behind a fence.
    tell: Cell<unsafe fn(*const ())>,
}

/// The wake-ups that the process whose turn it is has deferred: for the channel it took from last, and for the one it
/// put into last.
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
    /// The function has to fit the end, and [`DeferredWakes::forget`] has to be called before it goes.
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
    pub fn flush(&self) {
        self.some.set(false);
        fence(Ordering::SeqCst);
        self.wakes.iter().for_each(DeferredWake::tell);
    }

    /// An end goes, which asks by itself.
    pub fn forget(&self, end: *const ()) {
        for wake in &self.wakes {
            if ptr::eq(wake.end.get(), end) {
                wake.end.set(ptr::null());
            }
        }
    }
}
