//! A message whose large slices stay in the value that they are of until they have been sent: it is kept as long. So they are
//! copied once at this side, where they go, whenever there is room for them (`writev` of POSIX, of memory that is owned).

use std::any::Any;
use std::ptr::NonNull;

use super::format::Format;
use super::remote::RemoteSlice;
use super::{Encoder, gather};

/// Most bytes of a [`head`](SlicedMessage::head), which every link sends in one frame: values of more than that beside their
/// large slices are copied.
const MOST_IN_HEAD: usize = 32 << 10;
/// From so many bytes on a slice has memory of its own where it is received: less is as soon copied as that is had.
pub(super) const LEAST: usize = 4 << 10;
/// What a head begins with: how long the rest of it is.
pub(super) const LENGTH: usize = 4;

/// Bytes of the value that a message keeps.
#[derive(Clone, Copy)]
struct Slice {
    start: NonNull<u8>,
    len: usize,
}

/// The bytes of a value: those that were copied, with what is to be known of the slices, and the slices.
pub(crate) struct SlicedMessage {
    head: Vec<u8>,
    slices: Vec<Slice>,
    /// How many bytes all of it has.
    len: usize,
    /// From `Box::into_raw`: nobody takes a reference to it before it is given back.
    value: Option<NonNull<dyn Any>>,
}

impl SlicedMessage {
    /// The value back: it cannot be sent that way.
    pub(crate) fn new<T: 'static>(value: T, format: Format<T>) -> Result<Self, T> {
        let raw = Box::into_raw(Box::new(value));
        let mut message = SlicedMessage {
            head: Vec::new(),
            slices: Vec::new(),
            len: 0,
            value: NonNull::new(raw as *mut dyn Any),
        };
        // SAFETY: it is a value, of which there is no other reference, and which stays where it is. The code of the user that is called
        // sees it as shared, as does what is done with the slices until it is given back: until then they are what they are.
        let (copied, left) = format.slices(unsafe { &*raw }, LEAST);
        let (mut at, mut before) = (0, 0);
        let mut told = Vec::with_capacity(left.len());
        for gather::Slice {
            copied,
            bytes,
            align,
        } in left
        {
            told.push(RemoteSlice {
                gap: copied - std::mem::replace(&mut before, copied),
                address: at,
                len: bytes.len(),
                align,
            });
            at += bytes.len() as u64;
            message.slices.push(Slice {
                start: NonNull::from(bytes).cast(),
                len: bytes.len(),
            });
        }
        message.head = Encoder::behind(vec![0; LENGTH], &(told, copied));
        let rest = message.head.len() - LENGTH;
        if rest > MOST_IN_HEAD {
            message.value = None;
            // SAFETY: it came from a box, of this type, and the slices of it are not looked at any more.
            return Err(*unsafe { Box::from_raw(raw) });
        }
        message.head[..LENGTH].copy_from_slice(&(rest as u32).to_ne_bytes());
        message.len = message.head.len() + at as usize;
        Ok(message)
    }

    /// What it begins with: how long that is, what was copied, and what is to be known of the slices.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The slices, in their order.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &[u8]> {
        // SAFETY: the value is kept and not touched, so they are there, for as long as the message is borrowed.
        let bytes = |slice: &Slice| unsafe {
            NonNull::slice_from_raw_parts(slice.start, slice.len).as_ref()
        };
        self.slices.iter().map(bytes)
    }

    /// How many bytes all of it has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// So many bytes at most from a place on, in pieces.
    pub(crate) fn pieces(&self, from: usize, most: usize) -> Vec<&[u8]> {
        let (mut passed, mut rest) = (from, most);
        let mut pieces = Vec::with_capacity(2);
        for all in std::iter::once(self.head()).chain(self.slices()) {
            let Some(bytes) = all.get(passed..) else {
                passed -= all.len();
                continue;
            };
            passed = 0;
            let piece = &bytes[..bytes.len().min(rest)];
            rest -= piece.len();
            pieces.push(piece);
            if rest == 0 {
                break;
            }
        }
        pieces
    }

    /// The bytes from a place on, and the value, which is not needed for them any more.
    pub(crate) fn copied(mut self, from: usize) -> (Vec<u8>, Option<Box<dyn Any>>) {
        let bytes = self.pieces(from, self.len - from).concat();
        (bytes, self.take_value())
    }

    /// The value, of which nothing is to be sent any more. To drop it is code of the user.
    pub(crate) fn into_value(mut self) -> Option<Box<dyn Any>> {
        self.take_value()
    }

    fn take_value(&mut self) -> Option<Box<dyn Any>> {
        self.slices.clear();
        let value = self.value.take()?;
        // SAFETY: it came from a box, is given back once, and no slice of it is left.
        Some(unsafe { Box::from_raw(value.as_ptr()) })
    }
}

impl Drop for SlicedMessage {
    fn drop(&mut self) {
        drop(self.take_value());
    }
}
