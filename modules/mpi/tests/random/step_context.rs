//! State of a step while a rank takes it.

use mpi::Tag;
use mpi::point_to_point::Status;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

use super::chance::{Chance, mixed};
use super::element::{Element, shown};
use super::program::Step;

/// Step that a rank takes in a communicator.
pub(crate) struct StepContext<'t> {
    pub(crate) step: &'t Step,
    pub(crate) comm: &'t SimpleCommunicator,
    /// This rank. `size` is the number of ranks.
    pub(crate) me: usize,
    pub(crate) size: usize,
    /// Random numbers that are the same on all ranks, so all ranks must draw equally often.
    pub(crate) chance: Chance,
    /// Log of this rank.
    pub(crate) seen: Vec<String>,
    /// Communicator that the step has made.
    pub(crate) made: Option<SimpleCommunicator>,
}

impl<'t> StepContext<'t> {
    pub(crate) fn new(step: &'t Step, comm: &'t SimpleCommunicator) -> StepContext<'t> {
        StepContext {
            step,
            comm,
            me: comm.rank() as usize,
            size: comm.size() as usize,
            chance: Chance::new(step.seed),
            seen: Vec::new(),
            made: None,
        }
    }

    pub(crate) fn say(&mut self, what: impl Into<String>) {
        self.seen.push(what.into());
    }

    pub(crate) fn say_elements<T: Element>(&mut self, of: &str, elements: &[T]) {
        self.seen.push(format!("{of} {}", shown(elements)));
    }

    pub(crate) fn rank(&mut self) -> usize {
        self.chance.below(self.size)
    }

    /// Returns elements of a rank, for the object with the number `which`. They differ between
    /// objects, ranks and steps.
    pub(crate) fn elements<T: Element>(&self, rank: usize, which: usize, length: usize) -> Vec<T> {
        let of = mixed(self.step.seed ^ ((rank as u64) << 32) ^ ((which as u64) << 40));
        (0..length as u64).map(|at| T::of(mixed(of + at))).collect()
    }

    /// Returns elements like [`elements`](Self::elements), but small ones. A product of a few of
    /// them is in the range that C, Rust and MPI define alike.
    pub(crate) fn small<T: Element>(&self, rank: usize, which: usize, length: usize) -> Vec<T> {
        let of = mixed(self.step.seed ^ ((rank as u64) << 32) ^ ((which as u64) << 40));
        (0..length as u64)
            .map(|at| T::of(mixed(of + at) % 3 + 1))
            .collect()
    }

    /// Returns a tag that no other step and no call without a tag uses. So a message of a rank that
    /// is ahead cannot match an earlier receive.
    pub(crate) fn tag(&self, number: usize) -> Tag {
        ((self.step.number + 1) * 100 + number) as Tag
    }
}

/// Formats the status of a message with elements of type `T`.
pub(crate) fn told<T: Element>(status: &Status) -> String {
    let count = status.count(T::equivalent_datatype());
    format!(
        "from {} tag {} count {count}:",
        status.source_rank(),
        status.tag()
    )
}
