//! Wake-ups and requests for one scheduler from the others of its OS process. Foreign threads send
//! wake-ups here too.
//!
//! Tokens never come here, and a wake-up comes only if its process is blocked. So a lock for one
//! push is cheap enough. The owner checks a flag alone to find out whether the inbox may contain
//! something.

use std::any::Any;
use std::mem;

use super::waiter::NO_ID;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};

/// A request from another scheduler for the layer above, with the number of the request.
pub type SchedulerRequest = (u32, Box<dyn Any + Send>);

/// Ids of processes and waiters to wake, and requests. It has its own cache line because its owner
/// checks it often.
#[repr(align(64))]
pub struct Inbox {
    filled: AtomicBool,
    ids: Mutex<Vec<u32>>,
    requests: Mutex<Vec<SchedulerRequest>>,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Inbox {
            filled: AtomicBool::new(false),
            ids: Mutex::new(Vec::new()),
            requests: Mutex::new(Vec::new()),
        }
    }

    /// Adds an id. The caller must then wake the owner (see `parker.rs` for the ordering).
    pub fn push(&self, id: u32) {
        let mut ids = lock(&self.ids);
        ids.push(id);
        // Stored under the lock, so that it cannot come after the owner has drained this id.
        self.filled.store(true, Ordering::SeqCst);
    }

    /// Appends a request. The caller must then wake the owner. The order of requests is kept.
    pub fn push_request(&self, request: SchedulerRequest) {
        let mut requests = lock(&self.requests);
        requests.push(request);
        // Stored under the lock, as above: the owner empties this list after it has cleared the
        // flag.
        self.filled.store(true, Ordering::SeqCst);
    }

    /// Returns true if the inbox may contain something.
    #[inline]
    pub fn is_filled(&self) -> bool {
        self.filled.load(Ordering::SeqCst)
    }

    /// Returns true if the inbox contains an id other than `than` and `NO_ID`: a process or waiter
    /// to wake.
    pub fn has_other(&self, than: u32) -> bool {
        lock(&self.ids).iter().any(|&id| id != NO_ID && id != than)
    }

    /// Returns true if the inbox contains a request with this number.
    pub fn has_request_of(&self, number: u32) -> bool {
        lock(&self.requests)
            .iter()
            .any(|request| request.0 == number)
    }

    /// Swaps the ids with `empty`, which must be empty, and marks the inbox as not filled. The ids
    /// are in the order in which they were pushed. Requests stay, so [`Inbox::take_requests`] must
    /// be called afterwards.
    pub fn drain(&self, empty: &mut Vec<u32>) {
        let mut ids = lock(&self.ids);
        mem::swap(&mut *ids, empty);
        self.filled.store(false, Ordering::SeqCst);
    }

    /// Removes and returns all requests, in the order in which they were pushed. Must be called
    /// after [`Inbox::drain`], so that no request remains while the flag is cleared.
    pub fn take_requests(&self) -> Vec<SchedulerRequest> {
        mem::take(&mut *lock(&self.requests))
    }
}
