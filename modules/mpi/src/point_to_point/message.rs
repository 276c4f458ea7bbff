//! Messages that were found by a matched probe.

use graphmap_runtime::mpi as core;

use crate::abi::{MPI_Message, MPI_Status};
use crate::datatype::traits::{BufferMut, Equivalence};
use crate::done;
use crate::place::{Place, status, value, values};
use crate::raw::{AsRaw, AsRawMut};
use crate::request::{Done, Request, Scope};
use crate::status::Status;

/// A message that was found by a matched probe: nobody else receives it. Who lets go of it gives it back.
#[must_use]
#[derive(Debug)]
pub struct Message {
    message: core::Message,
    status: MPI_Status,
    raw: MPI_Message,
}

impl Message {
    /// A message of a communicator in which ranks begin at `offset`.
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

    /// Whether it is from no process: there are none here.
    pub fn is_no_proc(&self) -> bool {
        false
    }

    #[track_caller]
    fn bytes(self) -> Result<(core::Packed, Status), core::Error> {
        let (bytes, _) = self.message.recv::<core::Packed>()?;
        Ok((bytes, Status::from_raw(self.status)))
    }

    /// Receives it as a value.
    ///
    /// # Panics
    /// If it is none.
    #[track_caller]
    pub fn matched_receive<Msg: Equivalence>(self) -> (Msg, Status) {
        let (bytes, status) = done(self.bytes());
        (done(value(&bytes)), status)
    }

    /// Receives it into a buffer, which may be longer.
    ///
    /// # Panics
    /// If it is shorter.
    #[track_caller]
    pub fn matched_receive_into<Buf: BufferMut + ?Sized>(self, buf: &mut Buf) -> Status {
        let (bytes, status) = done(self.bytes());
        // SAFETY: it is borrowed.
        done(unsafe { Place::of(buf).fill(&bytes) });
        status
    }

    /// Receives it into a buffer, as a request, which is done at once.
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
        let told = self.status;
        let received = self.bytes().and_then(|(bytes, _)| {
            // SAFETY: it is borrowed.
            unsafe { Place::of(buf).fill(&bytes) }?;
            Ok(told)
        });
        // SAFETY: it is borrowed as long as `'a`, and written to no more.
        unsafe { Request::begin(Done(Some(received)), buf, scope) }
    }
}

// SAFETY: it is looked at by nobody.
unsafe impl AsRaw for Message {
    type Raw = MPI_Message;

    fn as_raw(&self) -> MPI_Message {
        self.raw
    }
}

// SAFETY: likewise.
unsafe impl AsRawMut for Message {
    fn as_raw_mut(&mut self) -> *mut MPI_Message {
        &raw mut self.raw
    }
}

/// A message that was found, of which as many values are received as it has.
pub trait MatchedReceiveVec {
    /// Receives them.
    ///
    /// # Panics
    /// If it ends within one.
    fn matched_receive_vec<Msg: Equivalence>(self) -> (Vec<Msg>, Status);
}

impl MatchedReceiveVec for (Message, Status) {
    #[track_caller]
    fn matched_receive_vec<Msg: Equivalence>(self) -> (Vec<Msg>, Status) {
        let (bytes, status) = done(self.0.bytes());
        (done(values(&bytes)), status)
    }
}
