//! Vectors sent as slices are, without a copy: what a floor above has packed.

use std::panic::Location;

use super::arrivals::EAGER_BYTES;
use super::communicator::Communicator;
use super::envelope::{Envelope, Source, TagOf};
use super::matching::Mode;
use super::packed::Packed;
use super::parcel::Parcel;
use super::request::{Receiving, Sending};
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

    /// As [`send_slice`](Self::send_slice), of elements that lie as they are packed: received as [`Packed`]. They are copied once, if a
    /// receive [at a place](Self::recv_packed_at) waits for them.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    #[inline]
    pub fn send_bytes(&self, bytes: &[u8], dest: usize, tag: i32) -> Sending {
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
                let target = entry.parcel.as_ref();
                let placed = target.and_then(|target| target.place(bytes));
                entry.put(placed.unwrap_or_else(|| Parcel::one(Packed::from(bytes))));
                let word = std::mem::take(&mut entry.word);
                drop(matching);
                wake_next(word);
                return Sending::done();
            }
        }
        self.send_packed(bytes.into(), dest, tag)
    }

    /// Receives what was packed, as [`recv`](Self::recv) does, or has it put where it is wanted by who sends it
    /// ([`is_placed`](Packed::is_placed)): if it is sent [as bytes](Self::send_bytes), and these are not more than there is room for.
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
        to: *mut u8,
        room: usize,
        source: Source,
        tag: TagOf,
    ) -> Receiving<Packed> {
        let receiving = self.recv_at(source, tag, Location::caller());
        // SAFETY: as the caller says. It waits no longer than what is returned.
        receiving.at(unsafe { Parcel::target(to, room) })
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
