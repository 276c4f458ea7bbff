//! Ends that leave with tokens that are, or hold, ends themselves.
//!
//! Each may hold the next, so dropping one within the other would take as much stack as there are.
//! Beyond a depth they queue up, and the outermost lets them leave one by one.

use std::cell::{Cell, RefCell};
use std::mem;
use std::ptr::NonNull;

/// How deep ends may leave within each other.
const DEEPEST: u32 = 32;

/// What is done when the value is dropped, in an unwinding as well.
pub(super) struct Finally<F: FnMut()>(pub(super) F);

impl<F: FnMut()> Drop for Finally<F> {
    fn drop(&mut self) {
        self.0();
    }
}

type Leaving = (NonNull<u8>, unsafe fn(NonNull<u8>));

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static QUEUE: RefCell<Vec<Leaving>> = const { RefCell::new(Vec::new()) };
}

/// Calls `leave` with a channel, now or before the outermost call of this on the thread returns.
///
/// # Safety
/// The pointer has to be fit for the function until that has been called.
pub(super) unsafe fn one_by_one(channel: NonNull<u8>, leave: unsafe fn(NonNull<u8>)) {
    let depth = DEPTH.get();
    let queued = depth >= DEEPEST
        // There is no queue any more where a thread's own values are dropped at its end.
        && QUEUE.try_with(|queue| queue.borrow_mut().push((channel, leave))).is_ok();
    if queued {
        return;
    }
    DEPTH.set(depth + 1);
    let _out = Finally(|| {
        if depth == 0 {
            // Within the outermost call: those that leave now come back here, and not in again.
            empty_queue();
        }
        DEPTH.set(depth);
    });
    // SAFETY: the caller's promise.
    unsafe { leave(channel) };
}

fn empty_queue() {
    while let Ok(Some((channel, leave))) = QUEUE.try_with(|queue| queue.borrow_mut().pop()) {
        // If this panics, the others leave all the same.
        let rest = Finally(empty_queue);
        // SAFETY: the promise to `one_by_one`.
        unsafe { one_by_one(channel, leave) };
        mem::forget(rest);
    }
}
