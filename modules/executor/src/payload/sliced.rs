//! A message whose large slices stay in their value until they have been sent. The value is kept
//! until then. So the slices are copied once on this side, directly to their destination when that
//! has space (like `writev` of POSIX, with memory that is owned).

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;

use super::encoder::LARGE;
use super::format::Format;
use super::remote::RemoteSlice;
use super::{Encoder, gather};

/// Maximum number of bytes of a value beside its slices, including the description of these. Every
/// link sends them in one frame, the [`head`](SlicedMessage::head).
const MOST_IN_HEAD: usize = 32 << 10;
/// A slice of at least this many bytes gets memory of its own where it is received. For a smaller
/// one, an allocation takes as long as a copy.
pub(super) const LEAST: usize = 4 << 10;
/// Number of bytes at the start of a head that contain the length of its rest.
pub(super) const LENGTH: usize = 4;

/// Bytes of the value that a message keeps.
#[derive(Clone, Copy)]
struct Slice {
    start: NonNull<u8>,
    len: usize,
    align: usize,
}

/// A value that was kept while it was sent, and the number of its channel.
pub type SentValue = (u32, Box<dyn Any>);

/// The bytes of a value: the copied ones, with a description of the slices, and the slices. At
/// least one slice is large.
pub struct SlicedMessage {
    channel: u32,
    head: Vec<u8>,
    slices: Vec<Slice>,
    /// Total number of bytes.
    len: usize,
    /// From `Box::into_raw`. After `new`, no reference to the whole value is created before it is
    /// returned.
    value: Option<NonNull<dyn Any>>,
}

impl SlicedMessage {
    /// Creates the message of a value for the channel with this number. The link must send slices
    /// of up to `longest` bytes.
    ///
    /// # Errors
    /// Returns the value if it must be copied: it has a slice of more than `longest` bytes, more
    /// than 32 KiB beside its slices, or no slice of at least [`LARGE`] bytes. (Its encoding may
    /// return other slices each time.)
    ///
    /// # Panics
    /// Panics if the encoding of the value panics.
    #[doc(hidden)]
    pub fn new<T: 'static>(
        value: T,
        format: Format<T>,
        channel: u32,
        longest: usize,
    ) -> Result<Self, T> {
        let raw = Box::into_raw(Box::new(value));
        let mut message = SlicedMessage {
            channel,
            head: Vec::new(),
            slices: Vec::new(),
            len: 0,
            value: NonNull::new(raw as *mut dyn Any),
        };
        // SAFETY: the pointer is from a box, and the box has no other reference and does not move.
        // User code gets the value as shared. The slices are also shared borrows, until the value
        // is returned, so their bytes do not change.
        let (copied, left) = format.slices(unsafe { &*raw }, LEAST);
        let lens = || left.iter().map(|slice| slice.bytes.len());
        let beside = copied.len() + size_of_val(&*left);
        if beside > MOST_IN_HEAD
            || !lens().any(|len| len >= LARGE)
            || lens().any(|len| len > longest)
        {
            message.value = None;
            // SAFETY: the pointer is from a box of this type, and its slices are not used any more.
            return Err(*unsafe { Box::from_raw(raw) });
        }
        let (mut at, mut before) = (0, 0);
        let mut descriptions = Vec::with_capacity(left.len());
        for gather::Slice {
            copied,
            bytes,
            align,
        } in left
        {
            descriptions.push(RemoteSlice {
                gap: copied - std::mem::replace(&mut before, copied),
                address: at,
                len: bytes.len(),
                align,
            });
            at += bytes.len() as u64;
            message.slices.push(Slice {
                start: NonNull::from(bytes).cast(),
                len: bytes.len(),
                align,
            });
        }
        message.head = Encoder::behind(vec![0; LENGTH], &(descriptions, copied));
        let rest = message.head.len() - LENGTH;
        message.head[..LENGTH].copy_from_slice(&(rest as u32).to_ne_bytes());
        message.len = message.head.len() + at as usize;
        Ok(message)
    }

    /// Returns the head: the length of its rest, the description of the slices, and the bytes that
    /// were copied.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the number of slices.
    pub fn count(&self) -> usize {
        self.slices.len()
    }

    /// Returns the slice with index `at`, from 0 in the order of the value, and the alignment of
    /// its elements.
    ///
    /// # Panics
    /// Panics if `at` is not less than [`SlicedMessage::count`].
    pub fn slice(&self, at: usize) -> (&[u8], usize) {
        let Slice { start, len, align } = self.slices[at];
        // SAFETY: the value is kept and not changed, so the bytes are valid while the message is
        // borrowed.
        let bytes = unsafe { NonNull::slice_from_raw_parts(start, len).as_ref() };
        (bytes, align)
    }

    /// Returns the total number of bytes of the head and the slices.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the bytes of the message from index `from` on, but at most `most` bytes, in pieces:
    /// the head, then the slices in order. Pieces may be empty. The result has fewer bytes if the
    /// message ends before.
    #[doc(hidden)]
    pub fn pieces(&self, from: usize, most: usize) -> Vec<&[u8]> {
        let (mut passed, mut rest) = (from, most);
        let mut pieces = Vec::with_capacity(2);
        let slices = (0..self.count()).map(|at| self.slice(at).0);
        for all in std::iter::once(self.head()).chain(slices) {
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

    /// Returns a copy of all bytes of the message, and the value with the number of its channel.
    /// The bytes do not borrow from the value. The value is never `None`.
    #[doc(hidden)]
    pub fn copied(self) -> (Vec<u8>, Option<SentValue>) {
        let bytes = self.pieces(0, self.len).concat();
        (bytes, self.into_value())
    }

    /// Returns the value with the number of its channel. The message ends, so slices that have not
    /// been sent are not sent any more. Dropping the value may run user code. The result is never
    /// `None`.
    pub fn into_value(mut self) -> Option<SentValue> {
        let value = self.take_value()?;
        Some((self.channel, value))
    }

    fn take_value(&mut self) -> Option<Box<dyn Any>> {
        self.slices.clear();
        let value = self.value.take()?;
        // SAFETY: the pointer is from a box and is taken once. No slice of the value is left.
        Some(unsafe { Box::from_raw(value.as_ptr()) })
    }
}

impl fmt::Debug for SlicedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("SlicedMessage");
        all.field("len", &self.len).field("slices", &self.count());
        all.finish_non_exhaustive()
    }
}

impl Drop for SlicedMessage {
    fn drop(&mut self) {
        drop(self.take_value());
    }
}
