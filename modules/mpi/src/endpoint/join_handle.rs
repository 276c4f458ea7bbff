//! Handles to wait for the end of endpoints.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use graphmap_runtime::mpi as core;

use crate::done;
use crate::fiber::wait;

/// The result of an endpoint, shared by its [`Promise`] and its [`JoinHandle`].
struct Slot<T> {
    value: RefCell<Option<T>>,
    /// Task of the rank that waits in [`JoinHandle::join`]. Dropping it wakes that rank.
    awaited: RefCell<Option<core::Task>>,
    is_over: Cell<bool>,
}

/// The sending end of a slot. If it is dropped without a value, the endpoint has no result.
pub(super) struct Promise<T>(Rc<Slot<T>>);

impl<T> Promise<T> {
    /// Stores the value and returns `None`, or returns the value if the handle was dropped. Wakes
    /// the rank that waits in [`JoinHandle::join`]. The destructor of the value is user code, and
    /// only the caller knows on which stack it may run.
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

/// Handle of a function that an endpoint runs, or of a thread that is an endpoint. Dropping the
/// handle does not stop the endpoint.
#[must_use = "if the endpoint is not joined, its result is lost, and the rank may be finalized \
              before it ends"]
pub struct JoinHandle<T> {
    slot: Rc<Slot<T>>,
    /// Communicator of the endpoint. `join` waits as its rank.
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
    /// Creates the two ends of an empty slot: the promise that stores the result, and the handle
    /// that waits for it. `core` is the communicator of the endpoint.
    pub(super) fn new(core: core::Communicator) -> (Promise<T>, JoinHandle<T>) {
        let slot = Rc::new(Slot {
            value: RefCell::new(None),
            awaited: RefCell::new(None),
            is_over: Cell::new(false),
        });
        let promise = Promise(Rc::clone(&slot));
        (promise, JoinHandle { slot, core })
    }

    /// Blocks until the endpoint has ended, and returns its result. Other processes continue
    /// meanwhile, among them the other endpoints of this rank.
    ///
    /// # Panics
    /// * If it must wait, and the caller is not on the stack of a rank.
    /// * If it would have to wait while its stack is unwinding.
    /// * If there is no result because the run ends.
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

    /// Returns true if the endpoint has ended, with or without a result, so that
    /// [`join`](Self::join) does not block.
    pub fn is_finished(&self) -> bool {
        self.slot.is_over.get()
    }
}
