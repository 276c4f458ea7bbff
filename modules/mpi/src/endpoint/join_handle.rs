//! What an endpoint does, as the rank that has started it sees it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use graphmap_runtime::mpi as core;

use crate::done;
use crate::fiber::wait;

/// Where what comes of it is put.
struct Slot<T> {
    value: RefCell<Option<T>>,
    /// Of who waits for it.
    awaited: RefCell<Option<core::Task>>,
    is_over: Cell<bool>,
}

/// Gives what comes of it, or, if it is dropped before, nothing.
pub(super) struct Promise<T>(Rc<Slot<T>>);

impl<T> Promise<T> {
    /// The value back, if nobody can take it any more: to drop it is code of the user, which only the caller knows where to call.
    pub(super) fn give(self, value: T) -> Option<T> {
        if Rc::strong_count(&self.0) == 1 {
            return Some(value);
        }
        *self.0.value.borrow_mut() = Some(value);
        None
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.0.is_over.set(true);
        let awaited = self.0.awaited.take();
        drop(awaited);
    }
}

/// A function that an endpoint runs, or a thread that is one: what it returns can be waited for. To let go of this takes nothing back.
#[must_use = "if the endpoint is not joined, its result is lost, and the rank may be finalized \
              before it ends"]
pub struct JoinHandle<T> {
    slot: Rc<Slot<T>>,
    /// In whose name it is waited for.
    core: core::Communicator,
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("JoinHandle");
        debug.field("rank", &self.core.rank());
        debug.field("is_finished", &self.is_finished()).finish()
    }
}

impl<T> JoinHandle<T> {
    /// As the rank of this communicator.
    pub(super) fn new(core: core::Communicator) -> (Promise<T>, JoinHandle<T>) {
        let slot = Rc::new(Slot {
            value: RefCell::new(None),
            awaited: RefCell::new(None),
            is_over: Cell::new(false),
        });
        let promise = Promise(Rc::clone(&slot));
        (promise, JoinHandle { slot, core })
    }

    /// Waits until it has ended: what it has returned. Others go on meanwhile, those of this rank included.
    ///
    /// # Panics
    /// If it is waited for on no stack of a rank; if it would have to wait while the stack is unwound; and where nothing comes, as the run ends.
    #[track_caller]
    pub fn join(self) -> T {
        if !self.is_finished() {
            let (task, end) = self.core.task();
            *self.slot.awaited.borrow_mut() = Some(task);
            done(wait(end));
        }
        let value = self.slot.value.take();
        done(value.ok_or(core::Error::Over))
    }

    /// Whether it has ended, so that [`join`](Self::join) does not wait.
    pub fn is_finished(&self) -> bool {
        self.slot.is_over.get()
    }
}
