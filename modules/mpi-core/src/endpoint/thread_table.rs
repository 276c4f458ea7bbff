//! Threads that own ranks of a scheduler, as the scheduler sees them.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use super::request_queue::{Called, RequestQueue};

/// Number of a wait for the end of a thread. No access to memory has this number.
pub(in super::super) const THREAD: i32 = i32::MAX;
/// Number of a wait for the end of a task.
pub(in super::super) const TASK: i32 = i32::MAX - 1;
/// Peer of a wait that is not a process of the run.
pub(in super::super) const NOT_A_PROCESS: u32 = u32::MAX;

/// State of a thread that owns a rank.
pub(in super::super) struct ThreadState {
    /// The `Communicator` of the rank.
    pub(super) communicator: Rc<dyn Any>,
    /// Description of the rank.
    pub(super) name: String,
    /// Position of the call that gave the rank to a thread.
    pub(super) at: &'static Location<'static>,
    /// World rank of the process that has the rank.
    pub(super) process: u32,
    /// Id of the process that gave the rank to the thread.
    pub(super) id: u32,
    /// Whether the thread waits in a call.
    pub(super) is_calling: bool,
    /// Call of the thread. `None` while it is polled.
    pub(super) call: Option<Called>,
    /// Entry of the process that waits for the end of the thread.
    pub(super) end_entry: Option<u32>,
}

/// State of the call that is polled.
#[derive(Clone)]
pub(super) struct Polling {
    /// Waker that the call is polled with.
    pub(super) given: Waker,
    /// Waker that waits within this run keep.
    pub(super) own: Waker,
    /// Id of the process in whose name the call waits.
    pub(super) id: u32,
}

/// All threads that own ranks of a scheduler.
#[derive(Default)]
pub(in super::super) struct ThreadTable {
    pub(super) queue: OnceCell<Arc<RequestQueue>>,
    pub(super) states: RefCell<Vec<Option<ThreadState>>>,
    pub(super) free: RefCell<Vec<u32>>,
    pub(super) polling: RefCell<Option<Polling>>,
    /// Whether the run is over.
    pub(super) is_closed: Cell<bool>,
}

impl ThreadTable {
    /// Adds a thread, and returns its index. A removed thread may have had the same index.
    pub(super) fn add_thread(&self, thread: ThreadState) -> u32 {
        let mut states = self.states.borrow_mut();
        match self.free.borrow_mut().pop() {
            Some(at) => {
                states[at as usize] = Some(thread);
                at
            }
            None => {
                states.push(Some(thread));
                states.len() as u32 - 1
            }
        }
    }

    /// Calls `f` with the thread at `at`. Returns `None` if it does not exist. `f` must not use the
    /// table.
    pub(super) fn with<R>(&self, at: u32, f: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
        let mut states = self.states.borrow_mut();
        states.get_mut(at as usize)?.as_mut().map(f)
    }

    /// Removes and returns the thread at `at`. Returns `None` if it does not exist. A later thread
    /// may get the index.
    pub(super) fn remove(&self, at: u32) -> Option<ThreadState> {
        let left = self.states.borrow_mut().get_mut(at as usize)?.take();
        if left.is_some() {
            self.free.borrow_mut().push(at);
        }
        left
    }
}
