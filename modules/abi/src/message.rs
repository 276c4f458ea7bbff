//! Arguments of calls that send or receive.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use graphmap_runtime::mpi as core;
use graphmap_runtime::mpi::SendMode;

use crate::abi::{Comm, Datatype, Status};
use crate::buffer::Elements;
use crate::communicator::{Communicator, Communicators};
use crate::error::{Done, fail};
use crate::rank::{Part as _, Rank};

/// Elements to send or to receive, with the communicator: the arguments that all calls here share.
#[derive(Clone)]
pub(crate) struct Side {
    pub(crate) by: Rc<Communicator>,
    pub(crate) elements: Elements,
}

impl Side {
    /// Checks the arguments.
    #[inline(always)]
    pub(crate) fn new(
        this: &Rank,
        address: *const c_void,
        count: i64,
        datatype: Datatype,
        comm: Comm,
    ) -> Done<Self> {
        let by = Communicators::of(this).get(comm)?;
        // Other implementations accept this, and programs use it for empty messages.
        let datatype = match (count, datatype) {
            (0, Datatype::NULL) => Datatype::BYTE,
            _ => datatype,
        };
        let elements = Elements::new(this, address, count, datatype)?;
        // The addresses of other types may be absolute.
        if address.is_null() && elements.layout.is_contiguous() && elements.bytes() > 0 {
            return fail!(Buffer, "the buffer is null");
        }
        Ok(Side { by, elements })
    }
}

/// Elements to send to a rank.
#[derive(Clone)]
pub(crate) struct Outgoing {
    pub(crate) side: Side,
    /// Rank in the carrying communicator. `None` for `MPI_PROC_NULL`.
    pub(crate) dest: Option<usize>,
    pub(crate) tag: c_int,
}

impl Outgoing {
    /// Checks the destination and the tag.
    #[inline(always)]
    pub(crate) fn new(side: Side, dest: c_int, tag: c_int) -> Done<Self> {
        let dest = side.by.peer(dest)?.map(|dest| dest + side.by.messages().1);
        if tag < 0 {
            return fail!(Tag, "the tag {tag} is negative");
        }
        Ok(Outgoing { side, dest, tag })
    }

    /// Starts a send to `dest`.
    ///
    /// # Safety
    /// The elements must be readable.
    #[inline(always)]
    pub(crate) unsafe fn send(&self, dest: usize, mode: SendMode) -> core::Sending {
        let (messages, _) = self.side.by.messages();
        let elements = &self.side.elements;
        // SAFETY: guaranteed by the caller.
        match unsafe { elements.as_bytes() } {
            Some(bytes) => messages.send_bytes(bytes, dest, self.tag, mode),
            // SAFETY: as above.
            None => messages.send_packed(unsafe { elements.pack() }, dest, self.tag, mode),
        }
    }
}

/// Returns the status of a cancelled call.
pub(crate) fn cancelled() -> Status {
    let mut status = Status::EMPTY;
    status.set_cancelled(true);
    status
}
