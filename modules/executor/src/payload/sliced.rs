//! A message whose large slices stay in the value that they are of until they have been sent: it is kept as long. So they are
//! copied once at this side, where they go, whenever there is room for them (`writev` of POSIX, of memory that is owned).

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;

use super::encoder::LARGE;
use super::format::Format;
use super::remote::RemoteSlice;
use super::{Encoder, gather};

/// Most bytes of a value beside its slices, and of what is told of these: every link sends them in one frame, the
/// [`head`](SlicedMessage::head).
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
    align: usize,
}

/// A value that was kept while it was sent, and the number of the channel it went over.
pub type SentValue = (u32, Box<dyn Any>);

/// The bytes of a value: those that were copied, with what is to be known of the slices, and the slices, of which one is large.
pub struct SlicedMessage {
    channel: u32,
    head: Vec<u8>,
    slices: Vec<Slice>,
    /// How many bytes all of it has.
    len: usize,
    /// From `Box::into_raw`: nobody takes a reference to it before it is given back.
    value: Option<NonNull<dyn Any>>,
}

impl SlicedMessage {
    /// Of a value that goes over the channel of this number, by a link that sends slices of at most so many bytes. The value back: it
    /// is to be copied, as it has a longer one, too much beside its slices, or no large one (it may name others each time).
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
        // SAFETY: it is a value, of which there is no other reference, and which stays where it is. The code of the user that is called
        // sees it as shared, as does what is done with the slices until it is given back: until then they are what they are.
        let (copied, left) = format.slices(unsafe { &*raw }, LEAST);
        let lens = || left.iter().map(|slice| slice.bytes.len());
        let beside = copied.len() + size_of_val(&*left);
        if beside > MOST_IN_HEAD
            || !lens().any(|len| len >= LARGE)
            || lens().any(|len| len > longest)
        {
            message.value = None;
            // SAFETY: it came from a box, of this type, and the slices of it are not looked at any more.
            return Err(*unsafe { Box::from_raw(raw) });
        }
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
                align,
            });
        }
        message.head = Encoder::behind(vec![0; LENGTH], &(told, copied));
        let rest = message.head.len() - LENGTH;
        message.head[..LENGTH].copy_from_slice(&(rest as u32).to_ne_bytes());
        message.len = message.head.len() + at as usize;
        Ok(message)
    }

    /// What it begins with: how long that is, what was copied, and what is to be known of the slices.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// How many slices there are.
    pub fn count(&self) -> usize {
        self.slices.len()
    }

    /// One of the slices, and the alignment of its elements.
    pub fn slice(&self, at: usize) -> (&[u8], usize) {
        let Slice { start, len, align } = self.slices[at];
        // SAFETY: the value is kept and not touched, so it is there, for as long as the message is borrowed.
        let bytes = unsafe { NonNull::slice_from_raw_parts(start, len).as_ref() };
        (bytes, align)
    }

    /// How many bytes all of it has.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// So many bytes at most from a place on, in pieces.
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

    /// All of its bytes, and the value, which is not needed for them any more.
    #[doc(hidden)]
    pub fn copied(self) -> (Vec<u8>, Option<SentValue>) {
        let bytes = self.pieces(0, self.len).concat();
        (bytes, self.into_value())
    }

    /// The value, of which nothing is to be sent any more. To drop it is code of the user.
    pub fn into_value(mut self) -> Option<SentValue> {
        let value = self.take_value()?;
        Some((self.channel, value))
    }

    fn take_value(&mut self) -> Option<Box<dyn Any>> {
        self.slices.clear();
        let value = self.value.take()?;
        // SAFETY: it came from a box, is given back once, and no slice of it is left.
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
