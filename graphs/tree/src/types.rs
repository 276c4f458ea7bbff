//! What travels over the channels.

use crate::queens::Board;

/// A board with a few queens on it: in how many ways can it be filled?
pub type Task = Board;

/// "I have nothing to do."
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Request;

/// How many tasks were done, and how many ways they have found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, graphmap_runtime::Payload)]
pub struct Count {
    pub tasks: u64,
    pub ways: u64,
}

impl std::ops::Add for Count {
    type Output = Count;

    fn add(self, other: Count) -> Count {
        Count {
            tasks: self.tasks + other.tasks,
            ways: self.ways + other.ways,
        }
    }
}
