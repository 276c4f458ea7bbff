//! The bytes of a payload, to be gathered: bytes that were copied, and between them slices that are
//! still in the value. So a slice of medium size is copied once, into its frame, and not into a
//! buffer before (like `writev` of POSIX for files).

/// Minimum size in bytes of a slice that is gathered: copying it takes longer than storing its
/// position.
pub(super) const WORTH: usize = 1 << 10;
/// Maximum number of slices of a payload that are gathered. Further ones are copied.
const MOST: usize = 4;

/// A slice that is left in the value.
#[derive(Debug)]
#[doc(hidden)]
pub struct Slice<'a> {
    /// Number of bytes of the value that were copied before it.
    #[doc(hidden)]
    pub copied: usize,
    #[doc(hidden)]
    pub bytes: &'a [u8],
    /// Alignment of its elements.
    #[doc(hidden)]
    pub align: usize,
}

/// The result of [`Format::gather`](super::Format::gather).
#[derive(Debug)]
#[doc(hidden)]
pub struct Pieces<'a> {
    copied: Vec<u8>,
    /// The slices, each with the number of bytes that were copied before it.
    slices: Slices<'a>,
}

/// Slices of a value, in order.
#[derive(Debug, Default)]
pub(super) struct Slices<'a> {
    some: [(usize, &'a [u8]); MOST],
    count: usize,
}

impl<'a> Slices<'a> {
    /// Stores a slice, with the number of bytes that were copied before it. Returns false, without
    /// storing it, if there are already [`MOST`] slices.
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

    /// Appends a copy of `bytes` after all others.
    #[inline]
    #[doc(hidden)]
    pub fn add_last(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
    }

    /// Calls `f` with pieces whose concatenation is the bytes of the payload, and returns its
    /// result. Pieces may be empty.
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

    /// Returns all bytes in one piece, in the buffer of the copied bytes. The copied bytes are
    /// moved from the end on, so that each of them moves once.
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

    /// Returns the buffer for reuse. It contains the copied bytes, but not those of the slices.
    #[doc(hidden)]
    pub fn into_buffer(self) -> Vec<u8> {
        self.copied
    }
}
