//! Vectors sent as slices are, without a copy: what a floor above has packed.

use std::panic::Location;

use super::arrivals::EAGER_BYTES;
use super::communicator::Communicator;
use super::envelope::Envelope;
use super::matching::Mode;
use super::packed::Packed;
use super::parcel::Parcel;
use super::request::Sending;
use super::value::Value;
use super::world::wake_next;

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
        let mode = match size_of_val(&values[..]) > EAGER_BYTES {
            true => Mode::Synchronous,
            false => Mode::Standard,
        };
        // The short way: a receive waits for it.
        if let Some(home) = u32::try_from(dest)
            .ok()
            .and_then(|dest| self.group().at(dest))
            && tag >= 0
        {
            let shared = self.shared();
            let envelope = Envelope::new(shared.number(), Some(self.rank() as u32), Some(tag));
            let mut matching = shared.world.matching.borrow_mut();
            if matching.straight
                && let Some(entry) = matching.hand(home, envelope)
            {
                entry.put(Parcel::many(values));
                let word = std::mem::take(&mut entry.word);
                drop(matching);
                wake_next(word);
                return Sending::done();
            }
        }
        self.post(Parcel::many(values), dest, tag, mode, Location::caller())
    }

    /// As [`ssend`](Self::ssend).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn ssend_vec<T: Value + Copy>(&self, values: Vec<T>, dest: usize, tag: i32) -> Sending {
        let (parcel, at) = (Parcel::many(values), Location::caller());
        self.post(parcel, dest, tag, Mode::Synchronous, at)
    }

    /// As [`bsend`](Self::bsend).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn bsend_vec<T: Value + Copy>(&self, values: Vec<T>, dest: usize, tag: i32) -> Sending {
        let (parcel, at) = (Parcel::many(values), Location::caller());
        self.post(parcel, dest, tag, Mode::Buffered, at)
    }

    /// As [`rsend`](Self::rsend).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn rsend_vec<T: Value + Copy>(&self, values: Vec<T>, dest: usize, tag: i32) -> Sending {
        let (parcel, at) = (Parcel::many(values), Location::caller());
        self.post(parcel, dest, tag, Mode::Ready, at)
    }

    /// As [`send_slice`](Self::send_slice), of elements that were packed.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    #[inline]
    pub fn send_packed(&self, packed: Packed, dest: usize, tag: i32) -> Sending {
        match packed.len() > EAGER_BYTES {
            true => self.ssend(packed, dest, tag),
            false => self.send(packed, dest, tag),
        }
    }
}
