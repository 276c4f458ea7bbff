//! Errors in the input of a rank map.

use std::fmt;

/// Reason why a rank map cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A world rank that occurs twice in the group.
    Duplicate(u32),
    /// A rank that the group does not have.
    NoSuchRank {
        /// The requested rank.
        rank: u64,
        /// Number of members of the group.
        len: u64,
    },
    /// A range with a stride of zero, or with a stride that leads away from its end.
    BadRange {
        /// First rank.
        first: u32,
        /// Last rank.
        last: u32,
        /// Stride.
        stride: i64,
    },
    /// World ranks below 0 or above 4,294,967,295.
    BeyondRanks,
    /// An invalid topology, such as a coordinate outside the grid. The text is the reason.
    Topology(&'static str),
    /// Ranks that the requested representation cannot represent.
    Unsuitable,
    /// Bytes that do not encode a rank map. The text is the reason.
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
