//! Errors: invalid input, and problems without a mapping.

use std::fmt;

/// Reason why there is no solution.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The input contradicts itself or cannot be represented.
    Input(String),
    /// No mapping satisfies the constraints, or none was found.
    Infeasible(Conflict),
    /// No strategy has this name.
    UnknownStrategy {
        /// Name that was requested.
        name: String,
        /// Names of all strategies.
        known: Vec<&'static str>,
    },
    /// The strategy is not compiled in.
    LeftOut {
        /// Name that was requested.
        name: &'static str,
        /// Feature of this crate, and of graphmap, that contains the strategy.
        feature: &'static str,
    },
    /// A solver failed, with its message.
    Solver(String),
    /// A strategy that the caller added failed or returned an invalid mapping.
    Strategy {
        /// Name of the strategy.
        name: String,
        /// Description of the failure.
        said: String,
    },
}

/// Constraints and capacities that cannot all be satisfied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Participants. They may include some that are not necessary, unless `minimal` is true.
    pub parts: Vec<Part>,
    /// True if it is proved that without any one of the parts the others can be satisfied.
    pub minimal: bool,
    /// True if it is proved that no mapping exists. False if the search only failed to find one.
    pub proved: bool,
    /// Reason in one sentence, for the user.
    pub reason: String,
}

/// One participant of a [`Conflict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Constraint, by its index in the caller's list.
    Constraint(usize),
    /// Memory of a block.
    Memory(u32),
    /// Slots of a block.
    Slots(u32),
    /// Balance limit of a block.
    Balance(u32),
    /// Vertex that fits into no block.
    Vertex(u32),
}

impl Conflict {
    /// Returns an error that reports that no mapping was found, without a proof.
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
