//! Buffer of a posted receive, into which the sender copies the bytes directly.

use std::ptr::{self, NonNull};
use std::slice;

use super::packed::Packed;

/// The buffer of a receive, for its entry.
pub(super) struct ReceiveBuffer {
    to: NonNull<u8>,
    /// Size of the buffer in bytes.
    room: usize,
    /// Number of bytes that have been written.
    put: usize,
}

impl ReceiveBuffer {
    /// Creates a buffer of `room` bytes at `to`.
    ///
    /// # Safety
    /// Until the receive is over, the `room` bytes at `to` must be valid for writes, and for reads
    /// of the bytes that were written. They must not be used otherwise.
    pub(super) unsafe fn new(to: NonNull<u8>, room: usize) -> Self {
        ReceiveBuffer { to, room, put: 0 }
    }

    /// Writes `bytes` to the beginning of the buffer, and returns true. Writes nothing and returns
    /// false if they do not fit. The receive must still be posted.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() > self.room {
            return false;
        }
        // SAFETY: the bytes fit, and the contract of `new` holds because the receive is not over.
        // The bytes of the sender may overlap the buffer, so this uses `copy`.
        unsafe { ptr::copy(bytes.as_ptr(), self.to.as_ptr(), bytes.len()) };
        self.put = bytes.len();
        true
    }

    /// Returns a copy of the bytes that the last call of [`put`](Self::put) wrote. They are empty
    /// if there was no such call.
    pub(super) fn take_back(self) -> Packed {
        // SAFETY: `put` bytes have been written, and the contract of `new` holds because this is
        // called before the receive ends.
        let bytes = unsafe { slice::from_raw_parts(self.to.as_ptr(), self.put) };
        Packed::from(bytes)
    }
}
