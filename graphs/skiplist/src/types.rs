//! Types of the tokens on the channels.

use graphmap_runtime::Payload;

/// An operation on a key.
#[derive(Clone, Copy, Debug, Payload)]
pub enum Operation {
    /// Inserts the key with this value, or replaces its value.
    Insert(u64),
    Find,
    Delete,
    /// Finds the first key that is not below the given one.
    First,
}

/// A search for a key, on its way down.
#[derive(Clone, Debug, Payload)]
pub struct Search {
    pub operation: Operation,
    pub key: u64,
    /// The key that the search has reached, which is below `key`. `None`: the head of the list.
    pub at: Option<u64>,
    /// Number of links that it has followed.
    pub steps: u64,
}

impl Search {
    /// Returns a search that begins at the head.
    pub fn new(operation: Operation, key: u64) -> Self {
        Search {
            operation,
            key,
            at: None,
            steps: 0,
        }
    }
}

/// The answer to a search.
#[derive(Clone, Debug, Payload)]
pub struct Answer {
    /// Key and value that were found, as they were before the operation.
    pub found: Option<(u64, u64)>,
    /// Number of links that the search has followed.
    pub steps: u64,
}
