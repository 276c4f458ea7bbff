//! Types of the tokens on the channels.

use crate::queens::Board;

/// A board with a few queens, for which a worker counts the ways to fill it.
pub type Task = Board;

/// A request for a task.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Request;

/// Number of tasks that were done, and of ways that they have found.
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
