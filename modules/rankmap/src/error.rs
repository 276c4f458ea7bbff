//! What can be wrong with what a rank map is made of.

use std::fmt;

/// Why there is no such rank map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A world rank stands in the group twice.
    Duplicate(u32),
    /// A rank that the group, with so many members, does not have.
    NoSuchRank {
        /// The rank asked for.
        rank: u64,
        /// How many members the group has.
        len: u64,
    },
    /// A range with a stride of zero, or that goes away from its end.
    BadRange {
        /// Where it begins.
        first: u32,
        /// Where it should end.
        last: u32,
        /// The stride.
        stride: i64,
    },
    /// World ranks below 0 or above 4,294,967,295.
    BeyondRanks,
    /// A topology that there is not, such as a coordinate outside of the grid; what about it.
    Topology(&'static str),
    /// The representation that was asked for cannot represent these ranks.
    Unsuitable,
    /// Bytes that are no rank map; what about them.
    Malformed(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Duplicate(rank) => write!(f, "world rank {rank} stands in the group twice"),
            Error::NoSuchRank { rank, len } => {
                write!(f, "there is no rank {rank} in a group of {len}")
            }
            Error::BadRange {
                first,
                last,
                stride,
            } => write!(
                f,
                "the range from {first} to {last} cannot be walked in steps of {stride}"
            ),
            Error::BeyondRanks => write!(f, "world ranks go from 0 to {}", u32::MAX),
            Error::Topology(what) => write!(f, "there is no such topology: {what}"),
            Error::Unsuitable => write!(f, "these ranks cannot be represented so"),
            Error::Malformed(what) => write!(f, "these bytes are no rank map: {what}"),
        }
    }
}

impl std::error::Error for Error {}
