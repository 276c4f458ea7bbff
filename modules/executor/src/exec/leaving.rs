//! Tokens that a reader leaves behind when it goes.
//!
//! To drop them is code of the user. Nothing of the channel is left to be done by then, so a destructor may panic, wait on the
//! stack of a fiber, or use any channel.
//!
//! A token may hold a port whose tokens hold ports in turn. To drop each within the one before would take a stack as deep as that
//! chain. Beyond a depth tokens are queued, and are dropped by whichever comes first: a drop of tokens of the same run that ends, or
//! the scheduler after the turn. The second is needed because the drops that are counted may be those of fibers that wait in a
//! destructor, which may wait for what is queued. Outside of runs nothing can wait in a destructor of a token.

use std::cell::{Cell, RefCell};
use std::mem::{self, ManuallyDrop};

use super::deferred;
use crate::finally::Finally;

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
/// Without a destructor: that of a thread is there as long as the thread. What is queued is dropped by
/// [`drop_queued`](Leaving::drop_queued).
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
    /// Drops tokens that a reader has left behind, or queues them. `process` is the one that leaves them.
    pub(super) fn drop_or_queue<T>(
        &self,
        tokens: Vec<T>,
        process: impl FnOnce() -> Option<(u32, u32)>,
    ) {
        if self.going_on.get() >= DEEPEST {
            let tokens = Tokens::new(tokens, process());
            self.queue.borrow_mut().push(tokens);
            return deferred::note();
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
