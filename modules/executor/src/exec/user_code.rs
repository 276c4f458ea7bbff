//! Calls of user code outside the poll of a process: wakers, destructors, and payloads of panics. A
//! panic in such code is caught. A second panic, while the payload of the first is dropped, is
//! caught too.
//!
//! Such code runs in a *section*, in which no stack may be suspended. A stack that is suspended in
//! the middle of a section leaves the state of that section to other code of the same thread.
//! Therefore code that suspends stacks (`graphmap-fiber`) reads the depth of sections when it
//! resumes a stack. It refuses to suspend the stack while the depth is greater. Because no stack is
//! suspended within a section, sections end in the reverse order of their beginning, and the depth
//! is exact.

use std::any::Any;
use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `f` in a section, in which no stack may be suspended, and catches a panic.
///
/// # Errors
/// Returns the message of the panic if `f` panics, or "(no message)" if its payload is not a
/// string. A panic of the payload's destructor is ignored.
#[inline]
pub fn caught(f: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| uninterrupted(f))).map_err(|payload| {
        let text = text(&*payload);
        discard(payload);
        text
    })
}

/// Returns the message of a panic from its payload. Returns "(no message)" if the payload is not a
/// string.
#[inline]
pub fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("(no message)").to_string()
}

/// Calls `f` in a section, in which no stack may be suspended, and ignores a panic.
#[inline]
pub fn quietly(f: impl FnOnce()) {
    drop(caught(f));
}

/// Drops the payload of a panic, in a section, in which no stack may be suspended. A panic of its
/// destructor is ignored, and the payload of that second panic is leaked.
#[inline]
pub fn discard(payload: Box<dyn Any + Send>) {
    if let Err(worse) = catch_unwind(AssertUnwindSafe(|| uninterrupted(|| drop(payload)))) {
        // The payload of the second panic is leaked, because its destructor may panic as well.
        mem::forget(worse);
    }
}

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// A section, which ends when this value is dropped.
#[doc(hidden)]
pub struct Section(());

impl Section {
    #[inline(always)]
    /// Begins a section, in which no stack may be suspended. It ends when the result is dropped.
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

/// Calls `f`, allows no wait during the call, and returns its result. A wait of `graphmap-fiber` in
/// it returns `WaitError::InPoll`. The permission is restored if `f` panics.
///
/// Use it to call code of others in the middle of a change of state. A run is such a call itself:
/// only the processes of the run can wait in it.
#[inline(always)]
pub fn uninterrupted<R>(f: impl FnOnce() -> R) -> R {
    let _section = Section::begin();
    f()
}

/// Returns the number of [`uninterrupted`] calls and runs that this thread is in. It includes calls
/// of user code by the runtime that allow no wait.
///
/// It is for code that suspends stacks. A stack must not be suspended while this number is greater
/// than it was when the stack was resumed.
#[inline(always)]
pub fn uninterrupted_depth() -> u32 {
    DEPTH.get()
}
