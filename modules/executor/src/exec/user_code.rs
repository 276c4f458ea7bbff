//! Calls of user code outside of the poll of a process: wakers, destructors, payloads of panics. A
//! panic in it is caught, and so is the one that dropping its payload may start.
//!
//! Such code runs in a *section*, in which no stack may be suspended. A stack that is suspended in
//! the middle of a section leaves the state of that section to other code of the same thread.
//! Therefore code that suspends stacks (`graphmap-fiber`) reads the depth of sections when it
//! resumes a stack, and refuses to suspend it while the depth is greater. No stack is suspended
//! within a section, so sections end in the reverse order of their beginning, and the depth is
//! exact.

use std::any::Any;
use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `f`, in which nothing can wait. What it panicked with, as a text.
#[inline]
pub fn caught(f: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| uninterrupted(f))).map_err(|payload| {
        let text = text(&*payload);
        discard(payload);
        text
    })
}

/// The payload of a panic as a text.
#[inline]
pub fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("(no message)").to_string()
}

/// Calls `f`; a panic ends it and nothing else.
#[inline]
pub fn quietly(f: impl FnOnce()) {
    drop(caught(f));
}

/// Drops the payload of a panic.
#[inline]
pub fn discard(payload: Box<dyn Any + Send>) {
    if let Err(worse) = catch_unwind(AssertUnwindSafe(|| uninterrupted(|| drop(payload)))) {
        // Whoever panics when dropped is not dropped a second time.
        mem::forget(worse);
    }
}

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// A section, which ends when this is dropped.
#[doc(hidden)]
pub struct Section(());

impl Section {
    #[inline(always)]
    #[doc(hidden)]
    pub fn begin() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Section(())
    }
}

impl Drop for Section {
    #[inline(always)]
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Calls a function during which no wait is allowed: a wait of `graphmap-fiber` in it returns
/// `WaitError::InPoll`.
///
/// Call the code of others so in the middle of a change. A run is such a function itself: only its
/// own processes wait in it.
#[inline(always)]
pub fn uninterrupted<R>(f: impl FnOnce() -> R) -> R {
    let _section = Section::begin();
    f()
}

/// Returns the number of [`uninterrupted`] calls and runs that this thread is in.
///
/// For code that suspends stacks: a stack must not be suspended while this is more than it was when
/// the stack was resumed.
#[inline(always)]
pub fn uninterrupted_depth() -> u32 {
    DEPTH.get()
}
