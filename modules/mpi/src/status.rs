//! What is told of a message.

use std::fmt;

use crate::abi::{MPI_Status, MPI_UNDEFINED};
use crate::datatype::traits::Datatype;
use crate::topology::Rank;
use crate::{Count, Tag};

/// What is told of a message.
#[derive(Clone, Copy)]
pub struct Status(MPI_Status);

impl Status {
    /// Of what MPI's C interface has.
    pub fn from_raw(status: MPI_Status) -> Status {
        Status(status)
    }

    /// The rank that has sent it.
    pub fn source_rank(&self) -> Rank {
        self.0.MPI_SOURCE
    }

    /// Its tag.
    pub fn tag(&self) -> Tag {
        self.0.MPI_TAG
    }

    /// How many elements of a datatype it has; -32766 (`MPI_UNDEFINED`) if it ends within one.
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
