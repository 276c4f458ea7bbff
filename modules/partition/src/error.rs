//! What can go wrong: input that makes no sense, and instances that have no mapping.

use std::fmt;

/// Why there is no solution.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The input contradicts itself or cannot be represented.
    Input(String),
    /// No mapping satisfies the constraints.
    Infeasible(Conflict),
    /// No strategy has this name.
    UnknownStrategy {
        /// What was asked for.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// The strategy is not compiled in.
    LeftOut {
        /// What was asked for.
        name: &'static str,
        /// The feature of this crate, and of graphmap, that it comes with.
        feature: &'static str,
    },
    /// A solver failed; what it said.
    Solver(String),
    /// A strategy of somebody's own failed, or gave what is no mapping.
    Strategy {
        /// Its name.
        name: String,
        /// What is wrong.
        said: String,
    },
}

/// Constraints that cannot all hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What takes part. Not always all are needed: see `minimal`.
    pub parts: Vec<Part>,
    /// True when it is proved that without any one of the parts the rest can hold.
    pub minimal: bool,
    /// True when it is proved that no mapping exists; false when the search only found none.
    pub proved: bool,
    /// One sentence for the user.
    pub reason: String,
}

/// One participant of a [`Conflict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A constraint, by its index in the caller's list.
    Constraint(usize),
    /// The memory of a block.
    Memory(u32),
    /// The slots of a block.
    Slots(u32),
    /// The bound on the load of a block.
    Balance(u32),
    /// A vertex that fits nowhere.
    Vertex(u32),
}

impl Conflict {
    /// That no mapping was found, without a proof.
    pub(crate) fn unproved(parts: Vec<Part>, reason: &str) -> Error {
        Error::Infeasible(Self {
            parts,
            minimal: false,
            proved: false,
            reason: reason.to_owned(),
        })
    }
}

impl Error {
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) => f.write_str(message),
            Self::Infeasible(conflict) => {
                let how = if conflict.proved {
                    "no mapping exists"
                } else {
                    "no mapping found"
                };
                write!(f, "{how}: {}", conflict.reason)
            }
            Self::UnknownStrategy { name, known } => write!(
                f,
                "there is no strategy `{name}`; the strategies are {}",
                known.join(", ")
            ),
            Self::LeftOut { name, feature } => write!(
                f,
                "the strategy `{name}` is not compiled in; it requires the feature `{feature}`"
            ),
            Self::Solver(message) => write!(f, "solver: {message}"),
            Self::Strategy { name, said } => write!(f, "the strategy `{name}` failed: {said}"),
        }
    }
}

impl std::error::Error for Error {}
