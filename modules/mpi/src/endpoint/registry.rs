//! By what a thread that is a rank names what only the thread of that rank has.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::rank::RankState;
use crate::shared::Shared;

/// The key of an entry, among all that there have been on the rank's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

type Entry = (RankState, Rc<Shared>);

thread_local! {
    static REGISTERED: RefCell<HashMap<Key, Entry>> = RefCell::default();
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// While it lives, its entry is there.
pub(super) struct Registration(Key);

impl Registration {
    /// For a thread that is the rank of this communicator, which this rank has.
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
        // With the last handle of a communicator its attributes go: code of the user, which may come here.
        drop(left);
    }
}

/// What stands under a key; none: the rank has ended.
pub(super) fn find(key: Key) -> Option<Entry> {
    REGISTERED.with_borrow(|registered| registered.get(&key).cloned())
}
