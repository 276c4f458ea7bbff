//! What a step has while it is taken by a rank.

use mpi::Tag;
use mpi::point_to_point::Status;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

use super::chance::{Chance, mixed};
use super::element::{Element, shown};
use super::program::Step;

/// A step, taken by a rank in a communicator.
pub(crate) struct Turn<'t> {
    pub(crate) step: &'t Step,
    pub(crate) comm: &'t SimpleCommunicator,
    /// The number of this rank, and of all.
    pub(crate) me: usize,
    pub(crate) size: usize,
    /// What all ranks draw alike, so they must all draw as often.
    pub(crate) chance: Chance,
    /// What this rank has seen.
    pub(crate) seen: Vec<String>,
    /// A communicator that the step has made.
    pub(crate) made: Option<SimpleCommunicator>,
}

impl<'t> Turn<'t> {
    pub(crate) fn new(step: &'t Step, comm: &'t SimpleCommunicator) -> Turn<'t> {
        Turn {
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

    /// The elements of something that has a number, of a rank: others for each, and for each step.
    pub(crate) fn elements<T: Element>(&self, rank: usize, which: usize, length: usize) -> Vec<T> {
        let of = mixed(self.step.seed ^ ((rank as u64) << 32) ^ ((which as u64) << 40));
        (0..length as u64).map(|at| T::of(mixed(of + at))).collect()
    }

    /// As [`elements`](Self::elements), so small that a few can be multiplied without leaving what C, Rust and MPI define alike.
    pub(crate) fn small<T: Element>(&self, rank: usize, which: usize, length: usize) -> Vec<T> {
        let of = mixed(self.step.seed ^ ((rank as u64) << 32) ^ ((which as u64) << 40));
        (0..length as u64)
            .map(|at| T::of(mixed(of + at) % 3 + 1))
            .collect()
    }

    /// Tags of a step are its own, and none is the one that calls without a tag send with: a rank that is ahead sends nothing that those behind could take for theirs.
    pub(crate) fn tag(&self, number: usize) -> Tag {
        ((self.step.number + 1) * 100 + number) as Tag
    }
}

/// What a status tells of a message of these elements.
pub(crate) fn told<T: Element>(status: &Status) -> String {
    let count = status.count(T::equivalent_datatype());
    format!(
        "from {} tag {} count {count}:",
        status.source_rank(),
        status.tag()
    )
}
