//! The bytes of a payload as they are to be gathered: those that were copied, and between them slices that are still where
//! the value has them. So a slice of some size is copied once, into the frame it goes in, and not into a buffer before
//! (what `writev` of POSIX does for files).

/// From so many bytes on a slice is worth being gathered: a copy of it takes longer than to note it.
pub(super) const WORTH: usize = 1 << 10;
/// Most slices of a payload that are; others are copied.
const MOST: usize = 4;

/// A slice of a value that is left where it is.
#[derive(Debug)]
#[doc(hidden)]
pub struct Slice<'a> {
    /// How many bytes of the value were copied before it.
    #[doc(hidden)]
    pub copied: usize,
    #[doc(hidden)]
    pub bytes: &'a [u8],
    /// What of the elements that the bytes are.
    #[doc(hidden)]
    pub align: usize,
}

/// What [`Format::gather`](super::Format::gather) gives.
#[derive(Debug)]
#[doc(hidden)]
pub struct Pieces<'a> {
    copied: Vec<u8>,
    /// Each with how many bytes were copied before it.
    slices: Slices<'a>,
}

/// Slices of a value, in its order.
#[derive(Debug, Default)]
pub(super) struct Slices<'a> {
    some: [(usize, &'a [u8]); MOST],
    count: usize,
}

impl<'a> Slices<'a> {
    /// Notes a slice before which so many bytes were copied; false: there are too many.
    pub(super) fn push(&mut self, before: usize, slice: &'a [u8]) -> bool {
        let free = self.some.get_mut(self.count);
        let is_free = free.is_some();
        if let Some(free) = free {
            *free = (before, slice);
            self.count += 1;
        }
        is_free
    }
}

impl<'a> Pieces<'a> {
    pub(super) fn new(copied: Vec<u8>, slices: Slices<'a>) -> Self {
        Pieces { copied, slices }
    }

    /// Adds bytes behind all others.
    #[inline]
    #[doc(hidden)]
    pub fn add_last(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
    }

    /// Calls `f` with the bytes, in pieces.
    #[inline]
    #[doc(hidden)]
    pub fn with_pieces<R>(&self, f: impl FnOnce(&[&[u8]]) -> R) -> R {
        let Slices { some, count } = &self.slices;
        let mut pieces: [&[u8]; 2 * MOST + 1] = [&[]; _];
        let mut from = 0;
        for (at, &(before, slice)) in some[..*count].iter().enumerate() {
            pieces[2 * at] = &self.copied[from..before];
            pieces[2 * at + 1] = slice;
            from = before;
        }
        pieces[2 * count] = &self.copied[from..];
        f(&pieces[..=2 * count])
    }

    /// All of them in one piece, in the buffer that bytes were copied into: from the end on, so that each moves once.
    #[doc(hidden)]
    pub fn into_vec(self) -> Vec<u8> {
        let Pieces {
            copied: mut all,
            slices: Slices { some, count },
        } = self;
        let mut from = all.len();
        let slices = &some[..count];
        let mut to = from + slices.iter().map(|(_, slice)| slice.len()).sum::<usize>();
        all.resize(to, 0);
        for (before, slice) in slices.iter().rev() {
            to -= from - before;
            all.copy_within(*before..from, to);
            to -= slice.len();
            all[to..to + slice.len()].copy_from_slice(slice);
            from = *before;
        }
        all
    }

    /// The buffer that bytes were copied into, to be used again.
    #[doc(hidden)]
    pub fn into_buffer(self) -> Vec<u8> {
        self.copied
    }
}
