//! Descriptions of collective calls, the contributions of ranks, and the results.

use std::panic::Location;

use super::envelope::Mixer;
use super::erased;
use super::error::Mismatch;
use graphmap_executor::place::Place;
use std::hash::{Hash, Hasher};

/// The function, root and type of a collective call. They must be the same on all ranks.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) root: Option<usize>,
    /// Number of the type of the contributions.
    of: u64,
    type_name: &'static str,
}

impl Call {
    pub(super) fn new<T: 'static>(name: &'static str, root: Option<usize>) -> Self {
        Call {
            name,
            root,
            of: erased::number::<T>(),
            type_name: std::any::type_name::<T>(),
        }
    }

    /// Returns a hash of the call, which is used to detect calls of different schedulers that do
    /// not match. Calls that [fit](Self::fits) have the same hash.
    pub(super) fn signature(&self) -> u64 {
        let mut mixer = Mixer::default();
        (self.name, self.root, self.of).hash(&mut mixer);
        mixer.finish()
    }

    /// Returns true if both calls have the same function, root and type.
    pub(super) fn fits(&self, other: &Call) -> bool {
        self.name == other.name && self.root == other.root && self.of == other.of
    }

    /// Returns the description of the call for reports: its name, the type unless it is `()`, and
    /// the root if it has one.
    pub(super) fn text(&self) -> String {
        match (self.root, self.type_name) {
            (None, "()") => self.name.to_string(),
            (None, name) => format!("{} of `{name}`", self.name),
            (Some(root), name) => format!("{} of `{name}` with root {root}", self.name),
        }
    }

    /// Describes the call of a rank, which it made at the source position `at`.
    pub(super) fn by(&self, rank: u32, at: &Location<'_>) -> Caller {
        Caller {
            signature: self.signature(),
            rank,
            text: self.text(),
            place: place(at),
        }
    }
}

/// The call of a rank, described for a report.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) signature: u64,
    pub(super) rank: u32,
    pub(super) text: String,
    pub(super) place: Place,
}

graphmap_executor::payload!(Caller {
    signature,
    rank,
    text,
    place
});

impl Caller {
    /// Returns the error for two calls that do not match. `self` is the first call, and `other` the
    /// second.
    pub(super) fn against(self, other: Caller) -> Mismatch {
        let one = |caller: Caller| (caller.rank as usize, caller.text, caller.place);
        Mismatch {
            first: one(self),
            second: one(other),
        }
    }
}

/// Returns the source position of a call.
pub(super) fn place(at: &Location<'_>) -> Place {
    at.into()
}

/// The data that a rank needs before its call completes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// The value of the root.
    Root,
    All,
}

/// Result of a collective instance.
pub(super) enum CallOutcome<R> {
    /// No result yet, or the result has been taken.
    None,
    /// One value for all ranks.
    Shared(R),
    /// One value for each rank.
    Each(Vec<Option<R>>),
    /// One value for the root.
    Root(R),
}

impl<R> CallOutcome<R> {
    /// Returns the outcome with one value for all ranks.
    pub(super) fn all(value: R) -> Self {
        CallOutcome::Shared(value)
    }
}

/// The rank that takes its part of a result.
#[derive(Clone, Copy)]
pub(super) struct Taker {
    pub(super) rank: u32,
    /// True if all other ranks of this scheduler have left the collective instance.
    pub(super) is_last: bool,
}

/// Contribution of a rank.
pub(super) enum Brought<T, R> {
    /// A value to combine with the values of other ranks.
    Part(T),
    /// No value. Another rank contributes the data.
    Nothing,
    /// The result for all ranks.
    Outcome(CallOutcome<R>),
}

/// Contributions and result of a collective instance.
pub(super) struct Data<T, R> {
    /// Contributions by rank, if all ranks are on this scheduler.
    pub(super) slots: Vec<Option<T>>,
    /// Contributions of the ranks of this scheduler with their ranks, if the communicator has
    /// remote ranks.
    pub(super) parts: Vec<(u32, T)>,
    pub(super) outcome: CallOutcome<R>,
}

impl<T, R> Data<T, R> {
    pub(super) fn new() -> Self {
        Data {
            slots: Vec::new(),
            parts: Vec::new(),
            outcome: CallOutcome::None,
        }
    }

    /// Returns the value that all ranks get: a clone of it, or the value itself for the last rank.
    /// `None` if no such value exists. A result of another form is then taken as by [`Data::root`].
    pub(super) fn shared(&mut self, taker: Taker) -> Option<R>
    where
        R: Clone,
    {
        match &self.outcome {
            // The clone is user code. If it panics, the value stays here, and the rank may try
            // again.
            CallOutcome::Shared(value) if !taker.is_last => Some(value.clone()),
            _ => self.root(),
        }
    }

    /// Takes the whole result. `None` if it was already taken. If the result has one value for each
    /// rank, it is dropped, and the function returns `None`.
    pub(super) fn root(&mut self) -> Option<R> {
        match std::mem::replace(&mut self.outcome, CallOutcome::None) {
            CallOutcome::Shared(value) | CallOutcome::Root(value) => Some(value),
            CallOutcome::None | CallOutcome::Each(_) => None,
        }
    }

    /// Takes the part of a rank, and leaves the other parts. `None` if it was already taken, if the
    /// rank does not exist, or if the result is not one value for each rank.
    pub(super) fn part(&mut self, rank: u32) -> Option<R> {
        match &mut self.outcome {
            CallOutcome::Each(parts) => parts.get_mut(rank as usize)?.take(),
            _ => None,
        }
    }
}

/// Computes the result of a call from the contributions of its ranks.
pub(super) trait Combine<T, R>: 'static {
    /// Combines contributions before they are sent to another scheduler. Contributions of
    /// consecutive ranks may become one, with the rank of the first. `parts` ascends by rank. By
    /// default, returns `parts` unchanged.
    fn combine(&mut self, parts: Vec<(u32, T)>) -> Vec<(u32, T)> {
        parts
    }

    /// Computes the result from all contributions, in the order of ranks. Some of them may have
    /// been combined.
    fn make(self, all: Vec<T>) -> CallOutcome<R>;
}

impl<T, R, F: FnOnce(Vec<T>) -> CallOutcome<R> + 'static> Combine<T, R> for F {
    fn make(self, all: Vec<T>) -> CallOutcome<R> {
        self(all)
    }
}

/// Combines contributions by an operation on two of them at a time.
pub(super) struct Reduction<Op, R> {
    pub(super) op: Op,
    pub(super) outcome: fn(R) -> CallOutcome<R>,
}

impl<T: 'static, Op: FnMut(T, T) -> T + 'static> Combine<T, T> for Reduction<Op, T> {
    fn combine(&mut self, parts: Vec<(u32, T)>) -> Vec<(u32, T)> {
        let mut runs: Vec<(u32, T)> = Vec::new();
        let mut next = None;
        for (rank, part) in parts {
            match runs.pop() {
                Some((first, run)) if next == Some(rank) => {
                    runs.push((first, (self.op)(run, part)))
                }
                before => {
                    runs.extend(before);
                    runs.push((rank, part));
                }
            }
            next = rank.checked_add(1);
        }
        runs
    }

    fn make(self, all: Vec<T>) -> CallOutcome<T> {
        let Reduction { op, outcome } = self;
        all.into_iter()
            .reduce(op)
            .map_or(CallOutcome::None, outcome)
    }
}
