//! Wake-ups for one scheduler from the others, and from foreign threads.
//!
//! Only a wake-up that finds its process asleep comes here, a token never does, so a lock held
//! for one push is cheap enough; the owner sees by a flag alone whether there is anything.

use std::mem;

use super::waiter::NOBODY;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};

/// Ids of processes and hooks to wake. In a cache line of its own: its owner looks at it often.
#[repr(align(64))]
pub(crate) struct Inbox {
    filled: AtomicBool,
    ids: Mutex<Vec<u32>>,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Inbox {
            filled: AtomicBool::new(false),
            ids: Mutex::new(Vec::new()),
        }
    }

    /// Adds an id. The caller then has to rouse the owner (see `doze.rs` for the ordering).
    pub(crate) fn push(&self, id: u32) {
        let mut ids = lock(&self.ids);
        ids.push(id);
        // Inside the lock, so that it cannot come after the owner's emptying of this very id.
        self.filled.store(true, Ordering::SeqCst);
    }

    /// Whether something may be in it.
    #[inline]
    pub(crate) fn is_filled(&self) -> bool {
        self.filled.load(Ordering::SeqCst)
    }

    /// Whether somebody else than this one is to be woken.
    pub(crate) fn has_other(&self, than: u32) -> bool {
        lock(&self.ids).iter().any(|&id| id != NOBODY && id != than)
    }

    /// Swaps the contents with `empty`, which must be empty.
    pub(crate) fn drain(&self, empty: &mut Vec<u32>) {
        let mut ids = lock(&self.ids);
        mem::swap(&mut *ids, empty);
        self.filled.store(false, Ordering::SeqCst);
    }
}
