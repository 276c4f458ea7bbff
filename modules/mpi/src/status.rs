//! Status of a message.

use std::fmt;

use crate::abi::{MPI_Status, MPI_UNDEFINED};
use crate::datatype::traits::Datatype;
use crate::topology::Rank;
use crate::{Count, Tag};

/// Status of a message: its source, its tag and its length.
#[derive(Clone, Copy)]
pub struct Status(MPI_Status);

impl Status {
    /// Makes a status from the one of MPI's C interface.
    pub fn from_raw(status: MPI_Status) -> Status {
        Status(status)
    }

    /// Returns the rank that has sent the message. Returns -2 for the status of a call that
    /// received no message.
    pub fn source_rank(&self) -> Rank {
        self.0.MPI_SOURCE
    }

    /// Returns the tag of the message. Returns -1 for the status of a call that received no
    /// message.
    pub fn tag(&self) -> Tag {
        self.0.MPI_TAG
    }

    /// Returns the number of elements of datatype `d` in the message, and 0 if it is empty. Returns
    /// -32766 (`MPI_UNDEFINED`) if the message ends within an element, if it is not empty and
    /// elements have a size of 0, or if the number exceeds a `Count`.
    pub fn count<D: Datatype>(&self, d: D) -> Count {
        let size = d.as_raw().0.size;
        match self.0.bytes {
            0 => 0,
            bytes if size > 0 && bytes % size == 0 => {
                Count::try_from(bytes / size).unwrap_or(MPI_UNDEFINED)
            }
            _ => MPI_UNDEFINED,
        }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, tag) = (self.source_rank(), self.tag());
        write!(f, "Status {{ source_rank: {source}, tag: {tag} }}")
    }
}
