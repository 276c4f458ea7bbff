//! Registry of the communicators of threads that are ranks. Such a thread cannot access them, and
//! names them by keys.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::rank::RankState;
use crate::shared::Shared;

/// Key of an entry. Each key of a thread of ranks is used only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

type Entry = (RankState, Rc<Shared>);

thread_local! {
    static REGISTERED: RefCell<HashMap<Key, Entry>> = RefCell::default();
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Keeps an entry in the registry until it is dropped.
pub(super) struct Registration(Key);

impl Registration {
    /// Registers a communicator for the thread that is its rank, under a new key. `rank` owns the
    /// communicator. The entry stays until the returned value is dropped.
    pub(super) fn new(rank: RankState, shared: Rc<Shared>) -> Self {
        let key = Key(NEXT.replace(NEXT.get() + 1));
        REGISTERED.with_borrow_mut(|registered| registered.insert(key, (rank, shared)));
        Registration(key)
    }

    pub(super) fn key(&self) -> Key {
        self.0
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let left = REGISTERED.try_with(|registered| registered.borrow_mut().remove(&self.0));
        // The entry is dropped after the borrow has ended. With the last handle of a communicator
        // its attributes are dropped, whose destructors are user code and may use the registry.
        drop(left);
    }
}

/// Returns the entry of a key on the thread that has registered it. Returns `None` if its
/// registration was dropped, because the rank has ended.
pub(super) fn find(key: Key) -> Option<Entry> {
    REGISTERED.with_borrow(|registered| registered.get(&key).cloned())
}
