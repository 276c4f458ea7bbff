//! Vectors sent as slices are, without a copy: what a floor above has packed.

use std::panic::Location;
use std::ptr::NonNull;

use super::communicator::Communicator;
use super::envelope::{Source, TagOf};
use super::matching::SendMode;
use super::packed::Packed;
use super::parcel::Parcel;
use super::receive_buffer::ReceiveBuffer;
use super::request::{Receiving, Sending};
use super::value::Value;

/// # Vectors
///
/// Each is sent as a [slice](Communicator::send_slice) is: of a message that was found it can be told how many elements it has, and
/// it may be received into a slice or as a vector. It is moved, not copied.
impl Communicator {
    /// As [`send_slice`](Self::send_slice).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn send_vec<T: Value + Copy>(&self, values: Vec<T>, dest: usize, tag: i32) -> Sending {
        let mode = SendMode::Standard.of_bytes(size_of_val(&values[..]));
        self.send_by(
            |_| Parcel::many(values),
            dest,
            tag,
            mode,
            Location::caller(),
        )
    }

    /// As [`ssend`](Self::ssend).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn ssend_vec<T: Value + Copy>(&self, values: Vec<T>, dest: usize, tag: i32) -> Sending {
        let (parcel, at) = (Parcel::many(values), Location::caller());
        self.post(parcel, dest, tag, SendMode::Synchronous, at)
    }

    /// As [`bsend`](Self::bsend).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn bsend_vec<T: Value + Copy>(&self, values: Vec<T>, dest: usize, tag: i32) -> Sending {
        let (parcel, at) = (Parcel::many(values), Location::caller());
        self.post(parcel, dest, tag, SendMode::Buffered, at)
    }

    /// As [`rsend`](Self::rsend).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn rsend_vec<T: Value + Copy>(&self, values: Vec<T>, dest: usize, tag: i32) -> Sending {
        let (parcel, at) = (Parcel::many(values), Location::caller());
        self.post(parcel, dest, tag, SendMode::Ready, at)
    }

    /// As [`send_slice`](Self::send_slice), of elements that lie as they are packed: received as [`Packed`]. They are copied once, if a
    /// receive [into a buffer](Self::recv_packed_at) waits for them.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    #[inline]
    pub fn send_bytes(&self, bytes: &[u8], dest: usize, tag: i32, mode: SendMode) -> Sending {
        let mode = mode.of_bytes(bytes.len());
        let parcel = |buffer: Option<&mut ReceiveBuffer>| {
            let placed = buffer.and_then(|buffer| buffer.put(bytes));
            placed.unwrap_or_else(|| Parcel::one(Packed::from(bytes)))
        };
        self.send_by(parcel, dest, tag, mode, Location::caller())
    }

    /// Receives what was packed, as [`recv`](Self::recv) does, or has it put in a buffer by who sends it, if it is sent
    /// [as bytes](Self::send_bytes) that have room there. What is received is empty then, and
    /// [`Status::count`](super::Status::count) is how many have been put there.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    ///
    /// # Safety
    /// Until what is returned is done or dropped, so many bytes may be written there, and read again, by this thread at any time, and nobody else uses them,
    /// nor moves a `Box` or a reference that has them. To forget it ends neither.
    #[track_caller]
    #[inline]
    pub unsafe fn recv_packed_at(
        &self,
        to: NonNull<u8>,
        room: usize,
        source: Source,
        tag: TagOf,
    ) -> Receiving<Packed> {
        let receiving = self.recv_at(source, tag, Location::caller());
        // SAFETY: as the caller says. It waits no longer than what is returned.
        receiving.into_buffer(unsafe { ReceiveBuffer::new(to, room) })
    }

    /// As [`send_slice`](Self::send_slice), of elements that were packed.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    #[inline]
    pub fn send_packed(&self, packed: Packed, dest: usize, tag: i32, mode: SendMode) -> Sending {
        let mode = mode.of_bytes(packed.len());
        self.send_by(|_| Parcel::one(packed), dest, tag, mode, Location::caller())
    }
}
