//! Ends that leave with tokens that are, or hold, ends themselves.
//!
//! Each may hold the next, so dropping one within the other would take as much stack as there are.
//! Beyond a depth they queue up, and the outermost lets them leave one by one.

use std::cell::{Cell, RefCell};
use std::mem::{self, ManuallyDrop};
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
    /// Without a destructor, so that it is there as long as its thread is: values of the thread's own,
    /// which may hold ends, are dropped late.
    static QUEUE: RefCell<ManuallyDrop<Vec<Leaving>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// Calls `leave` with a channel, now or before the outermost call of this on the thread returns.
///
/// # Safety
/// The pointer has to be fit for the function until that has been called.
pub(super) unsafe fn one_by_one(channel: NonNull<u8>, leave: unsafe fn(NonNull<u8>)) {
    let depth = DEPTH.get();
    if depth >= DEEPEST {
        return QUEUE.with_borrow_mut(|queue| queue.push((channel, leave)));
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
    while let Some((channel, leave)) = QUEUE.with_borrow_mut(|queue| queue.pop()) {
        // If this panics, the others leave all the same.
        let rest = Finally(empty_queue);
        // SAFETY: the promise to `one_by_one`.
        unsafe { one_by_one(channel, leave) };
        mem::forget(rest);
    }
    // Its memory, that nobody else will free.
    drop(QUEUE.with_borrow_mut(|queue| mem::take(&mut **queue)));
}
