//! The list of one level.

use crate::types::{Operation, Search};
use std::collections::HashMap;

/// A sorted list of keys, each linked to the next.
#[derive(Default)]
pub struct List {
    /// The key after each key. `None` is the head.
    next: HashMap<Option<u64>, u64>,
}

impl List {
    /// Returns the key after another one, or after the head. Returns `None` at the end of the list.
    pub fn next(&self, key: Option<u64>) -> Option<u64> {
        self.next.get(&key).copied()
    }

    /// Moves a search to the last key below its own. The key at which it is must be in the list: it
    /// is, because all levels above have done the same operations, and a key of a level is on all
    /// levels below.
    pub fn advance(&self, search: &mut Search) {
        while let Some(next) = self.next(search.at).filter(|next| *next < search.key) {
            search.at = Some(next);
            search.steps += 1;
        }
    }

    /// Inserts or removes the key of a search that has [advanced](Self::advance), if its operation
    /// does. Has no effect if the key already is in the list, or is not there.
    pub fn change(&mut self, search: &Search) {
        let Search { at, key, .. } = *search;
        let after = self.next(at);
        match search.operation {
            Operation::Insert(_) if after != Some(key) => {
                self.link(at, Some(key));
                self.link(Some(key), after);
            }
            Operation::Delete if after == Some(key) => {
                let after = self.next.remove(&Some(key));
                self.link(at, after);
            }
            _ => {}
        }
    }

    fn link(&mut self, from: Option<u64>, to: Option<u64>) {
        match to {
            Some(to) => self.next.insert(from, to),
            None => self.next.remove(&from),
        };
    }
}

/// Returns the number of levels on which a key is, from the bottom. Half of the keys are on one
/// level only, a quarter on two, and so on.
pub fn height(key: u64) -> u32 {
    crate::mix(key + 1).trailing_zeros() + 1
}
