//! A collective call: which it is, what its ranks bring, and what comes of it.

use std::panic::Location;

use super::envelope::Mixer;
use super::error::Mismatch;
use super::parcel;
use graphmap_executor::place::Place;
use std::hash::{Hash, Hasher};

/// Which call it is. All ranks have to make the same.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) root: Option<usize>,
    /// The number of the type of what the ranks bring.
    of: u64,
    type_name: &'static str,
}

impl Call {
    pub(super) fn new<T: 'static>(name: &'static str, root: Option<usize>) -> Self {
        Call {
            name,
            root,
            of: parcel::number::<T>(),
            type_name: std::any::type_name::<T>(),
        }
    }

    /// A number that calls which do not go together do not have in common.
    pub(super) fn sign(&self) -> u64 {
        let mut mixer = Mixer::default();
        (self.name, self.root, self.of).hash(&mut mixer);
        mixer.finish()
    }

    pub(super) fn fits(&self, other: &Call) -> bool {
        self.name == other.name && self.root == other.root && self.of == other.of
    }

    pub(super) fn text(&self) -> String {
        match (self.root, self.type_name) {
            (None, "()") => self.name.to_string(),
            (None, name) => format!("{} of `{name}`", self.name),
            (Some(root), name) => format!("{} of `{name}` with root {root}", self.name),
        }
    }

    /// The call as a rank makes it.
    pub(super) fn by(&self, rank: u32, at: &Location<'_>) -> Caller {
        Caller {
            sign: self.sign(),
            rank,
            text: self.text(),
            place: place(at),
        }
    }
}

/// A rank that has made a call, in words.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) sign: u64,
    pub(super) rank: u32,
    pub(super) text: String,
    pub(super) place: Place,
}

graphmap_executor::payload!(Caller {
    sign,
    rank,
    text,
    place
});

impl Caller {
    /// The calls of two ranks that do not go together.
    pub(super) fn against(self, other: Caller) -> Mismatch {
        let one = |caller: Caller| (caller.rank as usize, caller.text, caller.place);
        Mismatch {
            first: one(self),
            second: one(other),
        }
    }
}

/// A place in the program.
pub(super) fn place(at: &Location<'_>) -> Place {
    Place {
        file: at.file().to_string(),
        line: at.line().into(),
        column: at.column().into(),
    }
}

/// What a rank needs before it goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// What the root brings.
    Root,
    All,
}

/// What comes of a round.
pub(super) enum CallOutcome<R> {
    /// There is none yet, or it has been taken.
    None,
    /// One for all.
    Shared(R),
    /// One for each.
    Each(Vec<Option<R>>),
    /// One for the root.
    Root(R),
}

impl<R> CallOutcome<R> {
    /// One for all.
    pub(super) fn all(value: R) -> Self {
        CallOutcome::Shared(value)
    }
}

/// The rank that takes its share of an outcome.
#[derive(Clone, Copy)]
pub(super) struct Taker {
    pub(super) rank: u32,
    /// Whether all other ranks here have left the round.
    pub(super) is_last: bool,
}

/// What a rank brings.
pub(super) enum Brought<T, R> {
    /// Its part.
    Part(T),
    /// Nothing: another brings what is needed.
    Nothing,
    /// What all need.
    Outcome(CallOutcome<R>),
}

/// What the ranks bring to a round, and what comes of it.
pub(super) struct Data<T, R> {
    /// By rank, where all ranks are here.
    pub(super) slots: Vec<Option<T>>,
    /// Where they are not: the parts of those here, each with its rank.
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
    pub(super) fn shared(&mut self, taker: Taker) -> Option<R>
    where
        R: Clone,
    {
        match &self.outcome {
            // Code of the user. If it panics, the rank may ask again.
            CallOutcome::Shared(value) if !taker.is_last => Some(value.clone()),
            _ => self.root(),
        }
    }

    /// All of it.
    pub(super) fn root(&mut self) -> Option<R> {
        match std::mem::replace(&mut self.outcome, CallOutcome::None) {
            CallOutcome::Shared(value) | CallOutcome::Root(value) => Some(value),
            CallOutcome::None | CallOutcome::Each(_) => None,
        }
    }

    /// The part of a rank.
    pub(super) fn part(&mut self, rank: u32) -> Option<R> {
        match &mut self.outcome {
            CallOutcome::Each(parts) => parts.get_mut(rank as usize)?.take(),
            _ => None,
        }
    }
}

/// How the result of a call is made of what its ranks bring.
pub(super) trait Combine<T, R>: 'static {
    /// Before parts go elsewhere: those of neighbouring ranks may become one, of the first of them. They are in order.
    fn combine(&mut self, parts: Vec<(u32, T)>) -> Vec<(u32, T)> {
        parts
    }

    /// The result of all that there is, in the order of ranks.
    fn make(self, all: Vec<T>) -> CallOutcome<R>;
}

impl<T, R, F: FnOnce(Vec<T>) -> CallOutcome<R> + 'static> Combine<T, R> for F {
    fn make(self, all: Vec<T>) -> CallOutcome<R> {
        self(all)
    }
}

/// A result that an operation makes of two parts at a time.
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
