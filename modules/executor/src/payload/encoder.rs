//! Encoding of payloads.

use super::gather::{Pieces, Slice, Slices, WORTH};

/// Maximum number of bytes that are allocated because of the size that a value has returned.
pub(super) const AHEAD: usize = 64 << 20;

/// A slice of at least this many bytes may be left where it is, to be read there by another OS
/// process. At about this size, one copy by the kernel takes as long as the copies into and out of
/// shared memory (`benches/runtime/run`, the row of 64 KiB).
#[doc(hidden)]
pub const LARGE: usize = 64 << 10;

/// Collects the bytes of payloads: see [`Payload::encode`](super::Payload::encode).
#[derive(Debug)]
pub struct Encoder<'a> {
    bytes: Vec<u8>,
    large: Large<'a>,
}

/// The treatment of large slices.
#[derive(Debug)]
enum Large<'a> {
    /// They are copied like all other bytes.
    Copied,
    /// They are copied. Slices of medium size are gathered.
    Gathered(Slices<'a>),
    /// As `Gathered`, but encoding only finds out whether there is a large slice.
    Sought { slices: Slices<'a>, found: bool },
    /// Slices of at least this many bytes stay where they are.
    Left(Vec<Slice<'a>>, usize),
}

impl<'a> Encoder<'a> {
    pub(super) fn with_room(size: usize) -> Self {
        Encoder {
            // The size comes from user code, so it is limited before memory is allocated.
            bytes: Vec::with_capacity(size.min(AHEAD)),
            large: Large::Copied,
        }
    }

    /// Creates an encoder that appends to other bytes, and copies all slices.
    pub(super) fn behind_bytes(bytes: Vec<u8>) -> Self {
        Encoder {
            bytes,
            large: Large::Copied,
        }
    }

    /// Creates an encoder with a buffer for reuse, which copies all slices. The previous contents
    /// of the buffer are discarded.
    pub(super) fn with_buffer(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Encoder {
            bytes,
            large: Large::Copied,
        }
    }

    /// Creates an encoder with a buffer, as [`Encoder::with_buffer`] does, that gathers slices of
    /// medium size. If `seeks` is true, the bytes of large slices are left out, and
    /// [`Encoder::into_gather`] then returns an error. Otherwise they are copied.
    pub(super) fn gathering(bytes: Vec<u8>, seeks: bool) -> Self {
        let slices = Slices::default();
        let large = match seeks {
            true => Large::Sought {
                slices,
                found: false,
            },
            false => Large::Gathered(slices),
        };
        Encoder {
            large,
            ..Encoder::with_buffer(bytes)
        }
    }

    /// Creates an encoder that leaves slices of at least `least` bytes where they are. `least`
    /// should not be less than the size from which slices are gathered, because smaller slices are
    /// always copied.
    pub(super) fn leaving(least: usize) -> Self {
        Encoder {
            large: Large::Left(Vec::new(), least),
            ..Encoder::with_buffer(Vec::new())
        }
    }

    /// Returns the bytes that were copied, without the slices that were gathered or left where they
    /// are.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the pieces to gather. An encoder that does not gather returns all bytes as copied.
    ///
    /// # Errors
    /// Returns only the buffer if this encoder was looking for a large slice and has found one. The
    /// contents of the buffer are then incomplete.
    pub(super) fn into_gather(self) -> Result<Pieces<'a>, Vec<u8>> {
        match self.large {
            Large::Sought { found: true, .. } => Err(self.bytes),
            Large::Sought { slices, .. } | Large::Gathered(slices) => {
                Ok(Pieces::new(self.bytes, slices))
            }
            _ => Ok(Pieces::new(self.bytes, Slices::default())),
        }
    }

    /// Returns the bytes that were copied, and the slices that were left where they are, in order.
    /// Only an encoder of [`Encoder::leaving`] has such slices.
    pub(super) fn into_slices(self) -> (Vec<u8>, Vec<Slice<'a>>) {
        match self.large {
            Large::Left(slices, _) => (self.bytes, slices),
            _ => (self.bytes, Vec::new()),
        }
    }

    /// Writes bytes that belong to the value. If they are many, they may be left where they are,
    /// and not copied.
    #[inline]
    pub fn bytes(&mut self, bytes: &'a [u8]) {
        self.elements(bytes, 1);
    }

    /// Writes the bytes of elements with this alignment in bytes, like [`Encoder::bytes`].
    #[inline]
    pub(super) fn elements(&mut self, bytes: &'a [u8], align: usize) {
        if bytes.len() < WORTH {
            self.copy(bytes);
        } else {
            self.large(bytes, align);
        }
    }

    #[inline(never)]
    fn large(&mut self, bytes: &'a [u8], align: usize) {
        let (before, is_large) = (self.bytes.len(), bytes.len() >= LARGE);
        match &mut self.large {
            Large::Sought { found, .. } if is_large => *found = true,
            Large::Sought { slices, .. } | Large::Gathered(slices) if !is_large => {
                if !slices.push(before, bytes) {
                    self.copy(bytes);
                }
            }
            Large::Left(slices, least) if bytes.len() >= *least => slices.push(Slice {
                copied: before,
                bytes,
                align,
            }),
            _ => self.copy(bytes),
        }
    }

    /// Writes a copy of bytes, which need not be valid after the call. For bytes that belong to the
    /// value, [`Encoder::bytes`] may avoid the copy.
    #[inline]
    pub fn copy(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes a number of elements, with seven bits in each byte, the lowest first (LEB128, the
    /// "varint" of Go and protobuf). Most lengths are below 128, so they take one byte.
    pub fn length(&mut self, length: usize) {
        let mut rest = length;
        while rest >= 0x80 {
            self.copy(&[rest as u8 | 0x80]);
            rest >>= 7;
        }
        self.copy(&[rest as u8]);
    }

    /// Returns the number of bytes that [`Encoder::length`] writes for `length`, at least 1.
    pub fn size_of_length(length: usize) -> usize {
        (usize::BITS - (length | 1).leading_zeros()).div_ceil(7) as usize
    }
}
