//! Sends of vectors without a copy, and of bytes that a higher layer has packed.

use std::panic::Location;
use std::ptr::NonNull;

use super::communicator::Communicator;
use super::envelope::{Source, TagOf};
use super::erased::Erased;
use super::matching::SendMode;
use super::packed::Packed;
use super::receive_buffer::ReceiveBuffer;
use super::request::{Receiving, Sending};
use super::value::Value;

/// # Vectors
///
/// A vector is sent as a [slice](Communicator::send_slice): a probe reports its number of elements,
/// and it can be received into a slice or as a vector. Within an OS process, it is moved, not
/// copied.
impl Communicator {
    /// Sends a vector as [`send_slice`](Self::send_slice) sends a slice, but without a copy. If the
    /// vector has more than 64 KiB, the request completes only when the message has been received.
    ///
    /// # Errors
    /// The request completes with [`Error::Rank`](super::Error::Rank) if the communicator does not
    /// have `dest`, [`Error::Tag`](super::Error::Tag) if the tag is negative, or
    /// [`Error::Over`](super::Error::Over) if the run ends first.
    #[track_caller]
    pub fn send_vec<T: Value + Copy>(&self, values: Vec<T>, dest: usize, tag: i32) -> Sending {
        let mode = SendMode::Standard.of_bytes(size_of_val(&values[..]));
        let value = || Erased::many(values);
        self.send_by(value, None, dest, tag, mode, Location::caller())
    }

    /// Sends a vector as [`ssend`](Self::ssend) sends a value: the request completes only when a
    /// receive has taken the message.
    ///
    /// # Errors
    /// The errors of [`send_vec`](Self::send_vec).
    #[track_caller]
    pub fn ssend_vec<T: Value + Copy>(&self, values: Vec<T>, dest: usize, tag: i32) -> Sending {
        let (value, at) = (Erased::many(values), Location::caller());
        self.post(value, dest, tag, SendMode::Synchronous, at)
    }

    /// Sends a vector as [`bsend`](Self::bsend) sends a value: the request completes immediately.
    ///
    /// # Errors
    /// The errors of [`send_vec`](Self::send_vec).
    #[track_caller]
    pub fn bsend_vec<T: Value + Copy>(&self, values: Vec<T>, dest: usize, tag: i32) -> Sending {
        let (value, at) = (Erased::many(values), Location::caller());
        self.post(value, dest, tag, SendMode::Buffered, at)
    }

    /// Sends a vector as [`rsend`](Self::rsend) sends a value: to a rank that has already posted
    /// the receive.
    ///
    /// # Errors
    /// The errors of [`send_vec`](Self::send_vec), and [`Error::NotReady`](super::Error::NotReady)
    /// if no matching receive is posted. The message is then not sent.
    #[track_caller]
    pub fn rsend_vec<T: Value + Copy>(&self, values: Vec<T>, dest: usize, tag: i32) -> Sending {
        let (value, at) = (Erased::many(values), Location::caller());
        self.post(value, dest, tag, SendMode::Ready, at)
    }

    /// Sends bytes that are already packed. A send of mode [`SendMode::Standard`] completes like
    /// [`send_slice`](Self::send_slice), and other modes like the send of that mode. The bytes are
    /// received as [`Packed`] or as a vector. They are copied only once if a receive [into a
    /// buffer](Self::recv_packed_at) on the same scheduler waits for them.
    ///
    /// # Errors
    /// The errors of [`send_vec`](Self::send_vec). [`Error::NotReady`](super::Error::NotReady) as
    /// for [`rsend`](Self::rsend).
    #[track_caller]
    #[inline]
    pub fn send_bytes(&self, bytes: &[u8], dest: usize, tag: i32, mode: SendMode) -> Sending {
        let mode = mode.of_bytes(bytes.len());
        let value = || Erased::one(Packed::from(bytes));
        self.send_by(value, Some(bytes), dest, tag, mode, Location::caller())
    }

    /// Receives packed bytes as [`recv`](Self::recv), or directly into a buffer. The buffer has
    /// `room` bytes at `to`. It is used if the bytes fit, a rank of the same scheduler sends them
    /// with [`send_bytes`](Self::send_bytes) after this call, and the run does not count messages
    /// for a profile. Then the received value is empty, and [`Status::count`](super::Status::count)
    /// is the number of bytes in the buffer.
    ///
    /// # Errors
    /// The errors of [`recv`](Self::recv). The bytes are never truncated: if they do not fit, the
    /// received value contains them.
    ///
    /// # Safety
    /// Until the returned future has completed or is dropped, the `room` bytes at `to` must be
    /// valid for writes by this thread at any time, and for reads of the bytes that were written.
    /// They must not be used otherwise, and a `Box` or a reference to them must not be moved.
    /// Forgetting the future does not end these obligations.
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
        // SAFETY: the caller guarantees the contract until the returned future has completed or is
        // dropped, which also ends the receive.
        receiving.into_buffer(unsafe { ReceiveBuffer::new(to, room) })
    }

    /// Sends packed elements like [`send_bytes`](Self::send_bytes), but moves them.
    ///
    /// # Errors
    /// The errors of [`send_bytes`](Self::send_bytes).
    #[track_caller]
    #[inline]
    pub fn send_packed(&self, packed: Packed, dest: usize, tag: i32, mode: SendMode) -> Sending {
        let mode = mode.of_bytes(packed.len());
        let value = || Erased::one(packed);
        self.send_by(value, None, dest, tag, mode, Location::caller())
    }
}
