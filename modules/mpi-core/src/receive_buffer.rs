//! Where a receive that waits would have the bytes of its message: who sends them copies them there, and nobody copies them again.

use std::ptr::{self, NonNull};
use std::slice;

use super::packed::Packed;
use super::parcel::Parcel;

/// The buffer of a receive, for its entry.
pub(super) struct ReceiveBuffer {
    to: NonNull<u8>,
    /// How many bytes have room.
    room: usize,
    /// How many have been put there.
    put: usize,
}

impl ReceiveBuffer {
    /// So many bytes from there.
    ///
    /// # Safety
    /// Until the receive is over, so many bytes may be written there and read again, and nobody else uses them.
    pub(super) unsafe fn new(to: NonNull<u8>, room: usize) -> Self {
        ReceiveBuffer { to, room, put: 0 }
    }

    /// Puts bytes there, if they have room: what the receive, which waits, has received.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) -> Option<Parcel> {
        if bytes.len() > self.room {
            return None;
        }
        // SAFETY: there is room, and the promise to `new` holds: the receive waits. Who sends may have borrowed the same bytes.
        unsafe { ptr::copy(bytes.as_ptr(), self.to.as_ptr(), bytes.len()) };
        self.put = bytes.len();
        Some(Parcel::placed(bytes.len()))
    }

    /// A copy of what has been put there.
    pub(super) fn take_back(self) -> Packed {
        // SAFETY: so many bytes have been written, and the promise to `new` holds: who ends the receive asks this before.
        let bytes = unsafe { slice::from_raw_parts(self.to.as_ptr(), self.put) };
        Packed::from(bytes)
    }
}
