//! Messages that a matched probe has found.

use graphmap_runtime::mpi as core;

use crate::abi::{MPI_Message, MPI_Status};
use crate::buffer_range::{BufferRange, status, value, values};
use crate::datatype::traits::{BufferMut, Equivalence};
use crate::done;
use crate::raw::{AsRaw, AsRawMut};
use crate::request::{Done, Request, Scope};
use crate::status::Status;

/// A message that a matched probe has found. No other receive takes it. If it is dropped, it can be
/// received again.
#[must_use]
#[derive(Debug)]
pub struct Message {
    message: core::Message,
    status: MPI_Status,
    raw: MPI_Message,
}

impl Message {
    /// Wraps a message and its status. `offset` is the rank in the carrying communicator that is
    /// rank 0 for the program.
    pub(super) fn found(message: core::Message, offset: usize) -> (Message, Status) {
        let status = status(message.status(), offset);
        let raw = MPI_Message(std::ptr::null());
        let message = Message {
            message,
            status,
            raw,
        };
        (message, Status::from_raw(status))
    }

    /// Returns false, because messages from `MPI_PROC_NULL` do not exist here.
    pub fn is_no_proc(&self) -> bool {
        false
    }

    #[track_caller]
    fn bytes(self) -> Result<(core::Packed, Status), core::Error> {
        let (bytes, _) = self.message.recv::<core::Packed>()?;
        Ok((bytes, Status::from_raw(self.status)))
    }

    /// Receives the message as a value. Does not block.
    ///
    /// # Panics
    /// If the size of the message is not the size of a value, or if the run has ended. Also if a
    /// byte is not a valid `bool`, or if the datatype of `Msg` extends beyond a value.
    #[track_caller]
    pub fn matched_receive<Msg: Equivalence>(self) -> (Msg, Status) {
        let (bytes, status) = done(self.bytes());
        (done(value(&bytes)), status)
    }

    /// Receives the message into a buffer, which may be longer than the message: its other elements
    /// stay unchanged. Does not block.
    ///
    /// # Panics
    /// If the buffer is shorter than the message, if a byte is not a valid `bool`, or if the run
    /// has ended.
    #[track_caller]
    pub fn matched_receive_into<Buf: BufferMut + ?Sized>(self, buf: &mut Buf) -> Status {
        let (bytes, status) = done(self.bytes());
        // SAFETY: the buffer is borrowed.
        done(unsafe { BufferRange::of(buf).fill(&bytes) });
        status
    }

    /// Receives the message into a buffer at once, and returns a request whose call is done. The
    /// errors for which [`matched_receive_into`](Self::matched_receive_into) panics are errors of
    /// the request.
    #[track_caller]
    pub fn immediate_matched_receive_into<'a, Sc, Buf>(
        self,
        scope: Sc,
        buf: &'a mut Buf,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let status = self.status;
        let received = self.bytes().and_then(|(bytes, _)| {
            // SAFETY: the buffer is borrowed.
            unsafe { BufferRange::of(buf).fill(&bytes) }?;
            Ok(status)
        });
        // SAFETY: the buffer is borrowed for `'a`, and the request does not write to it.
        unsafe { Request::begin(Done(Some(received)), buf, scope) }
    }
}

// SAFETY: the handle is null, and no function of this crate dereferences it.
unsafe impl AsRaw for Message {
    type Raw = MPI_Message;

    fn as_raw(&self) -> MPI_Message {
        self.raw
    }
}

// SAFETY: as for `AsRaw`.
unsafe impl AsRawMut for Message {
    fn as_raw_mut(&mut self) -> *mut MPI_Message {
        &raw mut self.raw
    }
}

/// Receives a message of any length into a new vector.
pub trait MatchedReceiveVec {
    /// Receives all values of the message. Returns no values if values have a size of 0.
    ///
    /// # Panics
    /// If the length of the message is not a multiple of the size of a value, or if the run has
    /// ended. Also if a byte is not a valid `bool`, or if the extent of the datatype is not the
    /// size of a value.
    fn matched_receive_vec<Msg: Equivalence>(self) -> (Vec<Msg>, Status);
}

impl MatchedReceiveVec for (Message, Status) {
    #[track_caller]
    fn matched_receive_vec<Msg: Equivalence>(self) -> (Vec<Msg>, Status) {
        let (bytes, status) = done(self.0.bytes());
        (done(values(&bytes)), status)
    }
}
