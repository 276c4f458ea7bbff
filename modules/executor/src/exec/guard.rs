//! Code of the user that is called outside of a process's turn: wakers, destructors, payloads of
//! panics. A panic in it is caught, and so is the one that dropping its payload may start.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::uninterrupted::uninterrupted;

/// Calls `f`, in which nothing can wait. What it panicked with, as a text.
pub fn caught(f: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| uninterrupted(f))).map_err(|payload| {
        let text = text(&*payload);
        discard(payload);
        text
    })
}

/// The payload of a panic as a text.
pub fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("(no message)").to_string()
}

/// Calls `f`; a panic ends it and nothing else.
pub fn quietly(f: impl FnOnce()) {
    drop(caught(f));
}

/// Drops the payload of a panic.
pub fn discard(payload: Box<dyn Any + Send>) {
    if let Err(worse) = catch_unwind(AssertUnwindSafe(|| uninterrupted(|| drop(payload)))) {
        // Whoever panics when dropped is not dropped a second time.
        mem::forget(worse);
    }
}
